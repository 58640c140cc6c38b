#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real skepd and its clients: questions, details, clients without permission, clients that vanish or never read, a
# killed daemon, a second daemon. Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3.
name=control
. "$(dirname "$0")/daemon_lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"
nothing_attached() { "$SKEP" status --json | python3 -c 'import json, sys; sys.exit(len(json.load(sys.stdin)["attached"]))'; }
something_attached() { ! nothing_attached; }

cat >"$dir/conf" <<END
{ "interval": "200ms", "control": { "socket": "$SKEP_SOCKET" },
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "sched" }, { "plugin": "detail" } ],
  "sinks": [ { "plugin": "file", "path": "$dir/records" } ] }
END

# ---- no daemon
run 1 "no daemon" "$SKEP" status
says "no skepd listens at $SKEP_SOCKET" err
says "skepd -c FILE" err
run 1 "no daemon: attach" "$SKEP" attach runqlat
says "no skepd listens" err
echo "ok - without a daemon: skep names the socket it tried, and how to start skepd"

# ---- questions
start
run 0 "status" "$SKEP" status
says "pid $daemon" out
says "process.exit" out
run 0 "status --json" "$SKEP" status --json
json "o['ok'] and o['pid'] == $daemon and o['interval_ns'] == 200000000 and o['processes'] > 5"
json "[i['name'] for i in o['instances']] == ['proc', 'sched', 'detail', 'file']"
json "all(i['state'] == 'running' for i in o['instances'])"
json "all(s['seen'] == s['delivered'] + s['filtered'] + sum(s['lost'].values()) + s['pending'] for s in o['streams'])"
json "o['cost']['rss_bytes'] > 1 << 20 and o['cost']['cpu_ns'] > 0"
run 0 "plugins" "$SKEP" plugins
says "sched" out
run 0 "plugins proc" "$SKEP" plugins proc --json
json "o['name'] == 'proc' and o['required'] and o['busy_ns'] > 0 and o['signals']"
run 1 "plugins nosuch" "$SKEP" plugins nosuch
says "no plugin named 'nosuch'" err
run 0 "loglevel" "$SKEP" loglevel
[ "$(cat "$dir/out")" = notice ] || fail "loglevel is not notice"
run 0 "loglevel info" "$SKEP" loglevel info
run 0 "loglevel" "$SKEP" loglevel
[ "$(cat "$dir/out")" = info ] || fail "loglevel is not info"
run 2 "loglevel loud" "$SKEP" loglevel loud
echo "ok - status, plugins, loglevel"

run 0 "doctor" "$SKEP" doctor
says "process.exit" out
says "These are the signals of the running skepd (pid $daemon)" out
run 0 "doctor --json" "$SKEP" doctor --json
json "[j['state'] for j in o['judged'] if j['fact'] == 'configuration' and j['text'].startswith('$dir/conf, ')] == ['ok']"
json "o['ok'] and o['source'] == 'daemon' and o['daemon_pid'] == $daemon and o['facts']['btf'] and o['facts']['kernel']"
json "{s['name']: s['state'] for p in o['plugins'] if p['name'] == 'proc' for s in p['signals']}['process.exit'] == 'ok'"
json "all(s['state'] == 'ok' or s['why'] or s['how'] for p in o['plugins'] for s in p['signals'])"
echo "ok - doctor: each signal with its method or the reason of its absence"

# ---- details
run 0 "attach --list" "$SKEP" attach --list
says "width" out
run 1 "attach nosuch" "$SKEP" attach nosuch
says "no probe has a detail \"nosuch\"" err
run 1 "attach refuses" "$SKEP" attach refuses
says "not on this machine" err
run 2 "attach for ever and a day" "$SKEP" attach width --for 2d
run 2 "two scopes" "$SKEP" attach width --run a --pid 5
run 0 "attach width" "$SKEP" attach width --for 1s --json
python3 - "$dir/out" <<'END' || fail "attach width: not the records of one second"
import json, sys
lines = [json.loads(l) for l in open(sys.argv[1])]
end, records = lines[-1], lines[:-1]
assert end["end"] == "its time is over" and end["dropped"] == 0, end
assert [r["n"] for r in records] == list(range(1, len(records) + 1)) and len(records) >= 2, records
assert records[-1]["last"] == 1 and all(r["last"] == 0 for r in records[:-1])
assert all(r["stream"] == "detail.width" and r["time"].endswith("Z") and r["id"] == end["id"] for r in records)
END
echo "ok - attach: the records while attached, numbered without a gap"

