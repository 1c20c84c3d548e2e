"""A person at a terminal: runs a command there, and waits for what it shows before typing.

usage: terminal.py FILE COMMAND...   FILE: a JSON list of [text to wait for, what to type]; prints all that was shown
"""

import json
import os
import pty
import sys

steps = json.load(open(sys.argv[1]))
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
shown = ""
read_to = 0
while True:
    while steps and steps[0][0] in shown[read_to:]:
        wanted, typed = steps.pop(0)
        read_to = shown.index(wanted, read_to) + len(wanted)
        os.write(terminal, typed.encode())
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece.decode(errors="replace")
status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps({"shown": shown, "status": status, "left": steps}))
