"""A desk between an agent and a small model: python3 constrain.py PORT BACKEND_URL

Small models hardly ever write a tool call in the form that their template wants. This asks the
backend (llama.cpp's server, or any other that honours `response_format`) for JSON that is either
{"say": ...} or {"call": a tool, "with": its arguments}, and hands that on as a Chat Completions answer.
Standard library only, loopback only.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from urllib.error import HTTPError
from urllib.request import Request, urlopen

NUMBERS = count(1)


def grammar(tools):
    """The JSON Schema of an answer."""
    def closed(properties):
        return {"type": "object", "properties": properties, "required": list(properties),
                "additionalProperties": False}
    answers = [closed({"say": {"type": "string", "maxLength": 300}})]
    for tool in tools:
        schema = dict(tool.get("parameters") or {"type": "object"}, additionalProperties=False)
        answers.append(closed({"call": {"const": tool["name"]}, "with": schema}))
    return {"anyOf": answers}


def instruction(tools):
    """What the model is told about the tools."""
    lines = ["You answer with one JSON object and nothing else.",
             "To do what the user asks for, use the tool that does it, with the values that the user gave:"]
    for tool in tools:
        fields = (tool.get("parameters") or {}).get("properties") or {}
        sketch = {name: "<%s>" % (field.get("description") or field.get("type", "value")) for name, field in fields.items()}
        lines.append("%s   (%s)" % (json.dumps({"call": tool["name"], "with": sketch}), tool.get("description", "")))
    lines.append('To tell the user how it went: {"say": "<text>"}')
    return "\n".join(lines)


def told(messages, tools):
    """The conversation as plain turns, in the form in which the model itself answers."""
    system = [m["content"] for m in messages if m["role"] == "system"] + [instruction(tools)]
    turns = [{"role": "system", "content": "\n\n".join(system)}]
    for message in messages:
        if message["role"] == "user":
            turns.append({"role": "user", "content": message["content"]})
        elif message["role"] == "tool":
            turns.append({"role": "user", "content": "The tool answered: %s\nTell the user how it went." % message["content"]})
        elif message["role"] == "assistant":
            for call in message.get("tool_calls") or []:
                function = call["function"]
                step = {"call": function["name"], "with": json.loads(function["arguments"])}
                turns.append({"role": "assistant", "content": json.dumps(step)})
            if message.get("content"):
                turns.append({"role": "assistant", "content": json.dumps({"say": message["content"]})})
    return turns


def answer(asked, backend):
    tools = [tool["function"] for tool in asked.get("tools") or []]
    body = {"messages": told(asked["messages"], tools), "max_tokens": asked.get("max_tokens", 250),
            "temperature": asked.get("temperature", 0.7), "seed": asked.get("seed", 0) + len(asked["messages"]), "cache_prompt": False,
            "response_format": {"type": "json_schema", "json_schema": {"name": "step", "schema": grammar(tools)}}}
    request = Request(backend + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=900) as response:
        got = json.load(response)
    written = got["choices"][0]["message"]["content"]
    message, finish = {"role": "assistant", "content": written}, got["choices"][0]["finish_reason"]
    try:
        step = json.loads(written)
        message["content"] = step.get("say")
        if "call" in step:
            function = {"name": step["call"], "arguments": json.dumps(step["with"])}
            message["tool_calls"] = [{"id": "call_%d" % next(NUMBERS), "type": "function", "function": function}]
            finish = "tool_calls"
    except ValueError:
        pass  # Longer than it may be: what there is goes out, and `finish` says so.
    return {"object": "chat.completion", "model": asked.get("model"), "usage": got.get("usage"),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


class Desk(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        try:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = 200, json.dumps(answer(asked, sys.argv[2])).encode()
        except HTTPError as error:
            status, body = error.code, error.read()
        except (KeyError, TypeError, ValueError, OSError) as error:
            status, body = 502, json.dumps({"error": {"message": repr(error)}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Desk)
    print("http://127.0.0.1:%d/v1" % server.server_port, flush=True)
    server.serve_forever()
