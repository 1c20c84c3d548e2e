"""Opens a report in a headless Chromium, uses it as a reader does, and fails on any console message.

    python3 tests/html/browser.py CHROMIUM PAGE [SCREENSHOTS]

Speaks the DevTools protocol over two pipes, so that nothing has to be installed beside Chromium. With a
third argument it leaves screenshots in that folder: light, dark, narrow, printed, and an opened run.
"""

import base64
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time


class Browser:
    def __init__(self, program, profile):
        to_read, self.write_end = os.pipe()
        self.read_end, to_write = os.pipe()

        def pipes():
            # Chromium reads commands from 3 and writes events to 4.
            high_read, high_write = os.dup(to_read), os.dup(to_write)
            os.dup2(high_read, 3)
            os.dup2(high_write, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--hide-scrollbars", "--no-first-run", "--disable-dev-shm-usage", f"--user-data-dir={profile}"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.read_end, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, url):
        self.events.clear()
        self.call("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def js(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def key(self, name, code, text=None):
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code, **more)

    def complaints(self):
        found = []
        for event in self.events:
            method, parameters = event.get("method", ""), event.get("params", {})
            if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(json.dumps(parameters)[:400])
            elif method == "Audits.issueAdded":
                found.append(json.dumps(parameters["issue"])[:400])
            elif method == "Network.requestWillBeSent":
                url = parameters["request"]["url"]
                if not url.startswith(("file:", "data:", "about:")):
                    found.append(f"asks the network for {url}")
        return found

    def size(self, wide, high):
        self.call("Emulation.setDeviceMetricsOverride", width=wide, height=high, deviceScaleFactor=1, mobile=False)

    def look(self, path, whole=True):
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(image["data"]))


def check(failures, truth, what):
    if not truth:
        failures.append(what)


