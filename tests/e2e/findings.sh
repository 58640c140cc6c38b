#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/findings.sh - a real skepd reports, by itself, a task that sleeps, a daemon that outlives its task, and a
# kill for memory: each once to every sink, once more when it is over, and nothing again after a restart or a kill of
# skepd.  A task that works, and a process that waits for it, are no findings.
name=findings
. "$(dirname "$0")/daemon_lib.sh"
out=$dir/out.json lake=$dir/lake group=
undo() {
	cleanup
	[ -z "$group" ] || wait_for rmdir "$group"
}
trap undo EXIT
cat >"$dir/conf" <<END
{ "interval": "300ms", "control": { "socket": "$SKEP_SOCKET" }, "spool": { "path": "$dir/spool.db" },
  "findings": { "stall": "4s", "leftover_process": "4s", "orphan_container": "4s", "gpu_held_idle": "0s" },
  "probes": [ { "plugin": "proc", "required": true, "environ": [ "SKEP_TASK" ] } ],
  "sinks": [ { "plugin": "file", "path": "$out" }, { "plugin": "lake", "min_free": "0", "path": "$lake" } ] }
END
cat >"$dir/look.py" <<'END'
"""look.py FILE LAKE EXPRESSION: whether it holds for f, the findings of the file, and l, those of the lake."""
import datetime, glob, json, sqlite3, sys
f, l = [], []
tasks = ("align", "serve", "hungry", "works")  # other tests run beside this one: tasks of make that wait for a lock are stalls
for line in open(sys.argv[1], errors="replace"):
    if line.endswith("\n") and '"stream":"finding"' in line:
        f.append(json.loads(line))
for db in glob.glob(sys.argv[2] + "/*.db"):
    rows = sqlite3.connect("file:%s?mode=ro" % db, uri=True).execute(
        "SELECT fields FROM record JOIN dict ON dict.id = record.stream WHERE dict.s = 'finding' ORDER BY time_ns, record.id")
    l += [json.loads(r[0]) for r in rows]
f, l = ([r for r in records if r["task"] in tasks] for records in (f, l))
def of(kind, state, task=None):
    return [r for r in f if r["kind"] == kind and r["state"] == state and task in (None, r["task"])]
def at(r):  # another skepd measures the clock's offset anew: microseconds
    return datetime.datetime.fromisoformat(r["started_ns"][:26]).timestamp()
sys.exit(0 if eval("(" + sys.argv[3] + ")") else "%s\nfile: %s\nlake: %s" % (sys.argv[3], f, l))
END
own='[x for x in o["findings"]["open"] if x["task"] in ("align", "serve", "hungry", "works")]'
look() { python3 "$dir/look.py" "$out" "$lake" "$1"; }
# seen WHAT EXPRESSION: waits until it holds
seen() { wait_for look "$2" || { look "$2" >"$dir/out" 2>&1; fail "$1"; }; echo "ok - $1"; }
# start_of PATTERN: waits for the pid that a command under test has written
pid_in() { wait_for test -s "$dir/$1" || fail "$1 does not start"; cat "$dir/$1"; }

start
# The sleeper's shell waits for its child; "works" reads files and sleeps, which is work.
"$SKEP" run --lake "$lake" --no-live --no-report --name sleeps -- env SKEP_TASK=align sh -c 'sh -c "echo \$\$ >'"$dir"'/sleeper; exec sleep 3600"; true' \
	>/dev/null 2>&1 </dev/null &
children="$children $!"
"$SKEP" run --lake "$lake" --no-live --no-report --name works -- env SKEP_TASK=works python3 -c '
import os, time
while os.path.exists("'"$dir"'"):
    open("/proc/self/maps").read()
    open("/dev/zero", "rb").read(100000)
    time.sleep(0.02)' >/dev/null 2>&1 </dev/null &
worker=$!
children="$children $worker"
"$SKEP" run --lake "$lake" --no-live --no-report --name leaves -- env SKEP_TASK=serve sh -c 'setsid sh -c "echo \$\$ >'"$dir"'/left; exec sleep 3601" & exit 0' \
	>/dev/null 2>&1 </dev/null || fail "the task that leaves a daemon"
children="$children $(pid_in left) $(pid_in sleeper)"

seen "a stalled task, once" 'len(of("stall", "open", "align")) == 1'
seen "a process left over, once" 'len(of("leftover-process", "open")) == 1'
look 'of("stall", "open")[0]["pid"] == '"$(pid_in sleeper)"' and of("stall", "open")[0]["tool"] == "sleep" and
	of("stall", "open")[0]["value"] >= 4 and of("stall", "open")[0]["unit"] == "s" and
	of("leftover-process", "open")[0]["pid"] == '"$(pid_in left)"' and of("leftover-process", "open")[0]["task"] == "serve" and
	all(r["evidence"] and r["advice"] and r["run"] and r["host"] and len(r["id"]) == 16 for r in f)' ||
	fail "their fields"
