"""Stands between an agent and its MCP server, and ends the agent at the call that it is told.

usage: killer.py WHEN NUMBER COMMAND...
WHEN: before, after (the server has carried the call out), never; hold: carried out, and not answered
"""

import json
import os
import signal
import subprocess
import sys

when, number, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def kill():
    os.kill(os.getppid(), signal.SIGKILL)
    server.stdin.close()
    server.wait()
    sys.exit()


calls = 0
for line in sys.stdin.buffer:
    message = json.loads(line)
    is_call = message.get("method") == "tools/call"
    calls += is_call
    if is_call and calls == number and when == "before":
        kill()
    server.stdin.write(line)
    server.stdin.flush()
    if "id" in message and "method" in message:
        answer = server.stdout.readline()
        if is_call and calls == number and when == "after":
            kill()
        if is_call and calls == number and when == "hold":
            continue
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
server.stdin.close()
server.wait()
