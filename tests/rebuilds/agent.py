#!/usr/bin/env python3
"""An agent without a model: `agent.py MCP.json BEHAVIOUR`. It publishes one preview.

  refetches   where it is refused it fetches the list of tools again, and fills in what that asks for;
              where nobody knows what became of its write it looks, and does not repeat it
  ignores     it never fetches the list again
  repeats     it fetches the list again, and repeats whatever failed
  patient     it fetches the list again, and repeats what is refused until it passes or four minutes are over
"""
import json
import subprocess
import sys
import time
import urllib.request


class Stdio:
    def __init__(self, config):
        self.server = subprocess.Popen([config["command"], *config["args"]], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)

    def send(self, message):
        self.server.stdin.write(json.dumps(message) + "\n")
        self.server.stdin.flush()
        while "id" in message:
            answer = json.loads(self.server.stdout.readline())
            if answer.get("id") == message["id"] and "method" not in answer:
                return answer


class Http:
    def __init__(self, config):
        self.url, self.session = config["url"], None

    def send(self, message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        if self.session:
            headers["Mcp-Session-Id"] = self.session
        request = urllib.request.Request(self.url, json.dumps(message).encode(), headers)
        with urllib.request.urlopen(request) as response:
            self.session = response.headers.get("Mcp-Session-Id") or self.session
            lines = response.read().decode().splitlines()
        for line in lines:
            line = line.removeprefix("data: ")
            if line.startswith("{") and json.loads(line).get("id") == message.get("id"):
                return json.loads(line)


class Agent:
    def __init__(self, wire):
        self.wire, self.last = wire, 0

    def ask(self, method, params):
        self.last += 1
        return self.wire.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})

    def introduce(self):
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                "clientInfo": {"name": "agent", "version": "1"}})
        self.wire.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def arguments(self):
        """What the list of tools asks for."""
        tools = self.ask("tools/list", {})["result"]["tools"]
        return {field: "main" for field in tools[0]["inputSchema"]["required"]}

    def call(self, name, arguments):
        result = self.ask("tools/call", {"name": name, "arguments": arguments})["result"]
        return result["content"][0]["text"], bool(result.get("isError"))


with open(sys.argv[1], encoding="utf-8") as file:
    config = json.load(file)
behaviour = sys.argv[2]
agent = Agent(Http(config) if config.get("url") else Stdio(config))
agent.introduce()
arguments = agent.arguments()
text, failed = agent.call("publish_preview", arguments)
started = time.monotonic()
for _ in range(10_000 if behaviour == "patient" else 2):
    if not failed or time.monotonic() - started > 240:
        break
    if behaviour == "patient":
        time.sleep(0.05)
    if behaviour != "ignores":
        arguments = agent.arguments()
    if behaviour == "refetches" and "outcome_unknown" in text:
        agent.call("get_preview", {})
        break
    text, failed = agent.call("publish_preview", arguments)
print(text)
