#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sweep.sh - skep sweep over the lake of a live skepd: a daemon that outlives its task, and a run that waits
# for nothing; a run that works and an agent of keys are not found. --watch says when the wait has ended.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3.
name=sweep
. "$(dirname "$0")/daemon_lib.sh"
lake=$dir/lake
mkdir "$dir/bin" && cp "$(command -v sleep)" "$dir/bin/lives-on" && cp "$(command -v sleep)" "$dir/bin/ssh-agent" || exit 1
cp "$(command -v sleep)" "$dir/bin/waits" && cp "$(command -v yes)" "$dir/bin/works" || exit 1
cat >"$dir/conf" <<END
{ "interval": "200ms", "control": { "socket": "$SKEP_SOCKET" }, "spool": { "path": "$dir/spool.db" },
  "probes": [ { "plugin": "host" }, { "plugin": "proc", "required": true } ],
  "sinks": [ { "plugin": "lake", "min_free": "0", "path": "$lake" } ] }
END
start
sweep() { "$SKEP" sweep --lake "$lake" --set leftover-process.alive=3 --set stuck.idle=3 "$@"; }

# its programs end with the test, also when another process has adopted them
ours() { ps -eo pid=,args= | awk -v dir="$dir/bin/" 'index($2, dir) == 1 { print $1 }'; }
trap 'children="$children $(ours)"; cleanup' EXIT
"$SKEP" run --lake "$lake" --no-live --no-report --name leaver sh -c "setsid '$dir/bin/lives-on' 997 >/dev/null 2>&1 & '$dir/bin/ssh-agent' 996 >/dev/null 2>&1 &
	ls /" </dev/null >/dev/null 2>&1 || fail "the task that leaves a daemon"
"$SKEP" run --lake "$lake" --no-live --no-report --name waiter "$dir/bin/waits" 995 </dev/null >/dev/null 2>&1 &
waiter=$!
"$SKEP" run --lake "$lake" --no-live --no-report --name worker "$dir/bin/works" </dev/null >/dev/null 2>&1 &
worker=$!
children="$waiter $worker"

# both KIND SUBJECT: the one finding of that kind
found() {
	sweep --json >"$dir/out" 2>"$dir/err" && python3 - "$dir/out" "$@" <<'END'
import json, sys
o = json.load(open(sys.argv[1]))
got = sorted((f["kind"], f["subject"]) for f in o["findings"] if f["open"])
sys.exit(got != sorted(tuple(a.split("/")) for a in sys.argv[2:]))
END
}
what="the daemon that its task left, the run that waits, and nothing else"
wait_for found leftover-process/lives-on stuck/waiter || fail "$what"
json 'all(f["host"] and f["run"] and f["to"] > f["from"] for f in o["findings"])'
json 'all(f["wasted"]["byte_s"] > 0 and f["worth"] > 0 for f in o["findings"])'
json '[f["last_tool"] for f in o["findings"] if f["kind"] == "leftover-process"] != ["lives-on"]'
json 'o["hosts"] == 1 and o["partial"]["hosts_without_hours"] == 0'
sweep >"$dir/out" 2>"$dir/err" || fail "the text: status $?"
says "1 process of run" out
says "give such a wait a limit" out

what="the hour of this host is in the lake"
python3 - "$lake" <<'END' || fail "$what"
import glob, os, sqlite3, sys
row = [r for f in glob.glob(sys.argv[1] + "/*.db") for r in sqlite3.connect(f).execute(
    "SELECT sum(capacity_ns), sum(idle_ns), sum(busy_ns), sum(runs_ns), sum(known_ns), max(memory_limit_bytes) FROM usage_hour WHERE item = 0")]
capacity, idle, busy, runs, known, memory = (sum(v or 0 for v in c) for c in zip(*row))
cpus = capacity / known
assert abs(cpus - len(os.sched_getaffinity(0))) < 0.5 or cpus >= 1, row
assert 0 <= idle <= capacity and 0 < busy <= capacity * 1.05 and 0 < runs <= busy * 1.05, row
assert memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), (memory, row)
END

what="skep hosts has the same hour"
"$SKEP" hosts --lake "$lake" --json >"$dir/out" 2>"$dir/err" || fail "$what: status $?"
json 'len(o["hosts"]) == 1 and o["hosts"][0]["live_runs"] >= 1 and [i["item"] for i in o["hosts"][0]["items"]] == [""]'
json '0 < sum(o["hosts"][0]["items"][0]["hours"]["runs_s"]) <= 1.05 * sum(o["hosts"][0]["items"][0]["hours"]["busy_s"])'
"$SKEP" hosts --lake "$lake" --host "$(uname -n)" --width 120 >"$dir/out" 2>"$dir/err" || fail "the hosts as text: status $?"
says "by 7 hours" out
says "$(uname -n)" out

what="--watch reports closed findings"
"$SKEP" sweep --lake "$lake" --set leftover-process.alive=3 --set stuck.idle=3 --watch 200ms >"$dir/watched" 2>"$dir/err" &
watcher=$!
children="$children $watcher"
wait_for grep -q "worth" "$dir/watched" || fail "$what: no first answer"
kill "$(ps -eo pid=,args= | awk -v a="$dir/bin/waits" '$2 == a { print $1 }')"
wait_for grep -q "gone: .*waiter" "$dir/watched" || fail "$what: $(cat "$dir/watched")"

what="wrong use"
run 2 "$what" "$SKEP" sweep --lake "$lake" --set stuck.idel=3
says "did you mean 'stuck.idle'" err
run 2 "$what" "$SKEP" sweep --lake "$lake" --watch never
run 2 "$what" "$SKEP" sweep --lake "$lake" --since tomorrow
run 1 "$what" "$SKEP" sweep --lake "$lake" --host none-such
says "no record of a host 'none-such'" err
run 1 "$what" "$SKEP" sweep --lake "$dir/nowhere"
run 1 "$what" "$SKEP" hosts --lake "$lake" --host none-such
says "no record of a host 'none-such'" err
run 1 "$what" "$SKEP" hosts --lake "$lake" --since 400d --until 399d
says "no record of a host in that time" err
run 2 "$what" "$SKEP" hosts --lake "$lake" --since 2d --until 3d
says "no time is between them" err
run 2 "$what" "$SKEP" hosts --lake "$lake" --since tomorrow
echo "ok - skep sweep finds what runs left behind"
