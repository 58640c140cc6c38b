#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs.py SKEP docs/reference/rules.md [--write]: what docs/reference/rules.md says is true.

Every field of its table is one of the program's, with its type and its help; every rule file
and condition is taken; every console session prints exactly that.  --write puts in what is
printed instead (to be read by a person before it is committed).
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

skep, page = os.path.abspath(sys.argv[1]), sys.argv[2]
write = "--write" in sys.argv
here = os.path.dirname(os.path.abspath(__file__))
text = open(page).read()
failures = 0


def fail(what):
    global failures
    failures += 1
    print("docs.py:", what, file=sys.stderr)


def run(words, cwd, stdin=None):
    p = subprocess.run([skep] + words, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       env=dict(os.environ, LC_ALL="C", COLUMNS="100"), timeout=60)
    return p.returncode, p.stdout


def fields_table():
    rc, out = run(["filter", "schema"], ".")
    schema = json.loads(out)
    when = schema["properties"]["rules"]["items"]["properties"]["when"]["description"]
    rows = []
    for name, kind, help_ in re.findall(r"^([a-z_]+) \(([^)]*)\): (.*)$", when[when.index("Fields:"):], re.M):
        parents = "no" if "not of parents" in kind else "yes"
        rows.append(f"| `{name}` | {kind.split(';')[0]} | {parents} | {help_} |")
    return "\n".join(rows)


def blocks(kind):
    return re.findall(r"^```" + kind + r"\n(.*?)^```$", text, re.M | re.S)


def session(block, folder):
    """The session as it is now."""
    out = []
    lines = block.split("\n")[:-1]
    i = 0
    while i < len(lines):
        if not lines[i].startswith("$ "):
            i += 1  # what was printed then
            continue
        words = shlex.split(lines[i][2:])
        out.append(lines[i])
        i += 1
        if words[0] == "cat":
            with open(os.path.join(folder, words[1]), "w") as f:
                while i < len(lines) and not lines[i].startswith("$ "):
                    out.append(lines[i])
                    f.write(lines[i] + "\n")
                    i += 1
        elif words[0] == "skep":
            out.append(run(words[1:], folder)[1].rstrip("\n"))
        else:
            fail("docs.py does not know this command: " + lines[i - 1])
    return "\n".join(out) + "\n"


with tempfile.TemporaryDirectory() as folder:
    shutil.copy(os.path.join(here, "day.ndjson"), folder)
    new = text
    table = fields_table()
    begin = text.index("| field | type | of parents | |\n|---|---|---|---|\n") + len("| field | type | of parents | |\n|---|---|---|---|\n")
    end = text.index("\n\n", begin)
    if text[begin:end] != table:
        new = text[:begin] + table + text[end:]
        if not write:
            fail("the table of fields is not the program's:\n" + table)
    for i, block in enumerate(blocks("json")):
        path = os.path.join(folder, f"block{i}.json")
        open(path, "w").write(block)
        rc, out = run(["filter", "test", "--rules", path, "day.ndjson"], folder)
        if rc:
            fail(f"rule file {i}: {out}")
    conditions = [c for block in blocks("conditions") for c in block.split("\n") if c]
    for c in conditions:
        rc, out = run(["filter", "test", c, "day.ndjson"], folder)
        if rc:
            fail(f"{c}: {out}")
    sessions = blocks("console")
    for block in sessions:
        now = session(block, folder)
        if now != block:
            new = new.replace(block, now)
            if not write:
                fail("the session was\n" + block + "\nand is\n" + now)
    if not conditions or len(sessions) < 2 or not blocks("json"):
        fail("found too little to test: has the page's form changed?")
if write:
    open(page, "w").write(new)
sys.exit(1 if failures else 0)