def use(browser, failures):
    """What a reader does. Every page has some of it; what is not there is passed over."""
    js = browser.js
    check(failures, js("document.compatMode") == "CSS1Compat", "the page is in quirks mode")
    check(failures, js("document.querySelectorAll('main h2').length") > 0, "there is no heading")
    check(failures, js("[...document.querySelectorAll('*')].every(e => e.getAttributeNames()"
                       ".every(n => !n.startsWith('on') && n !== 'style'))"), "an inline handler or style")
    check(failures, js("[...document.scripts].length") == 1, "another script than the page's own")
    check(failures, js("[...document.querySelectorAll('table')].every(t => t.caption)"), "a table without a caption")
    check(failures, js("[...document.querySelectorAll('svg')].every(s => s.ariaHidden === 'true' || "
                       "(s.getAttribute('role') === 'img' && s.querySelector('title')))"), "a picture without words")
    check(failures, js("new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size === "
                       "document.querySelectorAll('[id]').length"), "an id twice")
    check(failures, js("[...document.querySelectorAll('a[href^=\"#\"]')].every(a => "
                       "document.getElementById(a.getAttribute('href').slice(1)))"), "a link to nowhere")
    check(failures, js("document.documentElement.scrollWidth <= innerWidth"), "the page is wider than its window")

    if js("!!document.querySelector('#cells .sort')"):
        rows = "[...document.querySelectorAll('#cells tr.row')].map(r => r.textContent)"
        before = js(rows)
        js("[...document.querySelectorAll('#cells th.n .sort')][0].focus()")
        browser.key("Enter", 13, "\r")
        check(failures, js("document.activeElement.closest('th').ariaSort") == "descending", "Enter does not sort")
        key = "[...document.querySelectorAll('#cells tr.row')].map(r => Number(r.querySelector('td.n').dataset.s))"
        numbers = js(key)
        check(failures, numbers == sorted(numbers, reverse=True), "rows are not sorted downwards")
        browser.key(" ", 32, " ")
        check(failures, js("document.activeElement.closest('th').ariaSort") == "ascending", "Space does not sort")
        numbers = js(key)
        check(failures, numbers == sorted(numbers), "rows are not sorted upwards")
        browser.key("Enter", 13, "\r")
        check(failures, js("document.activeElement.closest('th').ariaSort") is None, "a third time does not unsort")
        check(failures, js(rows) == before, "the order of the suite does not come back")

    if js("!!document.querySelector('#filter select.axis')"):
        shown = "[...document.querySelectorAll('#cells tr.row')].filter(r => r.offsetParent).length"
        every = js(shown)
        wanted = js("(() => { const s = document.querySelector('#filter select.axis'); s.value = '0';"
                    "s.dispatchEvent(new Event('change', {bubbles: true}));"
                    "return [...document.querySelectorAll('#cells tr.row')].filter(r => r.dataset.v.split(',')[0] === '0')"
                    ".length })()")
        check(failures, js(shown) == wanted and 0 < wanted < every, "the filter does not filter")
        check(failures, js("document.querySelector('#shown').textContent") == f"{wanted} of {every} cells",
              "the filter does not say what is shown")
        js("document.querySelector('#filter').reset()")
        js("new Promise(done => setTimeout(done, 20))")
        check(failures, js(shown) == every, "the filter is not reset")

    if js("!!document.querySelector('#heat')"):
        body = "document.querySelector('#heat tbody').innerText"
        numbers = "[...document.querySelectorAll('#heat td')].map(c => Number(c.textContent.split(' ')[0]) || 0)"
        first, total = js(body), js(f"{numbers}.reduce((a, b) => a + b, 0)")
        js("document.querySelector('#down').dispatchEvent(new Event('change'))")
        check(failures, js(body) == first, "the script's matrix differs from the page's")
        js("(() => { const d = document.querySelector('#down'), a = document.querySelector('#across');"
           "d.value = a.value; d.dispatchEvent(new Event('change')) })()")
        check(failures, js("document.querySelector('#down').value !== document.querySelector('#across').value"),
              "both axes of the matrix are the same")
        check(failures, js(f"{numbers}.reduce((a, b) => a + b, 0)") == total, "another matrix has other totals")

    if js("!!document.querySelector('details.run')"):
        js("document.querySelector('#cells td.n a').click()")
        js("new Promise(done => setTimeout(done, 50))")
        check(failures, js("document.querySelector('details.cell').open"), "a number does not open its cell")
        check(failures, js("document.activeElement.tagName") == "SUMMARY", "the opened cell is not focused")
        run = js("(() => { const r = document.querySelector('details.cell[open] details.run');"
                 "if (!r) return null; r.querySelector('summary').focus(); return r.id })()")
        if run:
            browser.key("Enter", 13, "\r")
            check(failures, js(f"document.getElementById('{run}').open"), "Enter does not open a run")

    js("document.querySelector('#theme').click()")
    light = js("getComputedStyle(document.body).backgroundColor")
    js("document.querySelector('#theme').click()")
    dark = js("getComputedStyle(document.body).backgroundColor")
    check(failures, light != dark, "the theme does not change")
    js("document.querySelector('#theme').click()")


def screenshots(browser, url, folder):
    folder.mkdir(parents=True, exist_ok=True)
    for name, wide, high, scheme in [("light", 1280, 900, "light"), ("dark", 1280, 900, "dark"), ("narrow", 420, 900, "dark")]:
        browser.size(wide, high)
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.open(url)
        browser.look(folder / f"{name}-first.png", whole=False)
        browser.look(folder / f"{name}.png")
    browser.size(1280, 900)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    browser.open(url)
    run = browser.js("(document.querySelector('details.run[data-verdict=FAIL]') || "
                     "document.querySelector('details.run') || {}).id")
    if run:
        browser.js(f"location.hash = '{run}'")
        time.sleep(0.3)
        browser.look(folder / "run.png", whole=False)
        browser.call("Emulation.setEmulatedMedia", media="", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        browser.look(folder / "run-dark.png", whole=False)
    pdf = browser.call("Page.printToPDF", printBackground=False)
    (folder / "print.pdf").write_bytes(base64.b64decode(pdf["data"]))


def main():
    program, page = sys.argv[1], pathlib.Path(sys.argv[2]).resolve().as_uri()
    failures = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(program, profile)
        try:
            for wide in (1280, 420):
                browser.size(wide, 900)
                browser.open(page)
                use(browser, failures)
                failures.extend(browser.complaints())
            if len(sys.argv) > 3:
                screenshots(browser, page, pathlib.Path(sys.argv[3]))
        finally:
            browser.process.terminate()
            browser.process.wait()
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