sh -c 'while :; do sleep 0.01; done' & # the process waits for a CPU each time, even on an idle machine
busy=$!
children=$busy
run 0 "attach runqlat --pid" "$SKEP" attach runqlat --pid "$busy" --for 1s
says "attached runqlat to pid $busy" out
says "p99" out
says "ended: its time is over" out
kill -KILL "$busy"
wait "$busy" 2>/dev/null
children=
echo "ok - attach --pid: a live measurement as text"

"$SKEP" attach width --for 0s >"$dir/out" 2>"$dir/err" </dev/null &
client=$!
name="Ctrl-C"
wait_for grep -q "  n 2" "$dir/out" || fail "no records"
kill -INT $client
wait $client || fail "Ctrl-C: exit $?"
says "ended: detached" out
says "widths  p50 943" out
nothing_attached || fail "still attached after Ctrl-C"
echo "ok - Ctrl-C detaches and shows the records so far"

"$SKEP" attach width --for 0s >"$dir/out" 2>"$dir/err" </dev/null &
client=$!
wait_for something_attached || fail "not attached"
id=$("$SKEP" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["attached"][0]["id"])')
run 0 "detach" "$SKEP" detach "$id"
wait $client || fail "detach: its reader ends with $?"
run 1 "detach again" "$SKEP" detach "$id"
says "no detail is attached with id $id" err
run 2 "detach x" "$SKEP" detach x
echo "ok - detach by another client"

"$SKEP" attach width --for 0s >/dev/null 2>&1 </dev/null &
client=$!
wait_for something_attached || fail "not attached"
kill -KILL $client
wait $client 2>/dev/null
wait_for nothing_attached || fail "a client that was killed is still attached"
echo "ok - a client that vanishes is detached"

# ---- clients that misbehave
rss() { awk '/VmRSS/ { print $2 }' "/proc/$daemon/status"; }
before=$(rss)
python3 - "$SKEP_SOCKET" "$SKEP" <<'END' || fail "a client that never reads keeps others from their answers"
import socket, subprocess, sys, time
clients = []
for i in range(8):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.setblocking(False)
    clients.append(s)
end = time.time() + 1
sent = 0
while time.time() < end:
    for s in clients:
        try:
            sent += s.send(b'{"request":"plugins"}\n' * 100)
        except BlockingIOError:
            time.sleep(0.001)
began = time.time()
subprocess.run([sys.argv[2], "status"], check=True, stdout=subprocess.DEVNULL)
assert time.time() - began < 2, time.time() - began
END
after=$(rss)
# a sanitizer does not return freed memory
[ -n "${SKEP_SANITIZE:-}" ] || [ $((after - before)) -lt 16384 ] || fail "a client that never reads costs $((after - before)) KiB"
echo "ok - clients that never read delay no other: $((after - before)) KiB more"

# ---- permission, with programs in a folder that another user can reach
install -m 0755 "$SKEP" "$dir/skep" || fail "cannot copy skep"
nobody=(setpriv --reuid 65534 --regid 65534)
run 4 "another user" "${nobody[@]}" --clear-groups "$dir/skep" status
says "uid 65534 may not ask \`status\`: only root" err
says "sudo usermod -aG skep NAME" err
run 4 "another user: doctor --socket" "${nobody[@]}" --clear-groups "$dir/skep" doctor --socket "$SKEP_SOCKET"
says "uid 65534 may not ask \`plugins\`: only root" err
says "btf" out
chmod 0666 "$SKEP_SOCKET"
run 4 "another user, by SO_PEERCRED" "${nobody[@]}" --clear-groups "$dir/skep" status
says "uid 65534 may not connect" err
run 4 "another user: attach" "${nobody[@]}" --clear-groups "$dir/skep" attach width
chmod 0660 "$SKEP_SOCKET"
echo "ok - other users are refused, by the socket's mode and by their identity"