run 0 "status" "$SKEP" status
says "open findings" out
says "leftover-process" out
run 0 "status as JSON" "$SKEP" status --json
json "sorted(x['kind'] for x in $own) == ['leftover-process', 'stall']"
echo "ok - skep status lists both"

# ---- a restart, and a kill: neither repeats nor forgets
# looked: waits until skepd has looked several times: it emits ledger records at each sample
samples() { grep -c '"stream":"tool.sample"' "$out"; }
looked() {
	before=$(samples)
	wait_for eval '[ "$(samples)" -gt $((before + 60)) ]' || fail "skepd takes no samples"
	run 0 "status after a restart" "$SKEP" status --json
	json "sorted(x['kind'] for x in $own) == ['leftover-process', 'stall']"
}
kill "$daemon"
wait "$daemon" || fail "skepd does not end"
start
looked
look 'len(f) == 2 and len(l) == 2' || fail "a restart repeats findings"
echo "ok - a restart repeats none"
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
start
looked
# What skepd had sent before it was killed may come again, with the same ids; the lake knows its batches.
look 'len({(r["id"], r["state"]) for r in f}) == 2 and len(l) == 2' || fail "a kill of skepd repeats findings"
echo "ok - a kill of skepd repeats none"

# ---- a kill for memory
limit=$((48 << 20))
if [ -d /sys/fs/cgroup/memory ]; then
	group=/sys/fs/cgroup/memory/skep-findings-$$
	mkdir "$group" && echo "$limit" >"$group/memory.limit_in_bytes" || group=
	[ -z "$group" ] || echo "$limit" 2>/dev/null >"$group/memory.memsw.limit_in_bytes" || :
elif grep -qsw memory /sys/fs/cgroup/cgroup.controllers; then
	echo +memory >/sys/fs/cgroup/cgroup.subtree_control 2>/dev/null
	group=/sys/fs/cgroup/skep-findings-$$
	mkdir "$group" && echo "$limit" >"$group/memory.max" || group=
	[ -z "$group" ] || echo 0 2>/dev/null >"$group/memory.swap.max" || :
fi
if [ -n "$group" ]; then
	"$SKEP" run --lake "$lake" --no-live --no-report -- env SKEP_TASK=hungry sh -c "echo \$\$ >$group/cgroup.procs; exec python3 -c 'x = bytearray(400 << 20)'" \
		>/dev/null 2>&1 </dev/null
	seen "a kill for memory, once, and over with its victim" \
		'len(of("oom-kill", "open", "hungry")) == 1 and len(of("oom-kill", "closed", "hungry")) == 1'
	look 'of("oom-kill", "open")[0]["threshold"] == '"$limit"' and of("oom-kill", "open")[0]["unit"] == "By" and
		of("oom-kill", "open")[0]["severity"] == "error" and "skep-findings-" in of("oom-kill", "open")[0]["cgroup"] and
		of("oom-kill", "open")[0]["tool"].startswith("python") and
		of("oom-kill", "open")[0]["id"] == of("oom-kill", "closed")[0]["id"]' || fail "the fields of the kill"
else
	echo "ok - # no cgroup with a memory limit here: kills for memory are left out"
fi

# ---- over
kill "$(pid_in sleeper)" "$(pid_in left)"
seen "both are over" 'len(of("stall", "closed")) == 1 and len(of("leftover-process", "closed")) == 1'
look 'all(len([c for c in of(k, "closed") if c["id"] == of(k, "open")[0]["id"] and c["window_ns"] > 4e9 and
	abs(at(c) - at(of(k, "open")[0])) < 1]) == 1 for k in ("stall", "leftover-process"))' ||
	fail "they close with other ids, or without their time"
run 0 "status at the end" "$SKEP" status --json
json "$own == [] and o['findings']['dropped'] == 0"
look 'not of("stall", "open", "works")' || fail "a task that reads files is called a stall"
seen "the lake has each once" 'sorted((r["kind"], r["state"]) for r in l) == sorted({(r["kind"], r["state"]) for r in f}) and
	len({r["id"] for r in l}) * 2 == len(l)'
grep -q '"stream":"findings".*"kind":"stall","open":[1-9]' "$out" || fail "the stream of open findings"
[ -z "$group" ] || grep -q '"stream":"findings".*"kind":"oom-kill","open":0' "$out" || fail "the stream of open findings: none is over"
kill "$daemon"
wait "$daemon" || fail "skepd does not end well"
daemon=
echo "ok - findings"
