#!/usr/bin/env python3
"""A scripted MCP server on stdio: `upstream.py SETTINGS.json LEDGER.jsonl`.

SETTINGS: {"tools": [tool, …], "behave": {tool name: [word, …]}, "page": tools per page}.
Every call of a tool takes the next word; the last one stays. Words:

  ok, ok:TEXT        written, answered
  error              refused with isError, nothing written
  rpc:CODE           a JSON-RPC error, nothing written
  crash, hang        the process ends / nothing is ever answered, nothing written
  write+WORD         written first, then as WORD says
  slow:MS            written and answered after so many milliseconds
  meet:N             written and answered once N calls have come, of whatever tool: each answer in its turn
  gate               written and answered once there is a file `open` beside the ledger
  late               written and answered once the client has cancelled it
  ask                input is required; written once the client brings it
  grow:NAME          like ok, and a tool of that name is listed from now on
  result:JSON        written, answered with exactly this result

The ledger gets one line for every real write, before the answer leaves; LEDGER.jsonl.calls one for every
call, as it comes.
"""
import json
import os
import sys
import threading
import time


class Server:
    def __init__(self, settings, ledger):
        self.tools = list(settings["tools"])
        self.behave = settings.get("behave", {})
        self.page = settings.get("page")
        self.ledger = ledger
        self.counts = {}
        self.calls = 0
        self.meeting = []
        self.cancelled = {}
        self.out = threading.Lock()

    def say(self, **message):
        line = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False)
        with self.out:
            print(line, flush=True)

    def reply(self, request, result):
        self.say(id=request["id"], result=result)

    def fail(self, request, code, reason):
        self.say(id=request["id"], error={"code": code, "message": reason})

    def commit(self, tool, arguments):
        line = json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)
        with self.out:
            self.ledger.write(line + "\n")
            self.ledger.flush()

    def on_initialize(self, request, params):
        self.reply(request, {
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "scripted", "version": "1"},
        })

    def on_ping(self, request, params):
        self.reply(request, {})

    def on_tools_list(self, request, params):
        first = int(params.get("cursor", "0"))
        last = first + (self.page or max(len(self.tools), 1))
        result = {"tools": self.tools[first:last]}
        if last < len(self.tools):
            result["nextCursor"] = str(last)
        self.reply(request, result)

    def on_tools_call(self, request, params):
        name = params["name"]
        if all(tool["name"] != name for tool in self.tools):
            self.fail(request, -32602, "there is no tool " + name)
            return
        count = self.counts[name] = self.counts.get(name, 0) + 1
        words = self.behave.get(name, ["ok"])
        with open(self.ledger.name + ".calls", "a", encoding="utf-8") as calls:
            calls.write(name + "\n")
        self.calls += 1
        self.act(words[min(count, len(words)) - 1], request, params, count)
        for entry in [entry for entry in self.meeting if entry[0] <= self.calls]:
            self.meeting.remove(entry)
            entry[1]()

    def on_cancelled(self, request, params):
        self.cancelled.pop(params.get("requestId"), lambda: None)()

    def act(self, word, request, params, count):
        name, arguments = params["name"], params.get("arguments", {})
        verb, _, rest = word.partition(":")
        if verb.startswith("write+"):
            self.commit(name, arguments)
            verb = verb[len("write+"):]
        text = {"content": [{"type": "text", "text": "entry %d" % count}]}
        if verb == "error":
            text["content"][0]["text"] = "refused by the server"
            self.reply(request, {**text, "isError": True})
        elif verb == "rpc":
            self.fail(request, int(rest), "the tool has thrown")
        elif verb == "crash":
            os._exit(7)
        elif verb == "hang":
            pass
        elif verb in ("slow", "gate", "meet", "late"):
            def later():
                if verb == "slow":
                    time.sleep(int(rest) / 1000)
                while verb == "gate" and not os.path.exists(os.path.join(os.path.dirname(self.ledger.name), "open")):
                    time.sleep(0.005)
                self.commit(name, arguments)
                self.reply(request, text)
            if verb == "meet":
                self.meeting.append((int(rest), later))
            elif verb == "late":
                self.cancelled[request["id"]] = later
            else:
                threading.Thread(target=later, daemon=True).start()
        elif verb == "ask":
            if params.keys() & {"inputResponses", "requestState"}:
                self.commit(name, arguments)
                self.reply(request, {**text, "resultType": "complete"})
            else:
                self.reply(request, {"resultType": "input_required", "requestState": "r-1"})
        elif verb == "result":
            self.commit(name, arguments)
            self.reply(request, json.loads(rest))
        elif verb == "grow":
            self.commit(name, arguments)
            self.tools.append({"name": rest, "inputSchema": {"type": "object"}})
            self.say(method="notifications/tools/list_changed")
            self.reply(request, text)
        else:
            self.commit(name, arguments)
            if rest:
                text["content"][0]["text"] = rest
            self.reply(request, text)

    def serve(self, lines):
        handlers = {
            "initialize": self.on_initialize,
            "ping": self.on_ping,
            "tools/list": self.on_tools_list,
            "tools/call": self.on_tools_call,
            "notifications/cancelled": self.on_cancelled,
        }
        for line in lines:
            message = json.loads(line)
            handler = handlers.get(message.get("method"))
            if handler:
                handler(message, message.get("params", {}))
            elif "id" in message and "method" in message:
                self.fail(message, -32601, "unknown method")


with open(sys.argv[1], encoding="utf-8") as file:
    SETTINGS = json.load(file)
with open(sys.argv[2], "a", encoding="utf-8") as LEDGER:
    Server(SETTINGS, LEDGER).serve(sys.stdin)
