#!/usr/bin/env python3
"""The official Python SDK as a client: `client.py SPEC`.

SPEC is JSON: {"url": …} or {"command": […]}, "calls": [{"tool", "arguments", "timeout"}, …]. Writes
what it saw of each call as a line of JSON, and at the end what came that nobody had asked for.
"""
import json
import sys

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

SPEC = json.loads(sys.argv[1])


def transport():
    if "url" in SPEC:
        return streamable_http_client(SPEC["url"])
    command, *args = SPEC["command"]
    return stdio_client(StdioServerParameters(command=command, args=args), errlog=open("/dev/null", "w"))


def saw(**what):
    print(json.dumps(what), flush=True)


async def one(client, call):
    try:
        result = await client.call_tool(
            call["tool"], call.get("arguments") or {}, read_timeout_seconds=call.get("timeout", 20))
    except Exception as error:
        saw(error=f"{type(error).__name__}: {error}")
        return
    text = "\n".join(block.text for block in result.content if block.type == "text")
    saw(text=text, is_error=bool(result.is_error), structured=result.structured_content)


async def main():
    try:
        async with Client(transport(), mode="legacy") as client:
            await client.list_tools()
            for call in SPEC["calls"]:
                await one(client, call)
            if SPEC.get("linger"):
                await anyio.sleep(SPEC["linger"])
    except BaseException as error:
        saw(closing=f"{type(error).__name__}: {error}")


anyio.run(main)
