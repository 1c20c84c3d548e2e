"""An agent with one command a turn: say.py COUNTER_FILE SESSION SAY, answers in JSON."""
import json, os, sys

counter, session, say = sys.argv[1:4]
turns = 1
if os.path.exists(counter):
    turns += int(open(counter).read())
open(counter, "w").write(str(turns))
print("[info] a line that looks a little like JSON")
print(json.dumps({
    "result": f"{say} ({turns})",
    "session_id": session if session != "new" else "s-17",
    "usage": {"input": 100 * turns, "output": 10},
    "cost": 0.5,
}, indent=1))
