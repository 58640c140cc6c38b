#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_tree.sh - the report of a run has every process, however it began and even if its parents have ended:
# fixtures/tree.c, and pid namespaces.
. "$(dirname "$0")/run_lib.sh"
[ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] ||
	skip "not in the initial pid namespace: pids of the report cannot be compared"
fixture tree

end_survivor() { kill "$(awk '$1 == "survivor" { print $2 }' "$work/facts")"; }
"$SKEP" run --lake "$lake" --no-live --no-report --json "$work/r.json" "$work/tree" >"$work/facts"
same "the tree's own status" 7 "$?"
end_survivor
python3 "$here/check_tree.py" "$work/r.json" "$work/facts" || failures=$((failures + 1))

# the same without samples: records of short-lived processes must not depend on samples
"$SKEP" run --lake "$lake" --no-live --no-report --interval 1h --json "$work/r.json" "$work/tree" >"$work/facts"
same "the tree's own status, without samples" 7 "$?"
end_survivor
# without a sample only the exit record has the number of threads
python3 "$here/check_tree.py" "$work/r.json" "$work/facts" || failures=$((failures + 1))

# pid namespaces that live some milliseconds
if unshare -pf true 2>/dev/null; then
	"$SKEP" run --lake "$lake" --no-live --no-report --json "$work/ns.json" bash -c '
		for i in 1 2 3 4 5; do unshare -pf sh -c "sh -c \"exit 31\" in-namespace; (exit 32); exit 3$i"; done; exit 0'
	same "pid namespaces: status" 0 "$?"
	same "pid namespaces: each first process, by its exit code" "[31, 32, 33, 34, 35]" \
		"$(json "$work/ns.json" '[p["exit_code"] for p in last if p["argv"][:2] == ["sh", "-c"] and "in-namespace" in p["argv"][-1] and p["execed"] and len(p["argv"]) == 3]')"
	same "pid namespaces: the programs that they executed" "[31, 31, 31, 31, 31]" \
		"$(json "$work/ns.json" '[p["exit_code"] for p in last if p["argv"][-1:] == ["in-namespace"]]')"
	same "pid namespaces: forks without exec" 5 \
		"$(json "$work/ns.json" 'sum(p["exit_code"] == 32 and not p["execed"] for p in last)')"
	same "pid namespaces: pids are the host's" 0 "$(json "$work/ns.json" 'sum(p["pid"] < 10 for p in processes)')"
	same "pid namespaces: every parent is in the run" 1 \
		"$(json "$work/ns.json" 'sum(p["parent_upid"] not in {q["upid"] for q in processes} for p in last)')"
else
	echo "skip: no pid namespaces here"
fi

# two runs at the same time stay two
for i in 1 2; do
	"$SKEP" run --lake "$lake" --no-live --no-report --json "$work/both$i.json" \
		bash -c "for j in 1 2 3 4 5 6 7 8 9 10; do sh -c 'exit $i' one-of-$i; sleep 0.05; done" &
done
wait
for i in 1 2; do
	same "run $i beside another: its own processes" "10 0" "$(json "$work/both$i.json" \
		'"%d %d" % tuple(sum(p["argv"][-1:] == ["one-of-%d" % n] for p in processes) for n in ('$i', 3 - '$i'))')"
done
# a run within a run belongs to both
"$SKEP" run --lake "$lake" --no-live --no-report --json "$work/outer.json" \
	"$SKEP" run --lake "$work/inner" --no-live --no-report --json "$work/inner.json" sh -c 'exit 8' innermost
same "a run within a run: status" 8 "$?"
for which in outer inner; do
	same "a run within a run: in the $which one" 1 \
		"$(json "$work/$which.json" 'sum(p["argv"][-1:] == ["innermost"] and p["argv"][0] == "sh" for p in processes)')"
done
finish
