#!/usr/bin/env python3
"""One turn of an agent on Pydantic AI. Copy it and put your own agent into `build`.

    agent.py --mcp FILE --model NAME [--system TEXT] --history FILE -- TEXT

The MCP servers stand in a JSON file in the form that most programs share (`{"mcpServers": …}`).
It takes one turn, keeps the conversation in the history file, where a later turn finds it, and
prints one JSON object: reply and usage. OPENAI_BASE_URL and OPENAI_API_KEY say where the model
is; a server on this machine needs no key.

Exit code 1 and a line on stderr where it failed: `model endpoint: …` where the model did not
answer, anything else is the agent's own failure.
"""

import argparse
import asyncio
import json
import os
import pathlib
import sys

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelAPIError
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def mcp_servers(path, timeout):
    """The MCP servers of a configuration file, not yet started."""
    for name, server in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["mcpServers"].items():
        if "url" in server:
            transport = StreamableHttpTransport(server["url"], headers=server.get("headers"))
        else:
            transport = StdioTransport(server["command"], server.get("args", []), env=server.get("env"))
        # Tool errors come to the model as requests to try again: that is how Pydantic AI does it
        # unless told otherwise (`tool_error_behavior`), and so it is what is measured.
        yield MCPToolset(transport, id=name, read_timeout=timeout)


def build(options, servers):
    """The agent. This is the part to replace."""
    provider = OpenAIProvider(
        base_url=os.environ.get("OPENAI_BASE_URL"), api_key=os.environ.get("OPENAI_API_KEY") or "none"
    )
    model = OpenAIChatModel(options.model, provider=provider)
    return Agent(model, instructions=options.system or None, toolsets=servers)


async def turn(options):
    history = pathlib.Path(options.history)
    messages = ModelMessagesTypeAdapter.validate_json(history.read_bytes()) if history.exists() else None
    agent = build(options, list(mcp_servers(options.mcp, options.tool_timeout)))
    async with agent:
        result = await agent.run(options.say, message_history=messages)
    history.write_bytes(result.all_messages_json())
    usage = result.usage() if callable(result.usage) else result.usage
    return {
        "reply": str(result.output),
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mcp", required=True, metavar="FILE", help="which MCP servers to use")
    parser.add_argument("--model", required=True)
    parser.add_argument("--system", default="", help="the system prompt")
    parser.add_argument("--history", required=True, metavar="FILE", help="where the conversation is kept")
    parser.add_argument("--tool-timeout", type=float, default=600, metavar="SECONDS")
    parser.add_argument("say", metavar="TEXT", help="what the user says")
    try:
        print(json.dumps(asyncio.run(turn(parser.parse_args())), ensure_ascii=False))
    except ModelAPIError as error:
        sys.exit(f"model endpoint: {error}")
    except Exception as error:  # a traceback would bury the reason
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
