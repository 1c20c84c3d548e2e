#!/usr/bin/env python3
"""A small shop as an MCP server on stdio: `upstream.py LEDGER.jsonl [WORK_MS [FORM]]`.

The ledger gets a line when the work on an order begins, and one when it is done; both carry the
correlation id that came with the call. Between the two lie WORK_MS, and a log message that says
that the work has begun. An order is answered in a FORM: `json` (a text that is JSON), `prose` (a sentence,
and the same as structured content), or `digits` (as prose, by a number that is no word of its own).
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
FORM = sys.argv[3] if len(sys.argv) > 3 else "json"
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


def complete(request):
    """From MCP 2026-07-28 on every result says that it is one."""
    meta = (request.get("params") or {}).get("_meta") or {}
    return {"resultType": "complete"} if "io.modelcontextprotocol/protocolVersion" in meta else {}


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
        if FORM == "digits":
            answer["order_id"] = len(done())
    result = {"content": [{"type": "text", "text": json.dumps(answer)}]}
    if FORM != "json" and "order_id" in answer:
        text = f"Thank you! {answer['item']}: order {answer['order_id']} is confirmed (shop://orders/{answer['order_id']})."
        result = {"content": [{"type": "text", "text": text}], "structuredContent": answer}
    say(id=request["id"], result={**result, **complete(request)})


for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        say(id=request["id"], result={
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {}, "logging": {}},
            "serverInfo": {"name": "shop", "version": "1.0.0"},
        })
    elif method == "server/discover":
        say(id=request["id"], result={
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "shop", "version": "1.0.0"}, "ttlMs": 0, "cacheScope": "private",
            **complete(request)})
    elif method == "tools/list":
        say(id=request["id"], result={"tools": TOOLS, "ttlMs": 0, "cacheScope": "private", **complete(request)})
    elif method == "tools/call":
        threading.Thread(target=call, args=(request,)).start()
    elif "id" in request and method:
        say(id=request["id"], error={"code": -32601, "message": "Method not found"})
