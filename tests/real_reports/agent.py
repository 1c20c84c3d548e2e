"""A client that does exactly what a list of steps says: `agent.py STEPS.json COMMAND ARGS-AS-JSON`.

Steps, one JSON object each:
  {"call": TOOL, "args": {…}, "id": N, "wait": SECONDS, "cancel": true}
      waits for the answer; with "wait": 0 it does not wait; with "cancel" it gives up after it
  {"pause": SECONDS}
  {"cut": true}       the connection breaks, and a new one is opened
  {"settle": N}       waits for the answer to the call with that id
  {"came": N}         waits until N calls have come to the scripted server
  {"wrote": N}        waits until it has written N times
  {"say": TEXT}       its last words
  {"fail": TEXT}      ends with an error
"""
import json
import os
import subprocess
import sys
import threading
import time

# Longer than anything takes that happens at all.
PATIENCE = 100


class Connection:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers, self.news = {}, threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        self.send(id="hello", method="initialize", params={
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "client", "version": "1"}})
        self.wait("hello", PATIENCE)
        self.send(method="notifications/initialized")
        self.send(id="tools", method="tools/list", params={})
        self.wait("tools", PATIENCE)

    def listen(self):
        for line in self.process.stdout:
            message = json.loads(line)
            with self.news:
                self.answers[message.get("id")] = message
                self.news.notify_all()

    def send(self, **message):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def wait(self, number, seconds):
        with self.news:
            return self.news.wait_for(lambda: number in self.answers, seconds)

    def cut(self):
        self.process.kill()
        self.process.wait()


def until_lines(path, count):
    end = time.monotonic() + PATIENCE
    while not os.path.exists(path) or len(open(path, encoding="utf-8").readlines()) < count:
        if time.monotonic() > end:
            sys.exit(f"{path} never had {count} lines")
        time.sleep(0.01)


def main():
    steps = json.load(open(sys.argv[1], encoding="utf-8"))
    command = [sys.argv[2], *json.loads(sys.argv[3])]
    connection, number = Connection(command), 0
    for step in steps:
        if "call" in step:
            number = step.get("id", number + 1)
            connection.send(id=number, method="tools/call",
                            params={"name": step["call"], "arguments": step.get("args", {})})
            wait = step.get("wait", PATIENCE)
            answered = connection.wait(number, wait) if wait else True
            if not answered and step.get("cancel"):
                connection.send(method="notifications/cancelled", params={"requestId": number})
        elif "pause" in step:
            time.sleep(step["pause"])
        elif "settle" in step:
            connection.wait(step["settle"], PATIENCE)
        elif "came" in step:
            until_lines("../ledger.jsonl.calls", step["came"])
        elif "wrote" in step:
            until_lines("../ledger.jsonl", step["wrote"])
        elif "cut" in step:
            connection.cut()
            connection = Connection(command)
        elif "say" in step:
            print(step["say"])
        elif "fail" in step:
            print(step["fail"], file=sys.stderr)
            sys.exit(1)
    connection.process.stdin.close()
    connection.process.wait()


main()
