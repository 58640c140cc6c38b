#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/names.sh - the program and the working directory of a process are those of /proc/PID/exe and cwd, also
# where no path leads to them: names.py.  An environment that is too large to be searched is said to be so.
. "$(dirname "$0")/../e2e/run_lib.sh"
run --json "$work/report.json" -- unshare --mount python3 "$here/names.py" begin "$work" 2>"$work/err" ||
	{ cat "$work/err"; fail "the programs did not run"; finish; }
python3 "$here/names.py" compare "$work" || failures=$((failures + 1))

# skep searches the first 64 KiB of an environment.
"$SKEP" run --lake "$lake" --no-live --json "$work/large.json" -- python3 -c '
import os
os.execve("/bin/true", ["true"], {"A": "x" * 70000, "SKEP_TASK": "behind"})' 2>&1 | tr -s ' \n' ' ' >"$work/report"
same "the record of a program whose environment is too large says so" '[True]' \
	"$(json "$work/large.json" '["environ" in p["approx"] for p in last if p["argv"] == ["true"]]')"
contains "the report says so, too" "$work/report" "did not search the environment of 1 program to its end"
"$SKEP" run --lake "$lake" --no-live -- env SKEP_TASK=first true 2>&1 | tr -s ' \n' ' ' >"$work/report"
same "it says nothing without such a program" 0 "$(grep -c "did not search" "$work/report")"
finish
