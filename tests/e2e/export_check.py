#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export_check.py FOLDER: the files that export.sh has exported against each other and against skep runs and show."""
import csv
import json
import sys

folder = sys.argv[1]
failures = 0


def check(what, wanted, got):
    global failures
    if wanted == got:
        print(f"ok - {what}")
    else:
        failures += 1
        print(f"FAIL - {what}: wanted {str(wanted)[:500]}, got {str(got)[:500]}")


def ndjson(name):
    with open(f"{folder}/{name}.ndjson", encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def as_csv(value):
    """A value of JSON as CSV has it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


runs, show = json.load(open(f"{folder}/runs")), json.load(open(f"{folder}/show"))
rows = {what: ndjson(what) for what in ("runs", "tasks", "processes", "samples", "ledger")}
for what, mine in rows.items():
    with open(f"{folder}/{what}.csv", encoding="utf-8", newline="") as f:
        head, *cells = list(csv.reader(f))
    if mine:
        check(f"{what}: columns of CSV", list(mine[0]), head)
    # a double may have another text
    reals = {"requested_cpus", "granted_cpus", "cores_peak", "facets"}
    check(f"{what}: cells of CSV", [[as_csv(v) for k, v in row.items() if k not in reals] for row in mine],
          [[c for k, c in zip(head, row) if k not in reals] for row in cells])

check("runs, the oldest first", [r["id"] for r in reversed(runs)], [r["run"] for r in rows["runs"]])
for run, row in zip(reversed(runs), rows["runs"]):
    for key in ("name", "pipeline", "host", "start", "end", "exit_code", "signal", "argv", "uid", "cpus", "engine", "memory_peak_bytes", "memory_source"):
        if run[key] != row[key]:
            check(f"{row['run']}: {key}", run[key], row[key])
    for key in ("processes", "images", "cpu_ns", "read_bytes", "write_bytes"):
        if run["totals"][key] != row[key]:
            check(f"{row['run']}: {key}", run["totals"][key], row[key])
check("2,700 processes of 90 runs", (2700, 90), (len(rows["processes"]), len({r["run"] for r in rows["processes"]})))
newest = show["run"]["id"]
for what in ("tasks", "processes"):
    mine = [r for r in rows[what] if r["run"] == newest]
    check(f"{what} of the newest run", len(show[what]), len(mine))
    for theirs, row in zip(show[what], mine):
        # values of one name are equal, except those with different forms: bits and words, nested requests
        for key in row.keys() & theirs.keys() - {"approx"}:
            close = isinstance(row[key], float) and abs(row[key] - theirs[key]) < 1e-12  # show has 15 digits
            if row[key] != theirs[key] and not close:
                check(f"{what}: {key}", theirs[key], row[key])
together = ndjson("all")
check("all: every row", sum(len(r) for r in rows.values()), len(together))
for what, mine in rows.items():
    got = [{k: v for k, v in r.items() if k not in ("row", "following")} for r in together if r["row"] == what]
    check(f"all: {what}", mine, got)
at = 0
while at < len(together) and together[at]["row"] == "runs":
    at += 1 + together[at]["following"]
check("all: a run's rows follow it", len(together), at)
check("--run", [r for r in together if r["run"] == newest], ndjson("newest"))
some = ndjson("some")
check("--pipeline, --since, --until", [r for r in rows["runs"] if r["pipeline"] == "pipeline-03" and "2026-09-10" <= r["start"] < "2026-10-10"], some)
check("some runs are chosen", True, 0 < len(some) < 90)
sys.exit(failures > 0)
