#!/usr/bin/env python3
"""A small MCP server on stdio that is rebuilt while it runs: `server.py LEDGER.jsonl`.

It has a tool that writes and one that reads. Its code is what a test made of the two lines below; a file
`slow` beside the ledger makes a write hang after it was carried out.
"""
import json
import os
import sys
import time

REVISION = "A"
REQUIRED = ["branch"]

LEDGER = sys.argv[1]
FIELDS = {name: {"type": "string"} for name in sorted({"branch", *REQUIRED})}
TOOLS = [
    {"name": "publish_preview", "description": "Publishes a preview of a branch.",
     "inputSchema": {"type": "object", "required": REQUIRED, "properties": FIELDS, "additionalProperties": False}},
    {"name": "get_preview", "description": "Tells what was published.",
     "inputSchema": {"type": "object", "properties": {}}},
]


def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def published():
    if not os.path.exists(LEDGER):
        return []
    with open(LEDGER, encoding="utf-8") as ledger:
        return [json.loads(line) for line in ledger]


def call(name, arguments):
    if name == "get_preview":
        return {"content": [{"type": "text", "text": json.dumps(published())}]}
    missing = [field for field in REQUIRED if field not in arguments]
    if missing:
        return {"content": [{"type": "text", "text": f"missing: {missing}"}], "isError": True}
    with open(LEDGER, "a", encoding="utf-8") as ledger:
        ledger.write(json.dumps({"revision": REVISION, **arguments}) + "\n")
    if os.path.exists(os.path.join(os.path.dirname(LEDGER), "slow")):
        time.sleep(60)
    return {"content": [{"type": "text", "text": f"published by revision {REVISION}"}]}


for line in sys.stdin:
    request = json.loads(line)
    params = request.get("params") or {}
    if "id" not in request:
        continue
    if request["method"] == "initialize":
        say(id=request["id"], result={
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "previews", "version": "1"},
        })
    elif request["method"] == "tools/list":
        say(id=request["id"], result={"tools": TOOLS})
    elif request["method"] == "tools/call":
        say(id=request["id"], result=call(params["name"], params.get("arguments") or {}))
    else:
        say(id=request["id"], error={"code": -32601, "message": "Method not found"})
