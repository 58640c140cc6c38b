#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""schema.py SKEPD CONFIG...: the schemas that `skepd --schema` and `--schema-recognizers` print against `skepd -t`.

Every key of the file, of its sections, of its entries, and every option of every plugin is
given values of every type, each on a line of its own: the lines that skepd -t refuses must
be those that the schema refuses.  What only skepd -t can know (two instances of one name, or more than 64 bits)
is not among the values.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema

skepd = sys.argv[1]
# Numbers around the bounds of times and sizes that are texts.
QUANTITIES = ["0", "000", "0s", "00ns", "0B", "1ns", "999999ns", "1000000ns", "999us", "1ms", "0001ms", "4999ms", "5000ms", "5001ms", "5s", "6s", "1m", "60m", "1h",
              "3601s", "25h", "1d", "99d", "1B", "4095B", "4096", "63KiB", "65535", "65536", "64KiB", "65kB", "66kB", "1023MiB", "1024MiB", "1GiB", "1025MiB", "1073741825",
              "1074MB", "2GB", "1TB", "2TiB", "99999TiB", "9223372036854775807", "9223372036854775808"]
WRONG = [None, True, 7, -1, 1.5, "", "a b", "5", "5s", "5 s", "1.5s", "4KiB", "/x", [], [""], ["/x"], [1], {}, {"a": "b"}, {"a": 1}]


