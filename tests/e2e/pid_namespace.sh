#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# skepd in a pid namespace of its own: skepd warns at start, skep doctor reports it, and skepd does not report a process
# of the host as ended because its own /proc lacks it.
name=pid_namespace
. "$(dirname "$0")/daemon_lib.sh"

[ "$(readlink /proc/self/ns/pid)" = "pid:[4026531836]" ] || skip "not in the initial pid namespace"
unshare --pid --fork --mount-proc true 2>/dev/null || skip "no pid namespaces here"
cat >"$dir/conf" <<CONF
{ "interval": "200ms", "probes": [ { "plugin": "proc" } ], "control": { "socket": "$SKEP_SOCKET" },
  "sinks": [ { "plugin": "file", "path": "$dir/records" } ] }
CONF
# The kernel ends a pid namespace with its first process, and no signal from inside ends this process: signal unshare.
unshare --pid --fork --kill-child --mount-proc "$SKEPD" -c "$dir/conf" 2>>"$dir/log" </dev/null &
daemon=$!
wait_for "$SKEP" status || fail "skepd does not come up"
grep -q "runs in a pid namespace of its own.*--pid=host" "$dir/log" || fail "no warning at start"

run 0 "status" "$SKEP" status
says "pids       skepd runs in a pid namespace of its own" out
"$SKEP" doctor --json >"$dir/out" 2>"$dir/err"
name="doctor of a daemon in its own pid namespace"
json '[j["state"] for j in o["judged"] if j["fact"] == "pid_namespace"] == ["missing"] and o["ok"] is False'

# A process that begins and ends outside while skepd runs: its end is reported once, with its status.
sh -c 'sleep 2; exit 7' &
outside=$!
wait $outside
name="a process outside"
cat >"$dir/once.py" <<'PY'
import json, sys
ends = [r for r in map(json.loads, (line for line in open(sys.argv[1]) if line.endswith("\n"))) if r["stream"] == "process.exit" and r["pid"] == int(sys.argv[2]) and r["last"]]
sys.exit([r.get("exit_code") for r in ends] != [7])
PY
wait_for python3 "$dir/once.py" "$dir/records" "$outside" || fail "its end is not reported once, with status 7"
echo "ok - pid namespace"
