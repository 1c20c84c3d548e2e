"""A client that does exactly what a list of steps says: `agent.py STEPS.json COMMAND ARGS-AS-JSON`.

Steps, one JSON object each:
  {"call": TOOL, "args": {…}, "id": N, "wait": SECONDS, "cancel": true}
      waits for the answer (30 s); with "wait": 0 it does not wait; with "cancel" it gives up after it
  {"pause": SECONDS}
  {"cut": true}       the connection breaks, and a new one is opened
  {"settle": N}       waits for the answer to the call with that id
  {"say": TEXT}       its last words
  {"fail": TEXT}      ends with an error
"""
import json
import subprocess
import sys
import threading
import time


class Connection:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.answers, self.news = {}, threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        self.send(id="hello", method="initialize", params={
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "client", "version": "1"}})
        self.wait("hello", 30)
        self.send(method="notifications/initialized")
        self.send(id="tools", method="tools/list", params={})
        self.wait("tools", 30)

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


def main():
    steps = json.load(open(sys.argv[1], encoding="utf-8"))
    command = [sys.argv[2], *json.loads(sys.argv[3])]
    connection, number = Connection(command), 0
    for step in steps:
        if "call" in step:
            number = step.get("id", number + 1)
            connection.send(id=number, method="tools/call",
                            params={"name": step["call"], "arguments": step.get("args", {})})
            wait = step.get("wait", 30)
            answered = connection.wait(number, wait) if wait else True
            if not answered and step.get("cancel"):
                connection.send(method="notifications/cancelled", params={"requestId": number})
        elif "pause" in step:
            time.sleep(step["pause"])
        elif "settle" in step:
            connection.wait(step["settle"], 30)
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
