#!/usr/bin/env python3
"""One turn of an agent on mcp-use and LangChain. Copy it and put your own agent into `build`.

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

# It is read when mcp_use is imported.
os.environ["MCP_USE_ANONYMIZED_TELEMETRY"] = "false"

from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import messages_from_dict, messages_to_dict
from langchain_openai import ChatOpenAI
from mcp_use import MCPAgent, MCPClient
from openai import OpenAIError


def build(options, client, usage):
    """The agent. This is the part to replace."""
    model = ChatOpenAI(
        model=options.model,
        base_url=os.environ.get("OPENAI_BASE_URL"),
        api_key=os.environ.get("OPENAI_API_KEY") or "none",
        stream_usage=True,
    )
    return MCPAgent(
        llm=model,
        client=client,
        max_steps=30,
        additional_instructions=options.system or None,
        callbacks=[usage],
        memory_enabled=True,
    )


async def turn(options):
    history = pathlib.Path(options.history)
    messages = messages_from_dict(json.loads(history.read_text(encoding="utf-8"))) if history.exists() else []
    client = MCPClient.from_config_file(options.mcp)
    usage = UsageMetadataCallbackHandler()
    agent = build(options, client, usage)
    for message in messages:
        agent.add_to_history(message)
    try:
        reply = await agent.run(options.say)
        messages = agent.get_conversation_history()
    finally:
        await client.close_all_sessions()
    history.write_text(json.dumps(messages_to_dict(messages), ensure_ascii=False), encoding="utf-8")
    total = lambda kind: sum(of_model.get(kind, 0) for of_model in usage.usage_metadata.values())
    return {
        "reply": str(reply),
        "usage": {"input_tokens": total("input_tokens"), "output_tokens": total("output_tokens")},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--mcp", required=True, metavar="FILE", help="which MCP servers to use")
    parser.add_argument("--model", required=True)
    parser.add_argument("--system", default="", help="the system prompt")
    parser.add_argument("--history", required=True, metavar="FILE", help="where the conversation is kept")
    parser.add_argument("say", metavar="TEXT", help="what the user says")
    try:
        print(json.dumps(asyncio.run(turn(parser.parse_args())), ensure_ascii=False))
    except OpenAIError as error:
        sys.exit(f"model endpoint: {error}")
    except Exception as error:  # a traceback would bury the reason
        sys.exit(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
