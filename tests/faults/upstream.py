#!/usr/bin/env python3
"""A small shop as an MCP server on stdio: `upstream.py LEDGER.jsonl [WORK_MS]`.

The ledger gets a line when the work on an order begins, and one when it is done; both carry the
correlation id that came with the call. Between the two lie WORK_MS, and a log message that says
that the work has begun.
"""
import json
import os
import sys
import threading
import time

TOOLS = [
    {"name": "create_order", "description": "Order something. Returns the order with its id.",
     "inputSchema": {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}},
    {"name": "find_orders", "description": "List all orders.",
     "inputSchema": {"type": "object", "properties": {}}, "annotations": {"readOnlyHint": True}},
    {"name": "cancel_order", "description": "Cancel an order.",
     "inputSchema": {"type": "object", "properties": {"order_id": {"type": "string"}}}},
]
LEDGER = sys.argv[1]
WORK = int(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0
lock = threading.Lock()


def say(**message):
    with lock:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def entry(**line):
    with lock, open(LEDGER, "a") as ledger:
        ledger.write(json.dumps(line) + "\n")


def done():
    if not os.path.exists(LEDGER):
        return []
    with lock, open(LEDGER) as ledger:
        return [line for line in map(json.loads, ledger) if line["state"] == "done"]


def call(request):
    params = request["params"]
    tool, arguments = params["name"], params.get("arguments") or {}
    correlation = (params.get("_meta") or {}).get("correlation-id")
    if tool == "find_orders":
        orders = [{"order_id": line["order_id"], "item": line["item"]} for line in done()]
        answer = {"orders": orders}
    else:
        order = arguments.get("order_id") or f"ORD-{len(done()) + 1}"
        line = {"tool": tool, "order_id": order, "item": arguments.get("item"), "correlation": correlation}
        entry(state="begun", **line)
        if WORK:
            say(method="notifications/message", params={"level": "info", "data": "the work has begun"})
            time.sleep(WORK)
        entry(state="done", **line)
        answer = {"order_id": order, "item": arguments.get("item"), "state": "confirmed"}
    say(id=request["id"], result={"content": [{"type": "text", "text": json.dumps(answer)}]})


for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        say(id=request["id"], result={
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "shop", "version": "1.0.0"},
        })
    elif method == "tools/list":
        say(id=request["id"], result={"tools": TOOLS})
    elif method == "tools/call":
        threading.Thread(target=call, args=(request,)).start()
    elif "id" in request and method:
        say(id=request["id"], error={"code": -32601, "message": "Method not found"})
