#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Processes that hold the lock of their memory for ever (tests/hostile/stuck_mmap.c), before skepd starts and after.
# skepd starts as fast as without them, answers, records all other processes with arguments, and marks the stuck ones. A
# reader that is killed is replaced. At the end, sinks on a file system whose server is gone. Usage: stuck.sh; N=50
# processes of uid 65534, one of root.
name=stuck
. "${0%/*}/../e2e/daemon_lib.sh"
: "${STUCK_MMAP:=${SKEP%/*}/tests/hostile/stuck_mmap}"
[ -x "$STUCK_MMAP" ] || STUCK_MMAP=./tests/hostile/stuck_mmap
[ -x "$STUCK_MMAP" ] || fail "no stuck_mmap: $STUCK_MMAP"
n=${N:-50}
servers=

# stuck NUMBER UID: writes their pids to $dir/pids.UID; they end with their server, whose pid is in $servers.
stuck() {
	mkdir -p "$dir/mnt"
	"$STUCK_MMAP" "$1" "$2" "$dir/mnt" >"$dir/pids.$2" 2>"$dir/err" </dev/null &
	server=$!
	servers="$servers $server"
	children="$children $server"
	wait_for test -s "$dir/pids.$2" || fail "no process got stuck"
	if grep -q '^skipped' "$dir/pids.$2"; then
		wait "$server"
		skip "$(sed 's/^skipped: //' "$dir/pids.$2")"
	fi
}
# A stuck process would hold an answer up for as long as it exists, or for the 10 s after which skepd gives it up.
answers_fast() {
	name="an answer $1"
	timeout 8 "$SKEP" status --json >"$dir/out" 2>"$dir/err" || fail "$name"
}
# Keeper and worker, by /proc: pgrep -f and ps hang beside stuck processes.
child_of() { # PID NAME
	for child in $(cat "/proc/$1/task/$1/children"); do
		[ "$(cat "/proc/$child/comm")" != "$2" ] || echo "$child"
	done
}
keeper() { child_of "$daemon" 'skepd: keeper'; }
reader() { child_of "$(keeper)" 'skepd: reader'; }
new_reader() { now=$(reader); [ -n "$now" ] && [ "$now" != "$old" ]; }

gpu=
[ ! -e "${SKEP_PLUGIN_DIRS%%:*}/gpu.so" ] || gpu=', { "plugin": "gpu" }'
cat >"$dir/conf" <<EOT
{ "interval": "1s", "probes": [ { "plugin": "proc", "required": true, "environ": [ "SKEP_TASK" ] }$gpu ],
  "sinks": [ { "plugin": "file", "path": "$dir/records" } ], "control": { "socket": "$dir/s.sock" } }
EOT
sleep 1000.25 & # lives before skepd, and is not stuck
children="$children $!"
plain=$!
setpriv --reuid=65534 --regid=65534 --clear-groups sleep 1001.25 & # of the same user as the stuck ones
children="$children $!"
stuck "$n" 65534
stuck 1 0
read -r -a bad < <(cat "$dir"/pids.65534)
read -r -a root < <(cat "$dir"/pids.0)

before=$(date +%s%N)
start
took=$((($(date +%s%N) - before) / 1000000))
echo "# answers $took ms after it was started, beside $((n + 1)) stuck processes"
answers_fast "beside stuck processes"

name="the snapshot"
given_up() {
	timeout 60 "$SKEP" status --json >"$dir/out" && [ "$(sed -n 's/.*"unread": \([0-9]*\).*/\1/p' "$dir/out")" -gt "$n" ]
}
wait_for given_up || fail "$name: not all of the stuck ones were given up"
run 0 "status" "$SKEP" status --json
json "o['self']['readers_replaced'] >= 2 and o['self']['readers_replaced'] <= 8"
run 0 "status" "$SKEP" status
says "without arguments, which could not be read" out

name="a reader that is killed"
old=$(reader)
[ -n "$old" ] || fail "$name: no reader"
kill -KILL "$old"
wait_for new_reader || fail "$name: not replaced"
answers_fast "after that"

name="a keeper that is killed"
old=$(reader)
kill -KILL "$(keeper)"
wait_for new_reader || fail "$name: the spare does not take over"
answers_fast "after that"

