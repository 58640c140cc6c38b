#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# top.py QUESTION FILE...: compares what skep top printed with skep show --json.
#   names TOP RUN          rows of processes have their names; none is lost to a hostile one
#   sums SHOW BEFORE SCREEN the tools that had ended when top began, and the run's row on the screen at its end
#   at SHOW TOP            all sums of a replay at the run's end
import json
import re
import sys

SAME = ["cpu_ns", "run_delay_ns", "read_bytes", "write_bytes"]


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def names(top, run):
    rows = load(top)["rows"]
    assert all(r["name"] == run for r in rows), rows
    tools = {r["tool"] for r in rows}
    assert {"true", "false", "gzip"} <= tools, tools
    assert any("\x1b[2Jv" in r["label"] for r in rows), rows  # JSON escapes it; the table must not have it
    assert {r["task"] for r in rows} == {None, "align", "sort"}, rows
    assert any(r["label"].endswith("[exit 1]") for r in rows), rows


def sums(show, before, screen):
    report = load(show)
    then = {r["tool"]: r for r in load(before)["rows"]}
    for tool in report["tools"]:
        if tool["tool"] in ("true", "false"):
            for key in SAME:
                assert then[tool["tool"]][key] == tool[key], (tool["tool"], key, then[tool["tool"]], tool)
            assert then[tool["tool"]]["processes_ended"] == tool["processes"], tool
    with open(screen, encoding="utf-8") as file:
        head = file.read().splitlines()[1]
    alive, ended, failed = map(int, re.match(r"(\d+) alive, (\d+) ended, (\d+) failed", head).groups())
    assert (alive, ended, failed) == (0, report["totals"]["processes"], report["run"]["failures"]), head


def at(show, top):
    report, answer = load(show), load(top)
    for key in SAME:
        assert answer["totals"][key] == report["totals"][key], key
        assert sum(r[key] for r in answer["rows"]) == report["totals"][key], key
    assert answer["totals"]["processes_ended"] == report["totals"]["processes"]
    assert answer["totals"]["processes_alive"] == 0
    assert answer["totals"]["failures"] == report["run"]["failures"]
    if answer["by"] == "tool":
        tools = {t["tool"]: t for t in report["tools"]}
        for row in answer["rows"]:
            for key in SAME:
                assert row[key] == tools[row["tool"]][key], (row, key)
    if answer["by"] == "process":
        assert len(answer["rows"]) == report["totals"]["processes"]


{"names": names, "sums": sums, "at": at}[sys.argv[1]](*sys.argv[2:])
