#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/diff.sh - skep diff of two runs and of a run and its history: a task that sleeps longer is marked, and tools
# and options that only one side has are named. Equal runs have no mark.
# Environment: SKEP, SKEP_PLUGIN_DIRS.
. "$(dirname "$0")/run_lib.sh"

# of EXPRESSION: prints the value of the python expression over the answer r
of() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/json" "$1"; }
# difference ARGUMENT...: the answer as text and as JSON
difference() {
	"$SKEP" diff --lake "$lake" "$@" >"$work/text" || fail "diff $*: status $?"
	"$SKEP" diff --lake "$lake" --json "$@" >"$work/json" || fail "diff --json $*: status $?"
}

cat >"$work/job" <<'END'
for i in 1 2 3 4 5; do SKEP_TASK=nap sleep "$1" & done
gzip "-$2" </etc/passwd >/dev/null
"$3" -c 1 /etc/passwd >/dev/null
wait
END
for i in 1 2 3 4 5; do
	run --pipeline naps --name "old$i" -- sh "$work/job" 0.2 1 head || fail "run old$i"
done
run --pipeline naps --name new -- sh "$work/job" 0.8 9 tail || fail "run new"

difference old5 new
same "the task is slower" more "$(of 'r["tasks"][0]["figures"]["wall_s"]["verdict"]')"
same "with the exact p of 5 and 5" True "$(of 'abs(r["tasks"][0]["figures"]["wall_s"]["p"] - 2 / 252) < 1e-9')"
same "it used no more CPU time" same "$(of 'r["tasks"][0]["figures"]["cpu_s"]["verdict"]')"
same "it slept" True "$(of 'r["tasks"][0]["wall_change"]["rest_s"] > 0.4')"
same "new and gone tools" "{'head': 'gone', 'tail': 'new'}" \
	"$(of 'dict(sorted((t["name"], t["presence"]) for t in r["tools"] if t["presence"] != "both"))')"
same "the option" "[('-1', None), (None, '-9')]" \
	"$(of '[(c["a"], c["b"]) for c in r["changes"] if c["name"] == "gzip"]')"
contains "the text has the mark" "$work/text" "▲ p 0.0079"
contains "the text has the option" "$work/text" "gzip: only in A: -1; only in B: -9"

difference old4 old5
same "equal runs have no mark" "set()" \
	"$(of '{f["verdict"] for t in r["tasks"] + r["tools"] for f in t["figures"].values()} & {"more", "less"}')"
contains "equal runs" "$work/text" "No difference"

difference new
same "the history" "(True, ['old5', 'old4', 'old3', 'old2', 'old1'])" "$(of '(r["history"], [a["name"] for a in r["a"]])')"
same "outside of the usual range" more "$(of 'r["tasks"][0]["figures"]["wall_s"]["verdict"]')"
contains "the text names the history" "$work/text" "the median of 5 earlier runs of naps"

"$SKEP" diff --lake "$lake" old1 >"$work/out" 2>&1
same "no history" 1 $?
contains "says so" "$work/out" "has no history"
"$SKEP" diff --lake "$lake" none-such new >"$work/out" 2>&1
same "no such run" 1 $?
"$SKEP" diff --lake "$lake" old1 old2 new >"$work/out" 2>&1
same "three runs: wrong usage" 2 $?

# Snakemake's second run overwrites the files that have the rule of the first one's task.
if command -v snakemake >/dev/null; then
	mkdir "$work/flow"
	cd "$work/flow" || exit 1
	printf 'rule nap:\n    output: "a"\n    shell: "sleep {config[t]}; touch {output}"\n' >Snakefile
	for t in 0.1 0.2; do
		run --name "flow$t" -- snakemake --quiet --cores 1 --forceall --config "t=$t" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
	done
	difference flow0.2 # nobody named the pipeline: the folder counts
	same "the history of the folder" "['flow0.1']" "$(of '[a["name"] for a in r["a"]]')"
	difference flow0.1 flow0.2
	same "both have the rule's name" "[('nap', 'both')]" "$(of '[(t["name"], t["presence"]) for t in r["tasks"]]')"
fi
finish
