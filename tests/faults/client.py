#!/usr/bin/env python3
"""The official Python SDK as a client: `client.py SPEC`.

SPEC is JSON: {"url": …} or {"command": […]}, "calls": [{"tool", "arguments", "timeout"}, …], and where its
user is shown forms, "elicits": what becomes of them. "mode" is a version of MCP. Writes what it saw of each
call as a line of JSON, and what it saw beside.
"""
import json
import sys

import anyio
import mcp.client.stdio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

SPEC = json.loads(sys.argv[1])
# A proxy that has 4 seconds to end is killed on a busy machine before its trace has an end.
mcp.client.stdio.PROCESS_TERMINATION_TIMEOUT = 180


def transport():
    if "url" in SPEC:
        return streamable_http_client(SPEC["url"])
    command, *args = SPEC["command"]
    return stdio_client(StdioServerParameters(command=command, args=args), errlog=open("/dev/null", "w"))


def saw(**what):
    print(json.dumps(what), flush=True)


async def elicited(_context, params):
    saw(elicited=params.message, schema=params.requested_schema)
    action = SPEC["elicits"]
    return ElicitResult(action=action, content={"reason": "it is urgent"} if action == "accept" else None)


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
        forms = {"elicitation_callback": elicited} if "elicits" in SPEC else {}
        async with Client(transport(), mode=SPEC.get("mode", "legacy"), **forms) as client:
            tools = await client.list_tools()
            saw(listed=[tool.model_dump(mode="json") for tool in tools.tools])
            for call in SPEC["calls"]:
                await one(client, call)
            if SPEC.get("linger"):
                await anyio.sleep(SPEC["linger"])
    except BaseException as error:
        saw(closing=f"{type(error).__name__}: {error}")


anyio.run(main)
