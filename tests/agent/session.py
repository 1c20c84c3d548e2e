"""An agent with one process for the whole conversation: session.py BEHAVIOUR"""
import json, sys, time

behaviour = sys.argv[1]


def out(**message):
    print(json.dumps(message), flush=True)


print("starting up, please wait", flush=True)
for number, line in enumerate(sys.stdin):
    text = json.loads(line)["text"]
    if behaviour == "dies" and number == 1:
        print("out of luck", file=sys.stderr)
        sys.exit(7)
    if behaviour == "silent" and number == 1:
        open("silent", "w").close()
        time.sleep(1000)
    if behaviour == "error":
        out(type="error", message="quota exceeded")
        continue
    if behaviour == "garbage":
        sys.stdout.write("x" * 3_000_000 + "\n{ not json\n[1, 2\n")
    if behaviour == "twice":
        # Both replies are written at once, so that the second is there before anything else is said.
        sys.stdout.write(json.dumps({"type": "reply", "text": f"{text}?"}) + "\n")
    else:
        out(type="thinking", text="hm")
    out(type="reply", text=f"{text}!", usage={"input_tokens": 5, "output_tokens": 2})
