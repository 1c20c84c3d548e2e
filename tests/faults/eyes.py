#!/usr/bin/env python3
"""An agent that writes down everything it can see: `eyes.py MCP.json SEEN.txt PATIENCE`.

It books a room twice, looks, and writes every byte that came to it into SEEN.txt: its own command line and
environment, the file that says where its server is, status lines, headers and bodies over HTTP, and both
streams of the server's command over stdio. It shows forms, and submits them.
"""
import http.client
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse

CONFIG = json.load(open(sys.argv[1]))
# How long it waits for an answer, in seconds.
PATIENCE = float(sys.argv[3])
lock = threading.Lock()
BOOKING = {"guest": "Ada Lovelace", "room": 12, "date": "2026-12-03"}
CALLS = [("create_booking", BOOKING), ("create_booking", BOOKING), ("find_bookings", {"guest": "Ada Lovelace"})]


def seen(what):
    with lock, open(sys.argv[2], "a") as file:
        file.write(what.rstrip("\n") + "\n")


def form(request):
    return {"jsonrpc": "2.0", "id": request["id"], "result": {"action": "accept", "content": {}}}


class Stdio:
    def __init__(self):
        self.server = subprocess.Popen([CONFIG["command"], *CONFIG["args"]], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.answers, self.news = {}, threading.Condition()
        self.ended = False
        threading.Thread(target=self.listen, daemon=True).start()
        threading.Thread(target=lambda: [seen(line) for line in self.server.stderr], daemon=True).start()

    def listen(self):
        for line in self.server.stdout:
            seen(line)
            message = json.loads(line)
            if message.get("method") == "elicitation/create":
                self.write(form(message))
            with self.news:
                self.answers[message.get("id")] = message
                self.news.notify()
        with self.news:
            self.ended = True
            self.news.notify()

    def write(self, message):
        try:
            self.server.stdin.write(json.dumps(message) + "\n")
            self.server.stdin.flush()
        except OSError as error:
            seen(str(error))

    def send(self, message):
        self.write(message)
        if "id" in message:
            with self.news:
                self.news.wait_for(lambda: self.ended or message["id"] in self.answers, PATIENCE)
            return message["id"] in self.answers

    def close(self):
        try:
            self.server.stdin.close()
        except OSError as error:
            seen(str(error))
        self.server.wait(180)


class Http:
    def __init__(self):
        self.url, self.session = urllib.parse.urlsplit(CONFIG["url"]), None

    def send(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
                   "Mcp-Protocol-Version": "2025-11-25"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        connection = http.client.HTTPConnection(self.url.netloc, timeout=PATIENCE)
        answered = False
        try:
            connection.request("POST", self.url.path, json.dumps(message), headers)
            response = connection.getresponse()
            seen(f"{response.status} {response.reason}")
            seen("\n".join(f"{name}: {value}" for name, value in response.getheaders()))
            self.session = response.getheader("Mcp-Session-Id") or self.session
            while line := response.readline().decode():
                seen(line)
                text = line.removeprefix("data:").strip()
                if not text.startswith("{"):
                    continue
                part = json.loads(text)
                answered |= part.get("id") == message.get("id")
                if part.get("method") == "elicitation/create":
                    self.send(form(part))
                if answered:
                    break
        except (OSError, http.client.HTTPException) as error:
            seen(f"{type(error).__name__}: {error}")
        connection.close()
        return answered

    def close(self):
        pass


def work():
    server = Http() if "url" in CONFIG else Stdio()
    server.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}},
        "clientInfo": {"name": "desk", "version": "1.0.0"}}})
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    server.send({"jsonrpc": "2.0", "id": "tools", "method": "tools/list"})
    # What nobody offers, and what cannot be understood.
    server.send({"jsonrpc": "2.0", "id": "odd", "method": "resources/list"})
    server.send({"jsonrpc": "2.0", "id": "bad", "method": "tools/call", "params": 7})
    for number, (tool, arguments) in enumerate(CALLS):
        answered = server.send({"jsonrpc": "2.0", "id": number, "method": "tools/call",
                                "params": {"name": tool, "arguments": arguments}})
        if not answered:
            server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})
            time.sleep(0.3)
    server.close()


seen("\n".join(sys.argv))
seen("\n".join(f"{name}={value}" for name, value in os.environ.items()))
seen(open(sys.argv[1]).read())
for line in sys.stdin:
    if json.loads(line)["type"] == "user":
        seen(line)
        work()
        print(json.dumps({"type": "reply", "text": "Done."}), flush=True)
