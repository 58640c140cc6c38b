#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""import_check.py LAKE QUESTION THERE HERE: are the answers about recorded runs and about imported ones equal?

An export lacks what docs/reference/export.md names. In fill_lake's lake there is none of it but losses by stream; of a
recorded run, only the parts that rest on rows of an export are compared.
"""
import json
import sys

lake, question, there, here = sys.argv[1:]
texts = [open(f, encoding="utf-8").read() for f in (there, here)]
if "--tasks" in question:
    if lake == "real":
        sys.exit(0)
    # the note about losses names streams
    answers = [[line for line in t.splitlines() if "lost" not in line] for t in texts]
else:
    answers = [json.loads(t) for t in texts]
    for a in answers if isinstance(answers[0], dict) else []:
        if "loss" in a:
            del a["loss"]["streams"]
        if lake == "real" and question.startswith("tune"):
            del a["findings"], a["observed_path"]
if answers[0] == answers[1]:
    print(f"ok - {lake}: {question}")
    sys.exit(0)
old, new = (json.dumps(a, indent=1, ensure_ascii=False).splitlines() for a in answers)
for a, b in zip(old, new):
    if a != b:
        print(f"there {a}\nhere  {b}")
        break
sys.exit(1)
