#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""json_answers.py REFERENCE FILL_LAKE: validates what skep answers as JSON against the files of REFERENCE/schema.

A schema allows keys that it does not name, as its readers must; here each object has exactly the keys of its schema, so
that neither a new key nor a vanished one goes unnoticed.  Then runs the example of docs/reference/json.md.
"""
import copy
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import jsonschema

reference, fill = sys.argv[1:]
skep = os.environ["SKEP"]
failures = 0
used = set()


def check(what, problem):
    global failures
    failures += bool(problem)
    print(f"FAIL - {what}: {str(problem)[:1500]}" if problem else f"ok - {what}")


def strict(schema):
    """The same schema, in which no object has other keys."""
    if isinstance(schema, dict):
        schema = {k: strict(v) for k, v in schema.items()}
        if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
            schema["additionalProperties"] = False
    elif isinstance(schema, list):
        schema = [strict(v) for v in schema]
    return schema


def validator(name):
    used.add(name)
    with open(f"{reference}/schema/{name}.json", encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    if schema["$id"] != f"urn:skep:json:1:{name}":
        check(f"$id of {name}", schema["$id"])
    return jsonschema.Draft7Validator(strict(schema))


def problem(schema, answer):
    for e in schema.iter_errors(answer):
        return f"{'/'.join(map(str, e.absolute_path))}: {e.message}"
    return None


def valid(name, answers, what):
    schema = validator(name)
    for answer in answers:
        found = problem(schema, answer)
        if found:
            break
    check(f"{what} ({len(answers)})", found if answers else "no answer")


def ask(*command, status=0):
    run = subprocess.run([skep, *command], capture_output=True, timeout=120, check=False)
    if run.returncode != status:
        check(" ".join(command), f"exit status {run.returncode}: {run.stderr.decode()}")
    return run.stdout.decode()


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


with tempfile.TemporaryDirectory(prefix="skep-json.") as work:
    lake = f"{work}/lake"
    subprocess.run([fill, "60", "1800", "20", "40", f"path={lake}"], check=True, stdout=subprocess.DEVNULL)
    # a real run has what the others lack: failures, samples, a ledger, facets
    real = f"{work}/real"
    script = "sh -c 'kill -9 $$'; sh -c 'exit 3'; for i in 1 2 3; do sort /etc/passwd; done >/dev/null; sleep 2.2; printf x | cat"
    run = subprocess.run([skep, "run", "--no-report", "--lake", real, "--json", f"{work}/run.json", "--", "sh", "-c", script],
                         capture_output=True, timeout=120, check=False)
    lakes = [lake]
    if run.returncode == 0 and os.path.getsize(f"{work}/run.json"):
        lakes.append(real)
        with open(f"{work}/run.json", encoding="utf-8") as f:
            valid("show", [json.load(f)], "skep run --json")
    else:
        print("no run is recorded here, so answers about one are not compared:", run.stderr.decode().strip())
    for path in lakes:
        at = ["--lake", path]
        runs = json.loads(ask("runs", *at, "--all", "-n", "0", "--json"))
        valid("runs", [runs], f"runs of {os.path.basename(path)}")
        ids = [r["id"] for r in runs]
        valid("show", [json.loads(ask("show", *at, i, "--json")) for i in ids[:12]], "show")
        valid("tune", [json.loads(ask("tune", *at, i, "--json")) for i in ids[:6]], "tune")
        pairs = [[i] for i in ids[:4] if path == lake] + [[ids[0], i] for i in ids[:4]]
        valid("diff", [json.loads(ask("diff", *at, *p, "--json")) for p in pairs], "diff")
        valid("lake-status", [json.loads(ask("lake", "status", *at, "--json", *rows)) for rows in ([], ["--rows"])], "lake status")
        valid("lake-check", [json.loads(ask("lake", "check", *at, "--json"))], "lake check")
        for what in ("runs", "tasks", "processes", "samples", "ledger"):
            rows = lines(ask("lake", "export", *at, "--what", what))
            if rows or (path == real and what in ("runs", "processes", "samples", "ledger")):
                valid(f"export-{what}", rows, f"export --what {what}")
    prices = ["--prices", f"{reference}/../../etc/prices.json"]
    bills = [["--by", by] for by in ("pipeline", "task", "tool", "user", "host", "label")] + [["last"], ["last", "--by", "run"]]
    for path in lakes:
        # fill_lake's lake has no records of machines: no figure, status 1
        answers = [json.loads(ask("cost", *b, "--lake", path, *prices, "--json", status=int(path == lake))) for b in bills]
        valid("cost", answers, f"cost of {os.path.basename(path)}")
    fleet = f"{work}/fleet"
    subprocess.run([os.path.dirname(fill) + "/fill_fleet", "20", "3", f"path={fleet}"], check=True, stdout=subprocess.DEVNULL)
    sweeps = [json.loads(ask("sweep", "--lake", fleet, "--until", "2026-11-10T00:00:00Z", "--json", *p)) for p in ([], prices)]
    valid("sweep", sweeps, "sweep")
    check("sweep finds something", None if all(s["findings"] for s in sweeps) else sweeps)
    for options in [], ["--host", "node-0007"]:
        hosts = json.loads(ask("hosts", "--lake", fleet, "--until", "2026-11-10T00:00:00Z", *options, "--json"))
        valid("hosts", [hosts], " ".join(["hosts"] + options))
        items = {i["item"]: i["hours"] for h in hosts["hosts"] for i in h["items"] if h["host"] == "node-0007"}
        busy = sum(items[""]["busy_s"]) / sum(items[""]["capacity_s"])
        check("node-0007 is busy for a third of its time, for runs", None if 0.3 < busy < 0.4 and
              sum(items[""]["runs_s"]) > 0.9 * sum(items[""]["busy_s"]) else busy)
        check("a host that is asked for has its GPU", None if ("gpu/GPU-5f1c" in items) == bool(options) else sorted(items))
    valid("tune-list", [json.loads(ask("tune", "--list", "--json"))], "tune --list")
    with open(f"{lake}/lake-2026-10.db", "ab") as f:
        f.truncate(20000)
    valid("lake-status", [json.loads(ask("lake", "status", "--lake", lake, "--json", status=1))], "status of a damaged lake")
    valid("lake-check", [json.loads(ask("lake", "check", "--lake", lake, "--json", status=1))], "check of a damaged lake")

    # the comparison finds each planted difference
    show = validator("show")
    good = json.loads(ask("show", "--lake", lake, "last", "--json"))
    for what, path, value in (("a new key", ("tasks", 0, "colour"), "red"), ("a renamed key", ("run", "id"), None),
                              ("another type", ("totals", "cpu_ns"), "1"), ("a time without ns", ("run", "start"), "2026-11-10T00:00:00Z"),
                              ("a null", ("totals", "cpu_ns"), 0)):
        bad = copy.deepcopy(good)
        inner = bad
        for key in path[:-1]:
            inner = inner[key]
        if what == "a renamed key":
            inner["identity"] = inner.pop(path[-1])
        else:
            inner[path[-1]] = None if what == "a null" else value
        check(f"{what} is found", None if problem(show, bad) else f"not found in {path}")

    example = subprocess.run([sys.executable, f"{reference}/examples/tools.py"], capture_output=True, timeout=120, check=False,
                             env={**os.environ, "SKEP_LAKE": lake}, text=True)
    want = re.compile(r"^ +[0-9.]+ s +\d+ calls  '.*'$")
    rows = example.stdout.splitlines()
    check("the example", None if example.returncode == 0 and len(rows) == 10 and all(map(want.match, rows)) else example.stdout + example.stderr)
    first = sum(t["cpu_ns"] for r in json.loads(ask("runs", "--lake", lake, "-n", "20", "--json", status=0))
                for t in json.loads(ask("show", "--lake", lake, r["id"], "--json"))["tools"] if rows and repr(t["tool"]) == rows[0].split("calls  ")[1])
    check("its first sum", None if rows and abs(float(rows[0].split()[0]) - first / 1e9) < 0.06 else f"{rows[:1]}, {first}")

files = {os.path.basename(f)[:-5] for f in glob.glob(f"{reference}/schema/*.json")}
with open(f"{reference}/json.md", encoding="utf-8") as f:
    linked = set(re.findall(r"schema/([a-z-]+)\.json", f.read()))
check("every schema is compared", files - used if os.path.exists("/sys/fs/bpf") and os.geteuid() == 0 else None)
check("every schema is in json.md", files ^ linked)
sys.exit(failures > 0)
