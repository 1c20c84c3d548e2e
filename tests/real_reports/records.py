"""What a scripted server really wrote, as a JSON list: `records.py LEDGER.jsonl`."""
import json
import pathlib
import sys

ledger = pathlib.Path(sys.argv[1])
lines = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
calls = [json.loads(line) for line in lines]
print(json.dumps([call["arguments"] for call in calls if not call["tool"].startswith("list_")]))
