#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_failures.sh - skep run reports a failing, a killed, an interrupted command, and one killed for memory,
# correctly: status, text and JSON.
. "$(dirname "$0")/run_lib.sh"

# report ARGUMENT...: runs skep run; text in $work/err, JSON in $work/r.json, status in $status
report() {
	rm -f "$work/r.json"
	"$SKEP" run --lake "$lake" --json "$work/r.json" "$@" 2>"$work/err"
	status=$?
}
of_run='"%s %s" % (run["exit_code"], run["signal"])'

report bash -c 'sh -c "exit 3" step-two; exit 4'
same "failing: status" 4 "$status"
same "failing: run" "4 None" "$(json "$work/r.json" "$of_run")"
same "failing: the step inside" "[3]" "$(json "$work/r.json" '[p["exit_code"] for p in last if p["argv"][-1:] == ["step-two"]]')"
contains "failing: in words" "$work/err" "exit 3"
contains "failing: in words, the run" "$work/err" "exit 4"

report bash -c 'sh -c "kill -SEGV \$\$" crashing; exit 0'
same "a step crashes and is ignored: status" 0 "$status"
same "a step crashes: the step" "[(None, 11, False)]" \
	"$(json "$work/r.json" '[(p["exit_code"], p["signal"], p["oom_killed"]) for p in last if p["argv"][-1:] == ["crashing"]]')"
contains "a step crashes: in words" "$work/err" "SIGSEGV"

report bash -c 'kill -KILL $$'
same "killed: status" 137 "$status"
same "killed: run" "None 9" "$(json "$work/r.json" "$of_run")"
same "killed: not out of memory" "[False]" "$(json "$work/r.json" '[p["oom_killed"] for p in last]')"
contains "killed: in words" "$work/err" "SIGKILL"
if grep -qi "memory in cgroup" "$work/err"; then fail "killed: the report names memory as the cause"; else ok "killed: the report does not name memory as the cause"; fi

# interrupted: run_signals.sh tests Ctrl-C on a terminal; here a kill reaches skep alone
"$SKEP" run --lake "$lake" --json "$work/r.json" sleep 600 2>"$work/err" &
skep=$!
wait_for pgrep -P "$skep" -x sleep
kill -TERM "$skep"
wait "$skep"
same "terminated: status" 143 "$?"
same "terminated: run" "None 15" "$(json "$work/r.json" "$of_run")"
contains "terminated: in words" "$work/err" "SIGTERM"

# ---- out of memory in a cgroup, v1 or v2
fixture hog
group=
limit=$((48 << 20))
leave() { [ -z "$group" ] || wait_for rmdir "$group"; rm -rf "$work"; }
trap leave EXIT
if [ -d /sys/fs/cgroup/memory ]; then
	group=/sys/fs/cgroup/memory/skep-e2e-$$
	mkdir "$group" && echo "$limit" >"$group/memory.limit_in_bytes" || group=
	[ -z "$group" ] || echo "$limit" 2>/dev/null >"$group/memory.memsw.limit_in_bytes" || :
elif [ -e /sys/fs/cgroup/cgroup.controllers ] && grep -qw memory /sys/fs/cgroup/cgroup.controllers; then
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
	group=/sys/fs/cgroup/skep-e2e-$$
	mkdir "$group" && echo "$limit" >"$group/memory.max" || group=
	[ -z "$group" ] || echo 0 2>/dev/null >"$group/memory.swap.max" || :
fi
if [ -z "$group" ]; then
	echo "skip: no memory cgroup can be made here"
	finish
fi
report bash -c "'$work/hog' '$group' 200; exit 5"
same "out of memory: status" 5 "$status"
same "out of memory: the victim and no other process" "[('hog', None, 9)]" \
	"$(json "$work/r.json" '[(p["comm"], p["exit_code"], p["signal"]) for p in last if p["oom_killed"]]')"
oom='next((p["oom"] or {}) for p in last if p["comm"] == "hog")'
same "out of memory: the limit" "$limit" "$(json "$work/r.json" "$oom.get('limit_bytes')")"
same "out of memory: the cgroup" True "$(json "$work/r.json" "str($oom.get('cgroup')).endswith('/${group##*/}')")"
same "out of memory: usage and peak are about the limit" "True True" "$(json "$work/r.json" \
	'" ".join(str(0.9 * '$limit' <= ('"$oom"'.get(k) or 0) <= '$limit') for k in ("usage_bytes", "peak_bytes"))')"
contains "out of memory: in words" "$work/err" "out of memory"
contains "out of memory: in words, the cgroup" "$work/err" "${group##*/}"
contains "out of memory: in words, the limit" "$work/err" "48.0 MiB"
report "$work/hog" "$group" 200
same "the command itself out of memory: status" 137 "$status"
same "the command itself out of memory: run" "None 9" "$(json "$work/r.json" "$of_run")"
contains "the command itself out of memory: in words" "$work/err" "out of memory"
report "$work/hog" "$group" 10
same "under the limit: status" 0 "$status"
same "under the limit: no process was killed" 0 "$(json "$work/r.json" 'sum(p["oom_killed"] for p in last)')"
finish