name="privileges of the file keeper and the file reader"
files=$(child_of "$daemon" 'skepd: file kee')
for pid in $files $(child_of "$files" 'skepd: file rea'); do
	caps=$((16#$(sed -n 's/^CapPrm:\s*//p' "/proc/$pid/status")))
	[ $((caps & ~((1 << 6) | (1 << 7)))) -eq 0 ] || fail "$name: $pid has $caps"
	grep -q '^NoNewPrivs:\s*1' "/proc/$pid/status" || fail "$name: $pid could get new ones"
done

name="privileges of keeper and reader"
for pid in $(keeper) $(reader); do
	caps=$((16#$(sed -n 's/^CapPrm:\s*//p' "/proc/$pid/status")))
	[ $((caps & ~((1 << 19) | (1 << 2)))) -eq 0 ] || fail "$name: $pid has $caps"
	grep -q '^NoNewPrivs:\s*1' "/proc/$pid/status" || fail "$name: $pid could get new ones"
	open=$(find "/proc/$pid/fd" -lname 'socket:*' | wc -l)
	[ "$open" -le 2 ] || fail "$name: $pid has $open sockets"
	[ "$(find "/proc/$pid/fd" -mindepth 1 | wc -l)" -le 7 ] || fail "$name: $pid has $(ls -l "/proc/$pid/fd")"
done

if [ -n "$gpu" ]; then # its /proc/PID/maps waits for the same lock on 6.18: a thread gives it up
	name="a detail on a stuck process"
	"$SKEP" attach cuda --pid "${bad[0]}" >"$dir/attach" 2>&1 </dev/null &
	attach=$!
	children="$children $attach"
	looks() { "$SKEP" status --json | grep -q '"detail"'; }
	wait_for looks || fail "$name: it does not begin"
	answers_fast "while a detail looks at one"
	wait_for grep -qE "did not answer for 10 s|has not loaded libcuda" "$dir/attach" || fail "$name: it does not end: $(cat "$dir/attach")"
	wait "$attach"
	answers_fast "after that"
fi

name="the end"
/bin/true after-all
kill "$plain"
for server in $servers; do kill "$server"; done
recorded "$dir/records" || fail "$name: no records"
keeper=$(keeper)
before=$(date +%s%N)
kill -TERM "$daemon"
wait "$daemon" || fail "$name: exit code $?"
daemon=
took=$((($(date +%s%N) - before) / 1000000))
[ "$took" -lt 60000 ] || fail "$name: $took ms"
! kill -0 "$keeper" 2>/dev/null || fail "$name: the keeper is still there"
# The stuck processes end with their server; skepd records them as ended while it ran, or as alive at its end.
name="the records"
python3 - "$dir/records" "$plain" "${root[0]}" "${bad[@]}" >"$dir/out" 2>"$dir/err" <<'EOT' || fail "$name"
import json, sys
of, argvs = {}, []
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r["stream"] == "process.exit":
        of.setdefault(r["pid"], r)
        argvs.append(r["argv"])
plain = of[int(sys.argv[2])]
assert plain["argv"] == ["sleep", "1000.25"], plain
for pid in sys.argv[3:]:
    r = of[int(pid)]
    assert r["argv"] == [] and r["approx"] & 128 and r["exe"].endswith("/stuck_mmap"), r
assert ["/bin/true", "after-all"] in argvs
EOT
echo "ok - $((n + 1)) stuck processes"

# Sinks on a file system whose server is gone: the start, another sink and the end do not wait for these sinks.
name="sinks on a dead file system"
[ -e "${SKEP_PLUGIN_DIRS%%:*}/lake.so" ] || exit 0 # built without it
mkdir -p "$dir/dead"
"$STUCK_MMAP" 0 0 "$dir/dead" >"$dir/server" 2>"$dir/err" </dev/null &
server=$!
children="$children $server"
wait_for test -s "$dir/server" || fail "$name: no mount"
cat >"$dir/conf" <<EOT
{ "interval": "1s", "drain": "1s", "probes": [ { "plugin": "proc", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$dir/living" }, { "plugin": "lake", "min_free": "0", "path": "$dir/dead/lake", "required": true },
             { "plugin": "file", "name": "dead", "path": "$dir/dead/records" } ], "control": { "socket": "$dir/s.sock" } }
EOT
before=$(date +%s%N)
nsenter --mount="/proc/$server/ns/mnt" -- "$SKEPD" -c "$dir/conf" 2>>"$dir/log" </dev/null & # where the mount is
daemon=$!
wait_for "$SKEP" status || fail "$name: skepd does not come up"
echo "# answers $((($(date +%s%N) - before) / 1000000)) ms after it was started, with two sinks on a dead file system"
wait_for grep -qF "$dir/dead/records does not answer" "$dir/log" || fail "$name: not in the log"
says "$dir/dead/lake does not answer" log
answers_fast "$name"
sh -c ': beside-dead-sinks'
wait_for grep -q beside-dead-sinks "$dir/living" || fail "$name: the other sink got no record"
both_held() {
	timeout 60 "$SKEP" status --json >"$dir/out" && python3 -c 'import json, sys
held = [i["name"] for i in json.load(open(sys.argv[1]))["instances"] if i["delivery"] and i["delivery"]["held"]]
assert sorted(held) == ["dead", "lake"], held' "$dir/out"
}
wait_for both_held || fail "$name: not held"
before=$(date +%s%N)
kill -TERM "$daemon"
wait "$daemon" || fail "$name: exit code $?"
daemon=
took=$((($(date +%s%N) - before) / 1000000))
echo "# ended after $took ms"
[ "$took" -lt 120000 ] || fail "$name: the end took $took ms"
says "lake: abandoned" log
echo "ok - $name"
