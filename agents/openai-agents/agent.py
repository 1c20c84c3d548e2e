#!/usr/bin/env python3
"""One turn of an agent on the OpenAI Agents SDK. Copy it and put your own agent into `build`.

    agent.py --mcp FILE --model NAME [--system TEXT] [--session ID] [--database FILE] -- TEXT

It reads which MCP server to use from a JSON file in the form that most programs share
(`{"mcpServers": {"name": {"command": ..., "args": [...]}}}`, or with `"url"`), takes one turn,
and prints one JSON object: reply, session, usage. A later turn with the same session and
database goes on where the earlier one stopped. OPENAI_BASE_URL and OPENAI_API_KEY say where the
model is; a server on this machine needs no key.

Exit code 1 and a line on stderr where it failed: `model endpoint: ...` where the model did not
answer, anything else is the agent's own failure.
"""

import argparse
import asyncio
import json
import os
import sys

# Before the import: the SDK would otherwise send traces to api.openai.com.
os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

import openai
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

set_tracing_disabled(True)


def mcp_servers(path, timeout):
    """The MCP servers of a configuration file, not yet started."""
    with open(path, encoding="utf-8") as file:
        servers = json.load(file)["mcpServers"]
    for name, server in servers.items():
        # The SDK gives up on a call after 5 seconds; a real upstream may take longer.
        common = {"name": name, "client_session_timeout_seconds": timeout}
        if "url" in server:
            params = {"url": server["url"], "headers": server.get("headers", {}), "timeout": timeout}
            yield MCPServerStreamableHttp(params=params, **common)
        else:
            params = {"command": server["command"], "args": server.get("args", [])}
            params["env"] = server.get("env", {})
            yield MCPServerStdio(params=params, **common)


def build(options, servers):
    """The agent. This is the part to replace."""
    client = openai.AsyncOpenAI(api_key=os.environ.get("OPENAI_API_KEY") or "none")
    kinds = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}
    model = kinds[options.api](model=options.model, openai_client=client)
    return Agent(name="assistant", instructions=options.system or None, model=model, mcp_servers=servers)


async def turn(options):
    servers = list(mcp_servers(options.mcp, options.tool_timeout))
    started = []
    try:
        for server in servers:
            await server.connect()
            started.append(server)
        session = SQLiteSession(options.session, options.database)
        result = await Runner.run(build(options, servers), options.say, session=session, max_turns=options.max_turns)
    finally:
        for server in reversed(started):
            await server.cleanup()
    usage = result.context_wrapper.usage
    return {
        "reply": str(result.final_output),
        "session": options.session,
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mcp", required=True, metavar="FILE", help="which MCP servers to use")
    parser.add_argument("--model", required=True)
    parser.add_argument("--system", default="", help="the system prompt")
    parser.add_argument("--session", default="default", help="which conversation this turn belongs to")
    parser.add_argument("--database", default="sessions.sqlite", metavar="FILE", help="where conversations are kept")
    parser.add_argument("--api", choices=["chat", "responses"], default="chat", help="which of the model server's APIs")
    parser.add_argument("--tool-timeout", type=float, default=60, metavar="SECONDS")
    parser.add_argument("--max-turns", type=int, default=20, help="requests to the model in this turn")
    parser.add_argument("say", metavar="TEXT", help="what the user says")
    try:
        print(json.dumps(asyncio.run(turn(parser.parse_args())), ensure_ascii=False))
    except openai.OpenAIError as error:
        sys.exit(f"model endpoint: {error}")
    except Exception as error:  # a traceback would bury the reason
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
