"""Tools before an HTTP API, on the official Python SDK: `releases.py careful|careless [PORT]`."""

import http.client
import json
import os
import socket
import sys
import urllib.error
import urllib.parse
import urllib.request
import uuid

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import CallToolResult, TextContent

API_URL = os.environ["API_URL"]
TOKEN = os.environ["API_TOKEN"]
TIMEOUT = int(os.environ.get("API_TIMEOUT_MS", "700")) / 1000
careful = sys.argv[1] == "careful"
server = MCPServer("releases")


class Trouble(Exception):
    """What a caller can act on."""

    def __init__(self, category, retry, message):
        super().__init__(message)
        self.told = {"category": category, "retry": retry, "message": message}


def request(method, path, body=None):
    headers = {"authorization": f"Bearer {TOKEN}", "content-type": "application/json", "connection": "close"}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.Request(API_URL + path, data=data, headers=headers, method=method)


def malformed(message):
    return Trouble("malformed_response", "reconcile_first", message)


def ask(method, path, body=None):
    unknown = Trouble("outcome_unknown", "reconcile_first", "Whether the request was carried out is unknown.")
    try:
        with urllib.request.urlopen(request(method, path, body), timeout=TIMEOUT) as response:
            text = response.read()
    except urllib.error.HTTPError as error:
        if error.code == 401:
            raise Trouble("authentication_failed", "never", "The credential was not accepted.") from None
        if error.code == 403:
            raise Trouble("authorization_denied", "never", "The credential does not permit this.") from None
        if error.code == 429:
            raise Trouble("rate_limited", "after", "Too many requests; wait.") from None
        try:
            json.loads(error.read())
        except ValueError:
            raise malformed("The answer cannot be read; whether the request was carried out is unknown.") from None
        raise unknown from None
    except (urllib.error.URLError, socket.timeout, OSError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, ConnectionRefusedError):
            raise Trouble("local_failure", "safe", "The service was not reached; nothing was sent.") from None
        raise unknown from None
    try:
        return json.loads(text)
    except ValueError:
        raise malformed("The answer cannot be read; whether the request was carried out is unknown.") from None


def release(value):
    fields = [value.get(name) if isinstance(value, dict) else None for name in ("id", "name", "status")]
    if not all(isinstance(field, str) and field for field in fields):
        raise malformed("The answer lacks what it promises; look the release up by its name first.")
    return dict(zip(("id", "name", "status"), fields))


def told(operation, work):
    try:
        result = {"ok": True, **work()}
    except Trouble as trouble:
        result = {"ok": False, "operation": operation, "correlation_id": str(uuid.uuid4()), **trouble.told}
    text = [TextContent(type="text", text=json.dumps(result))]
    return CallToolResult(content=text, structured_content=result, is_error=not result["ok"])


def found(name):
    answer = ask("GET", "/v1/releases?" + urllib.parse.urlencode({"name": name}))
    if not isinstance(answer, dict) or not isinstance(answer.get("items"), list):
        raise malformed("The answer is no list of releases.")
    same = [one for one in map(release, answer["items"]) if one["name"] == name]
    if len(same) > 1:
        raise malformed("More than one release has this name.")
    return {"found": True, **same[0]} if same else {"found": False}


def careless_ask(method, path, body=None):
    wanted = request(method, path, body)
    for attempt in (1, 2):
        try:
            with urllib.request.urlopen(wanted, timeout=TIMEOUT) as response:
                return json.loads(response.read())
        except urllib.error.HTTPError as error:
            raise ToolError(f"API error {error.code} for {path} with {wanted.headers}: {error.read()}") from error
        except Exception as error:
            if attempt == 2:
                raise ToolError(f"Request failed: {error}") from error


if careful:

    @server.tool()
    def create_release(name: str) -> CallToolResult:
        """Creates a release."""
        return told("create_release", lambda: release(ask("POST", "/v1/releases", {"name": name})))

    @server.tool()
    def find_release(name: str) -> CallToolResult:
        """Finds the release of a name."""
        return told("find_release", lambda: found(name))

else:

    @server.tool()
    def create_release(name: str) -> dict:
        """Creates a release."""
        answer = careless_ask("POST", "/v1/releases", {"name": name})
        return {"id": answer.get("id") or name, "name": name, "status": answer.get("status")}

    @server.tool()
    def find_release(name: str) -> dict:
        """Finds the release of a name."""
        return careless_ask("GET", "/v1/releases?" + urllib.parse.urlencode({"name": name}))["items"][0]


if len(sys.argv) > 2:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
else:
    server.run("stdio")
