#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/tune.sh - skep tune after a Snakemake with planted waste: four threads asked by a rule that sleeps, and 2 GB
# by another. skep finds both and nothing else, and Snakemake accepts the profile with what to ask for. A run without
# waste has no finding. What to ask for rests on the earlier runs of the pipeline as well.
# Environment: SKEP, SKEP_PLUGIN_DIRS.
. "$(dirname "$0")/run_lib.sh"
command -v snakemake >/dev/null || skip "needs snakemake"

# of EXPRESSION: prints the value of the python expression over the answer r
of() { python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/json" "$1"; }

mkdir "$work/flow"
cd "$work/flow" || exit 1
cat >Snakefile <<'END'
rule all:
    input: "a", "b", "c"
rule idle:
    output: "a"
    threads: 4
    shell: "sleep 4; touch {output}"
rule modest:
    output: "b"
    resources: mem_mb=2000
    shell: "sleep 2; touch {output}"
rule fails_not:
    output: "c"
    shell: "touch {output}"
END
run --name planted -- snakemake --cores 4 >"$work/out" 2>&1 || fail "the pipeline: $(cat "$work/out")"
judge=(--set gate.wall=1)
"$SKEP" tune --lake "$lake" "${judge[@]}" planted >"$work/text" || fail "tune: status $?"
"$SKEP" tune --lake "$lake" "${judge[@]}" --json planted >"$work/json" || fail "tune --json: status $?"
same "the waste is found, and nothing else" "[('cpu-over-request', 'idle'), ('memory-over-request', 'modest')]" \
	"$(of 'sorted((f["id"], f["name"]) for f in r["findings"])')"
same "what to ask for" "1" "$(of '[round(t["ask_for"]["cpus"]["value"]) for t in r["tasks"] if t["task"] == "idle"][0]')"
# it takes all cores, so nothing runs beside it
same "the observed path leads through it" "idle" "$(of '[p["name"] for p in r["observed_path"]["parts"]][0]')"
contains "the text has the observed path" "$work/text" "Observed path"
contains "the text names what to change" "$work/text" "ask for threads: 1"
contains "a run below the gate is not judged" <("$SKEP" tune --lake "$lake" --set gate.wall=86400 planted) "too short to judge"
mkdir -p "$work/config/skep"
echo '{ "thresholds": { "gate.wall": 86400 } }' >"$work/config/skep/skep.conf"
contains "skep.conf has the gate" <(XDG_CONFIG_HOME="$work/config" "$SKEP" tune --lake "$lake" planted) "too short to judge"
contains "--set counts more" <(XDG_CONFIG_HOME="$work/config" "$SKEP" tune --lake "$lake" "${judge[@]}" planted) "ask for threads: 1"
echo '{ "thresholds": { "gate.wal": 1 } }' >"$work/config/skep/skep.conf"
contains "an unknown threshold" <(XDG_CONFIG_HOME="$work/config" "$SKEP" tune --lake "$lake" planted 2>&1) "did you mean 'gate.wall'?"

mkdir profile
"$SKEP" tune --lake "$lake" --emit snakemake planted >profile/config.yaml || fail "tune --emit: status $?"
contains "the profile has the rule" profile/config.yaml 'idle=1'
snakemake --profile profile --cores 4 --forceall --dry-run >"$work/dry" 2>&1 || fail "Snakemake refuses the profile: $(cat profile/config.yaml "$work/dry")"
grep -A12 "rule idle" "$work/dry" | grep -q "mem_mb=" || fail "Snakemake does not use the profile: $(cat "$work/dry")"
! grep -A6 "rule idle" "$work/dry" | grep -q "threads: 4" || fail "Snakemake keeps the threads: $(cat "$work/dry")"
for format in nextflow sbatch k8s; do
	"$SKEP" tune --lake "$lake" --emit $format planted >"$work/$format" || fail "tune --emit $format: status $?"
	contains "$format has the rule" "$work/$format" idle
done

# a run of one rule, whose earlier execution Snakemake's files no longer name
run --name planted -- snakemake --quiet --cores 4 --forcerun fails_not >"$work/out" 2>&1 || fail "a rule again: $(cat "$work/out")"
"$SKEP" tune --lake "$lake" --json planted >"$work/json" || fail "tune of the second run: status $?"
same "the rule has an execution in each run" "[('fails_not', 1, 2, 2)]" \
	"$(of '[(t["task"], t["executions"], a["executions"], a["runs"]) for t in r["tasks"] for a in [t["ask_for"]["memory_bytes"]] if t["task"] == "fails_not"]')"

# The third run of a user who types nothing else: advice from all of them, and a profile with which nothing is left.
run --name planted -- snakemake --quiet --cores 4 --forceall >"$work/out" 2>&1 || fail "the third run: $(cat "$work/out")"
"$SKEP" tune --lake "$lake" "${judge[@]}" >"$work/text" || fail "tune of the third run: status $?"
contains "the third run has the earlier ones" "$work/text" "with 2 earlier runs"
contains "its advice says on how many it rests" "$work/text" "ask for threads: 1; this rests on 2 executions in 2 runs"
"$SKEP" tune --lake "$lake" --emit snakemake >profile/config.yaml || fail "tune --emit of the third run: status $?"
run --name planted -- snakemake --quiet --profile profile --cores 4 --forceall >"$work/out" 2>&1 ||
	fail "a run with the profile: $(cat profile/config.yaml "$work/out")"
contains "with the profile nothing is left to change" <("$SKEP" tune --lake "$lake" "${judge[@]}") "Nothing to change"

for name in first second third; do
	# shellcheck disable=SC2016 # the inner shell's
	run --pipeline nightly --name $name -- sh -c 'SKEP_TASK=step sleep 0.2' || fail "the $name run of a pipeline"
done
"$SKEP" tune --lake "$lake" --json nightly >"$work/json" || fail "tune of a pipeline: status $?"
same "a pipeline's newest run, with the earlier ones" "('third', 2, 0, 3, 3)" \
	"$(of '(r["run"]["name"], r["history"]["runs"], r["history"]["left_out"], *[r["tasks"][0]["ask_for"]["memory_bytes"][k] for k in ("executions", "runs")])')"
contains "the text has the number of runs" <("$SKEP" tune --lake "$lake" nightly) "with 2 earlier runs of nightly"
contains "so has the file" <("$SKEP" tune --lake "$lake" --emit sbatch nightly) "step: 3 executions in 3 runs"
"$SKEP" tune --lake "$lake" --json second >"$work/json" || fail "tune of an earlier run: status $?"
same "a later run is no history" 1 "$(of 'r["history"]["runs"]')"
if [ -x "${abs_builddir:-}/tests/bench/bench_lake" ]; then
	# 104 runs of 100 processes
	"$abs_builddir/tests/bench/bench_lake" "$work/many" 10400 100 normal 100 >"$work/out" || fail "bench_lake: $(cat "$work/out")"
	"$SKEP" tune --lake "$work/many" --json last >"$work/json" || fail "tune of a run with many earlier ones: status $?"
	same "at most 100 earlier runs" "(100, 3)" "$(of '(r["history"]["runs"], r["history"]["left_out"])')"
fi

# shellcheck disable=SC2016 # the inner shell's
run --name odd -- sh -c 'SKEP_TASK="it'"'"'s \"\$5\": \\n" sleep 0.1'
"$SKEP" tune --lake "$lake" --emit k8s odd >"$work/k8s" || fail "tune --emit k8s: status $?"
same "YAML keeps a name with quotes" "it's \"\$5\": \\n" \
	"$(/usr/bin/python3 -c 'import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))["containers"][0]["name"])' "$work/k8s")"

run --name clean -- sleep 2 || fail "the clean run"
"$SKEP" tune --lake "$lake" --json clean >"$work/json"
same "another name of the same tool is other work" 0 "$(of 'r["history"]["runs"]')"
contains "a clean run has no finding" <("$SKEP" tune --lake "$lake" --set gate.wall=1 clean) "Nothing to change"

for bad in "--set gate.wal=1" "--set gate.wall=x" "--set gate.wall" "--emit toml" "--json --emit k8s" "--list planted" "a b"; do
	# shellcheck disable=SC2086
	"$SKEP" tune --lake "$lake" $bad >"$work/bad" 2>&1
	same "tune $bad: wrong usage" 2 $?
done
contains "a misspelled threshold" <("$SKEP" tune --set gate.wal=1 2>&1) "did you mean 'gate.wall'"
"$SKEP" tune --lake "$lake" none-such >"$work/bad" 2>&1
same "no such run" 1 $?
finish