def check(text):
    """{line: message} of skepd -t about the file itself."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        f.write(text)
        f.flush()
        run = subprocess.run([skepd, "-t", "-c", f.name], capture_output=True, text=True, timeout=60)
        found = {}
        for m in re.finditer(rf"^{re.escape(f.name)}:(\d+)(?::\d+)?: error: (.*)$", run.stderr, re.M):
            found.setdefault(int(m[1]), m[2])
        if run.returncode not in (0, 3) or (run.returncode == 3 and not found and "does not open" not in run.stderr):
            sys.exit(f"skepd -t ended with {run.returncode}:\n{text}\n{run.stderr}")
        return found


def lines_of(items):
    """An object with one key on each line, from line 2 on."""
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in items) + "\n}"


failed = count = 0


def compare(what, value, by_skepd, by_schema):
    global failed, count
    count += 1
    if bool(by_skepd) == bool(by_schema):
        return
    failed += 1
    print(f"{what} = {json.dumps(value)}: skepd -t says {by_skepd or 'ok'!r}, the schema {by_schema or 'ok'!r}")


schema = json.loads(subprocess.run([skepd, "--schema"], capture_output=True, text=True, check=True, timeout=60).stdout)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
failed += json.dumps(schema).count(str(2**63 - 1) + "ns")  # in the words of an editor


def errors(doc, depth):
    """{path to that depth: message}"""
    found = {}
    for e in validator.iter_errors(doc):
        found.setdefault(tuple(e.absolute_path)[:depth], e.message)
    return found


# The file's own keys, and those of its sections.
top = schema["properties"]
for value in WRONG + QUANTITIES + ["include", "exclude", ["host", "host"], ["a/b"], [".x"], ["CAP_KILL"], "/" + "x" * 107]:
    doc = {k: value for k in top}
    skepd_says, schema_says = check(lines_of(doc.items())), errors(doc, 1)
    for line, key in enumerate(doc, 2):
        compare(key, value, skepd_says.get(line), schema_says.get((key,)))
    for section in (k for k in top if top[k].get("properties")):
        doc = {k: value for k in top[section]["properties"]}
        text = lines_of([(section, 0)]).replace("0", lines_of(doc.items()))
        skepd_says, schema_says = check(text), errors({section: doc}, 2)
        for line, key in enumerate(doc, 3):
            compare(f"{section}.{key}", value, skepd_says.get(line), schema_says.get((section, key)))

# Keys that do not exist; skepd's error then names all keys, which must be those of the schema.
for section in [None] + [k for k in top if top[k].get("properties")]:
    doc = {"qqqqqqqqqqqq": 1}
    said = check(json.dumps({section: doc} if section else doc)).get(1, "")
    known = set(re.sub(".*known are ", "", said).split(", "))
    has = set(top[section]["properties"] if section else top)
    if known != has:
        failed += 1
        print(f"keys of {section or 'the file'}: skepd knows {sorted(known)}, the schema {sorted(has)}")
    doc = {"intervall": "5s"}
    doc = {section: doc} if section else doc
    compare(f"unknown key in {section}", "5s", check(json.dumps(doc)), errors(doc, 1))

# The options of every entry, and the options of each plugin.
for kind in ("probes", "sinks"):
    cases = top[kind]["items"].get("allOf", [])
    names = {c["if"]["properties"]["plugin"]["const"]: c["then"] for c in cases}
    if not names:
        sys.exit(f"no {kind}: nothing to hold the schema against")
    first = sorted(names)[0]
    for value in WRONG + ["n", "-n", ".n", "a.b", "x" * 63, "x" * 64, "../proc", False]:
        for key in ("plugin", "name", "required"):
            # A valid name of a missing plugin is an error only when skepd loads plugins.
            doc = {kind: [{"plugin": first, key: value}]}
            said = check(json.dumps(doc))
            said = {k: v for k, v in said.items() if "is missing" not in v}
            compare(f"{kind}.{key}", value, said, [m for m in errors(doc, 9).values() if "required property" not in m])
    doc = {kind: [{}]}
    compare(f"{kind}: no plugin", {}, check(json.dumps(doc)), errors(doc, 1))
    entries = []
    for name, then in names.items():
        good = {k: f"/nonexistent/{name}" for k in then.get("required", [])}
        for case in then.get("allOf", []):
            for one in case.get("anyOf", []):
                good.setdefault(one["required"][0], "x")
                break
        entries += [({"plugin": name, **good, "optoin": 1}, f"{name}: unknown", 1)]
        entries += [({"plugin": name, **{k: v for k, v in good.items() if k != key}}, f"{name}: without {key}", None) for key in good]
        for key in then["properties"]:
            if key in ("plugin", "name", "required"):
                continue
            if key.endswith("_file") and key[:-5] in then["properties"]:
                continue  # opened by -t: the next but one loop
            entries += [({"plugin": name, **good, key: v}, f"{name}.{key}", v) for v in WRONG + QUANTITIES]
    for i, (entry, _, _) in enumerate(entries):
        entry["name"] = f"i{i}"
    text = '{ "%s": [\n%s\n] }' % (kind, ",\n".join(json.dumps(e) for e, _, _ in entries))
    skepd_says, schema_says = check(text), errors({kind: [e for e, _, _ in entries]}, 2)
    for i, (_, what, value) in enumerate(entries):
        compare(f"{kind}: {what}", value, skepd_says.get(i + 2), schema_says.get((kind, i)))

# The files that come with skep.
for file in sys.argv[2:]:
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", open(file).read(), flags=re.S)
    for e in validator.iter_errors(json.loads(text)):
        failed += 1
        print(f"{file}: {e.message}")
    count += 1

# Tables of recognizers: each key of an entry, of a mark and of a way to a fact, and the tables that come with skep.
schema = json.loads(subprocess.run([skepd, "--schema-recognizers"], capture_output=True, text=True, check=True, timeout=60).stdout)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)
good = {"engine": "x", "class": "workflow"}
runs, source = {"programs": ["x"]}, {"from": "cwd", "as": "name"}
entry_keys = schema["properties"]["recognizers"]["items"]["properties"]
mark_keys = entry_keys["run"]["items"]["properties"]
source_keys = mark_keys["facts"]["items"]["properties"]
values = WRONG + ["workflow", "memory_mib", "cwd", "tool = 'x'", ["tool = 'x'"], ["x"], 1000, 1001, False, "x" * 32, "x" * 33, "(?<name>.)", [{}]]
entries = [({**good, key: v}, f"entry: {key}", v) for key in [*entry_keys, "enigne"] for v in values if key not in ("tests", "why")]
entries += [({k: v for k, v in good.items() if k != key}, f"entry without {key}", None) for key in good]
entries += [({**good, kind: [{**base, key: v}]}, f"{kind}: {key}", v) for kind, base in (("run", runs), ("run", {}), ("task", {}), ("task", {"child": True}), ("learn", {}))
            for key in [*mark_keys, "wen"] for v in values]
entries += [({**good, "task": [{"facts": [{**base, key: v}]}]}, f"facts: {key}", v)
            for base in (source, {"from": "cwd"}, {"as": "name"}, {"re": "(?<name>.)"}) for key in [*source_keys, "form"] for v in values]
one, line = {"path": "{cwd}/x"}, {"lines": 3, "re": "(?<name>.)"}
values += ["{cwd}/x", "/a/~1b", "/a~b"]
entries += [({**good, "task": [{"file": {**base, key: v}}]}, f"file: {key}", v) for base in (one, {"where": "/x", "equals": "cwd"}, {**one, "where": "/x", "equals": "cwd"})
            for key in ["path", "where", "equals", "behind", "folder"] for v in values]
entries += [({**good, "task": [{"file": one, "facts": [{**base, key: v}]}]}, f"facts of a file: {key}", v) for base in (line, {"value": "/x", "as": "name"})
            for key in source_keys for v in values]
with tempfile.NamedTemporaryFile("w", suffix=".json") as table:
    table.write('{ "recognizers": [\n%s\n] }' % ",\n".join(json.dumps(e) for e, _, _ in entries))
    table.flush()
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as f:
        json.dump({"recognizers": [table.name]}, f)
        f.flush()
        run = subprocess.run([skepd, "-t", "-c", f.name], capture_output=True, text=True, timeout=60)
    skepd_says = {int(m[1]): m[2] for m in re.finditer(rf"^{re.escape(table.name)}:(\d+)(?::\d+)?: error: (.*)$", run.stderr, re.M)}
schema_says = errors({"recognizers": [e for e, _, _ in entries]}, 2)
# Only skepd -t reads conditions, patterns, names of fields and those in braces, and counts.
reads = re.compile(r"of the condition|regular expression|has no named group|there is no text|is no text|no pattern|malformed|pattern|too many|fact \"")
for i, (_, what, value) in enumerate(entries):
    if not (skepd_says.get(i + 2) and reads.search(skepd_says[i + 2])):
        compare(what, value, skepd_says.get(i + 2), schema_says.get(("recognizers", i)))
for file in sorted(glob.glob(os.path.join(os.path.dirname(sys.argv[2]), "workflows.d", "*.json"))):
    for e in validator.iter_errors(json.loads(re.sub(r"^\s*//.*$", "", open(file).read(), flags=re.M))):
        failed += 1
        print(f"{file}: {e.message}")
    count += 1

print(f"{count} values, {failed} on which skepd -t and the schema differ")
sys.exit(failed > 0 or count < 500)