# A machine that has a group skep: this one, with another /etc/group. A supplementary group counts.
if unshare -m true 2>/dev/null; then
	{ cat /etc/group; echo "skep:x:4242:"; } | awk -F: '!seen[$1]++' >"$dir/group"
	sed -i 's/^skep:.*/skep:x:4242:/' "$dir/group"
	sed "s,s.sock,g/s.sock,; s,/records,/records2," "$dir/conf" >"$dir/conf2"
	# shellcheck disable=SC2016 # for that shell
	unshare -m sh -c 'mount --bind "$1/group" /etc/group && exec "$2" -c "$1/conf2"' sh "$dir" "$SKEPD" 2>>"$dir/log" </dev/null &
	busy=$!
	children=$busy
	wait_for "$SKEP" status --socket "$dir/g/s.sock" || fail "skepd with a group skep does not come up"
	[ "$(stat -c '%a %g' "$dir/g" "$dir/g/s.sock" | tr '\n' ' ')" = "755 4242 660 4242 " ] ||
		fail "not for group skep: $(stat -c '%n %a %g' "$dir/g" "$dir/g/s.sock")"
	run 0 "a member of group skep" "${nobody[@]}" --groups 4242 "$dir/skep" status --socket "$dir/g/s.sock"
	run 4 "a member of another group" "${nobody[@]}" --groups 4243 "$dir/skep" status --socket "$dir/g/s.sock"
	chmod 0777 "$dir/g" "$dir/g/s.sock"
	run 0 "a member of group skep, by SO_PEERGROUPS" "${nobody[@]}" --groups 4243,4242 "$dir/skep" status --socket "$dir/g/s.sock"
	run 4 "a member of another group, likewise" "${nobody[@]}" --groups 4243 "$dir/skep" status --socket "$dir/g/s.sock"
	says "uid 65534 may not connect" err
	kill -TERM "$busy"
	wait "$busy" || fail "skepd with a group skep: exit $?"
	children=
	echo "ok - members of group skep may send requests"
else
	echo "skipped - members of group skep: no mount namespaces here"
fi

# ---- two daemons, dead daemons
run 1 "a second skepd" "$SKEPD" -c "$dir/conf"
says "another skepd listens at $SKEP_SOCKET" err
run 0 "the first skepd continues" "$SKEP" status
kill -KILL "$daemon"
wait "$daemon" 2>/dev/null
[ -S "$SKEP_SOCKET" ] || fail "kill -9 removed the socket"
run 1 "a dead daemon" "$SKEP" status
says "its socket is left, but no process listens" err
start
run 0 "after the restart" "$SKEP" status --json
json "o['pid'] == $daemon"
echo "ok - skepd replaces a dead daemon's socket, never a live one's"

"$SKEP" attach width --for 0s --json >"$dir/out" 2>"$dir/err" </dev/null &
client=$!
wait_for something_attached || fail "not attached"
kill -TERM "$daemon"
wait "$daemon" || fail "skepd: exit $? after TERM"
daemon=
name="the end of skepd"
wait $client || fail "$name: its reader ends with $?"
says '"end":' out
[ ! -e "$SKEP_SOCKET" ] || fail "the socket's file is still there"
echo "ok - at its end skepd ends its readers and removes its socket"

# ---- without a daemon again
run 0 "doctor without a daemon" "$SKEP" doctor --config "$dir/conf" --json
json "o['ok'] and o['source'] == 'local' and [p['name'] for p in o['plugins']] == ['proc', 'sched', 'detail']"
json "all(p['state'] == 'running' for p in o['plugins'])"
run 0 "doctor --config --socket" "$SKEP" doctor --config "$dir/conf" --socket "$SKEP_SOCKET" --json
json "o['ok'] and o['source'] == 'local' and any('$SKEP_SOCKET' in j['text'] for j in o['judged'])"
[ ! -e "$dir/records.doctor" ] || fail "doctor has opened a sink"
run 4 "doctor without privilege" "${nobody[@]}" --clear-groups "$dir/skep" doctor
says "skep doctor: not permitted to collect" err
says "btf" out
run 4 "doctor without privilege --json" "${nobody[@]}" --clear-groups "$dir/skep" doctor --json
json "not o['ok'] and o['plugins'] == [] and o['facts']['kernel']"
run 0 "tryload --json" "$SKEPD" --tryload --json -c "$dir/conf"
json "o['ok'] and any(s['name'] == 'process.exit' and s['state'] == 'ok' for p in o['plugins'] for s in p['signals'])"
echo "ok - doctor and --tryload without a daemon"
