#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A real skepd changes its configuration while processes start all the time, by SIGHUP and by `skep reload`, with valid
# and invalid files. skepd records every process of the storm exactly once, the ledger balances, and each client learns
# the result of its reload. Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, $EXACT_BIN, python3.
# RATE: processes a second (300), RELOADS (28, of a build with sanitizers 14).
name=reload
. "$(dirname "$0")/daemon_lib.sh"
: "${EXACT_BIN:?folder of storm and tiny}"
# conf INTERVAL PROBES SINKS: writes the whole file. SINKS begins with further options of the first sink; ring: further
# options of proc.
conf() {
	cat >"$dir/conf.new" <<END
{ "interval": "$1", "control": { "socket": "$SKEP_SOCKET" },${filters:-}
  "probes": [ { "plugin": "proc", "required": true${ring:-} }, { "plugin": "sched" }$2 ],
  "sinks": [ { "plugin": "file", "path": "$dir/${file:-records}"$3 ] }
END
	mv "$dir/conf.new" "$dir/conf"
}
host=', { "plugin": "host" }'
per_cpu=', { "plugin": "host", "per_cpu": true }'
lake=" }, { \"plugin\": \"lake\", \"min_free\": \"0\", \"path\": \"$dir/lake\" }"
reloads() { "$SKEP" status --json | python3 -c 'import json, sys; r = json.load(sys.stdin)["reload"]; print(r["ok"] + r["failed"], int(r["busy"]))'; }
is_over() { [ "$(reloads)" = "$1 0" ]; }
# hup: sends SIGHUP and waits for the end of the reload
hup() {
	before=$(reloads)
	kill -HUP "$daemon"
	wait_for is_over $((${before% *} + 1)) || fail "SIGHUP: no reload"
}

# ---- no daemon, wrong usage
run 1 "no daemon" "$SKEP" reload
says "no skepd listens at $SKEP_SOCKET" err
run 2 "an argument" "$SKEP" reload file
run 2 "an option" "$SKEP" reload --chek
says "did you mean --check?" err
run 2 "two forms" "$SKEP" stats --json --prometheus

conf 200ms "$host" "$lake"
verbose=-v
start

# ---- one after the other
run 0 "nothing has changed" "$SKEP" reload
says "5 of its plugins were not touched" out
conf 200ms "$host" ", \"fsync\": true$lake"
run 0 "an option in place, only checked" "$SKEP" reload --check
says "sink file: would be applied, options: fsync" out
says "nothing has changed" out
run 0 "an option in place" "$SKEP" reload --json
json "o['ok'] and [(c['change'], c['kind'], c['name']) for c in o['changes']] == [('applied', 'sink', 'file')] and o['unchanged'] == 4"
conf 300ms "$per_cpu" " }"
run 0 "interval, restarted, removed" "$SKEP" reload
says "setting interval: changed, from 200ms to 300ms" out
says "probe host: restarted, options: per_cpu" out
says "sink file: applied, options: fsync" out
says "sink lake: removed" out
run 0 "the interval" "$SKEP" status --json
json "o['interval_ns'] == 300000000 and [i['name'] for i in o['instances']] == ['proc', 'sched', 'host', 'file']"
json "o['reload']['ok'] == 3 and o['reload']['failed'] == 0 and o['reload']['last']['ok'] and o['reload']['last']['by'].startswith('pid ')"
echo "ok - skep reload: applied in place, restarted, removed; --check changes nothing"

# ---- wrong ones
cat >"$dir/conf" <<END
{ "interval": "100ms", "control": { "socket": "$SKEP_SOCKET" },
  "probes": [ { "plugin": "proc", "rign": "4MiB" },
    { "plugin": "nosuch" } ],
  "sinks": [ { "plugin": "file" } ] }
END
run 3 "wrong options" "$SKEP" reload
"$SKEPD" -t -c "$dir/conf" >/dev/null 2>"$dir/t"
[ $? -eq 3 ] || fail "skepd -t: not 3"
[ "$(wc -l <"$dir/t")" -eq 3 ] || fail "skepd -t: not three errors"
while read -r line; do
	says "$line" err
done <"$dir/t"
says "$dir/conf:2:35: error: probes[0] (proc): unknown option \"rign\": did you mean \"ring\"?" err
says "the running configuration stays in use" err
run 3 "wrong options --json" "$SKEP" reload --json
json "not o['ok'] and o['code'] == 'config' and len(o['errors']) == 3 and o['errors'][0]['line'] == 2 and o['errors'][0]['column'] == 35"
mv "$dir/conf" "$dir/gone"
run 3 "no file" "$SKEP" reload
says "$dir/conf: error: cannot read: No such file or directory" err
mv "$dir/gone" "$dir/conf"
conf 300ms "$per_cpu" " }"
sed -i "s,s\.sock,other.sock," "$dir/conf"
run 3 "another socket" "$SKEP" reload
says "control.socket cannot change from $SKEP_SOCKET to $dir/other.sock without a restart of skepd" err
conf 300ms "$per_cpu" " }, { \"plugin\": \"file\", \"name\": \"nowhere\", \"path\": \"$dir/no/such/file\", \"required\": true }"
run 3 "a required sink that does not start" "$SKEP" reload
says "sink nowhere does not start" err
echo '{ "interval": ' >"$dir/conf"
run 3 "no JSON" "$SKEP" reload
says "$dir/conf:1" err
hup
run 0 "status after a failed SIGHUP" "$SKEP" status
says "3 succeeded, 7 failed" out
says "by SIGHUP: failed, the running configuration stays in use" out
says "$dir/conf:1" out
grep -q "skepd: error: $dir/conf:1:" "$dir/log" || fail "the log does not name the error in the file"
grep -qF "SIGHUP: $dir/conf rejected: 1 error; the running configuration stays in use" "$dir/log" || fail "the log does not say that SIGHUP failed"
run 0 "after all that" "$SKEP" status --json
json "o['interval_ns'] == 300000000 and all(i['state'] == 'running' for i in o['instances']) and len(o['instances']) == 4"
json "o['reload']['ok'] == 3 and o['reload']['failed'] == 7 and not o['reload']['last']['ok']"
run 0 "stats --prometheus" "$SKEP" stats --prometheus
says 'skep_reloads_total{result="failed"} 7' out
says 'skep_reload_last_ok 0' out
says 'skep_plugin_up{instance_name="proc",plugin="proc",kind="probe"} 1' out
run 0 "stats --json" "$SKEP" stats --json
json "o['fds'] > 10 and o['cost']['rss_bytes'] > 1 << 20 and o['loop']['lag_worst_ns'] > 0"
json "all(s['seen'] == s['delivered'] + s['filtered'] + sum(s['lost'].values()) + s['pending'] for s in o['streams'])"
run 0 "stats" "$SKEP" stats
says "3 succeeded, 7 failed" out
echo "ok - wrong configurations change nothing: exit 3, the errors of skepd -t, log, status, metrics"

# ---- rules
mkdir "$dir/rules"
rule() {
	printf '{ "rules": [\n  { "id": "no-true", "when": "%s", "verdict": "exclude", "why": "a test" } ] }\n' "$1" >"$dir/rules/10.json"
}
filters=" \"filters\": { \"dirs\": [ \"$dir/rules\" ] },"
rule "comm = 'true'"
conf 200ms "$host" "$lake"
run 0 "a rule" "$SKEP" reload
says "rule no-true: added" out
for _ in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done
hits() { "$SKEP" rules --json | python3 -c 'import json, sys; r = json.load(sys.stdin)["rules"][0]; sys.exit(r["hits_user"] + r["hits_kernel"] < 10)'; }
wait_for hits || fail "skep rules: less than 10 hits"
run 0 "rules" "$SKEP" rules
says "no-true" out
says "10.json:2" out
run 0 "rules --json" "$SKEP" rules --json
generation=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["generation"])' "$dir/out")
rule "comm = 'true' and uid = 4711"
run 0 "a changed rule" "$SKEP" reload
says "rule no-true: changed" out
rule "com = 'true'"
run 3 "a wrong rule" "$SKEP" reload
says "$dir/rules/10.json:2:31: error: rules[0].when: there is no field \"com\"" err
says "did you mean \"comm\"?" err
says "   ^~~" err
run 0 "rules after that" "$SKEP" rules --json
json "o['generation'] == $generation + 1 and o['rules'][0]['when'] == \"comm = 'true' and uid = 4711\""
filters=
conf 200ms "$host" "$lake"
run 0 "no rules" "$SKEP" reload
says "rule no-true: removed" out
echo "ok - skep rules: hits; a rule is added, changed, wrong, removed"

# ---- one at a time: the removal of a sink that accepts nothing takes 5 s
conf 200ms "$host" "$lake, { \"plugin\": \"fakesink\", \"name\": \"stuck\", \"path\": \"$dir/stuck\", \"delay\": \"1h\" }"
run 0 "a sink that is stuck" "$SKEP" reload
recorded "$dir/records" || fail "no record" # the stuck sink has got it, too
conf 200ms "$host" "$lake"
"$SKEP" reload >"$dir/slow" 2>&1 </dev/null &
client=$!
# One program asks all of this within the 5 s: on a busy machine a start of skep may take a second.
before=$(
	python3 - "$SKEP_SOCKET" "$daemon" <<'END'
import json, os, signal, socket, sys, time
def ask(request):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(json.dumps({"request": request}).encode() + b"\n")
    return json.loads(s.makefile().readline())
end = time.monotonic() + 60
while not (r := ask("status")["reload"])["busy"]:
    if time.monotonic() > end:
        sys.exit(print("it is not under way"))
    time.sleep(0.01)
refused = ask("reload")
if refused["ok"] or "a reload is under way" not in json.dumps(refused) or not ask("rules")["ok"]:
    sys.exit(print(refused))
os.kill(int(sys.argv[2]), signal.SIGHUP)
print(r["ok"] + r["failed"], 1)
END
) || fail "requests beside a reload that drains a stuck sink: $before"
wait $client || fail "the slow reload: exit $?"
cp "$dir/slow" "$dir/out"
says "sink stuck: removed, " out
says "records that it had not acknowledged are lost there" out
wait_for is_over $((${before% *} + 2)) || fail "the SIGHUP that came meanwhile was forgotten"
# a client that closes its half of the connection gets its answer; a client that vanishes does no harm
python3 - "$SKEP_SOCKET" <<'END' || fail "half a connection"
import json, socket, sys
def ask(half):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    s.sendall(b'{"request":"reload"}\n')
    if not half:
        return s.close()
    s.shutdown(socket.SHUT_WR)
    answer = json.loads(s.makefile().read())
    assert answer["ok"] and answer["unchanged"] == 5, answer
ask(True)
ask(False)
END
wait_for is_over $((${before% *} + 4)) || fail "the reload of the client that vanished"
echo "ok - one at a time: a second request is refused, a SIGHUP follows; records that a removed sink had not accepted are counted"

# ---- under a storm
lost_before=$("$SKEP" status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["lost"]["sink"])')
conf 200ms "$host" "$lake"
run 0 "as before" "$SKEP" reload
storm_before=$(reloads)
reloads_default=28 # with fewer, growth does not show
[ -z "${SKEP_SANITIZE:-}" ] || reloads_default=14
rate=${RATE:-300} n=${RELOADS:-$reloads_default}
cp "$EXACT_BIN/tiny" "$dir/tiny-reload" # other tests run the original beside this one
touch "$dir/go"
# shellcheck disable=SC2016 # for that shell
sh -c 'while [ -e "$1/go" ]; do "$2/storm" "$1/tiny-reload" "$3" 1 || exit 1; done' sh "$dir" "$EXACT_BIN" "$rate" >"$dir/truth" &
storm=$!
children=$storm
fds() { find "/proc/$daemon/fd" -mindepth 1 | wc -l; }
rss() { awk '/VmRSS/ { print $2 }' "/proc/$daemon/status"; }
wait_for grep -q tiny-reload "$dir/records" || fail "no record of the storm"
: >"$dir/times"
fds_before=0 rss_before=0
for i in $(seq 1 "$n"); do
	want=0
	case $((i % 7)) in
	0) conf 200ms "$host" "$lake" ;;
	1) ring=', "ring": "8MiB"' conf 250ms "$host" "$lake" ;;
	2) conf 250ms "$host" ", \"fsync\": true$lake" ;;
	3)
		echo '{ "probes": [ { "plugin": "prco" } ] }' >"$dir/conf"
		want=3
		;;
	4) conf 200ms "$per_cpu" " }" ;;
	5) conf 200ms '' " }, { \"plugin\": \"file\", \"name\": \"more\", \"path\": \"$dir/more\" }" ;;
	6) file=records2 conf 200ms "$host" "$lake" ;;
	esac
	if [ $((i % 4)) -eq 0 ]; then
		hup
	else
		run "$want" "reload $i" "$SKEP" reload --json
		python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["took_ns"] / 1e6)' "$dir/out" >>"$dir/times"
	fi
	[ "$i" -ne 14 ] || { fds_before=$(fds) rss_before=$(rss); }
done
conf 200ms "$host" "$lake"
run 0 "the last" "$SKEP" reload
rm "$dir/go"
wait $storm || fail "the storm"
children=
cat >"$dir/count.py" <<'END'
import json, os, sys
dir, n = sys.argv[1], int(sys.argv[2])
started = sum(json.loads(l)["processes"] for l in open(f"{dir}/truth"))
seen = {}
for name in "records", "records2":
    if not os.path.exists(f"{dir}/{name}"):
        continue
    for line in open(f"{dir}/{name}"):
        r = json.loads(line)
        if r["stream"] == "process.exit" and r["argv"] and r["argv"][0].endswith("/tiny-reload") and r["execed"]:
            seen[r["upid"], r["image"]] = seen.get((r["upid"], r["image"]), 0) + 1
twice = [k for k, v in seen.items() if v > 1]
times = sorted(float(l) for l in open(f"{dir}/times"))
print(f"# {started} processes, {len(seen)} recorded, {len(twice)} of them twice; {n} reloads, of those by request: "
      f"median {times[len(times) // 2]:.1f} ms, longest {times[-1]:.1f} ms")
sys.exit(0 if len(seen) == started and not twice else 1)
END
# skepd waits up to 10 s for a final record that the kernel skipped, then records the process without it.
wait_for python3 "$dir/count.py" "$dir" "$n"
run 0 "status after the storm" "$SKEP" status --json
json "o['reload']['ok'] + o['reload']['failed'] == $n + 1 + ${storm_before% *}, o['reload']"
# The kernel skips BPF on some frees (README.md of plugins/proc), with reloads or without; skepd still records these
# processes.
json "o['lost']['queue'] + o['lost']['spool'] == 0 and o['lost']['sink'] == $lost_before and o['lost']['kernel'] == o['self']['processes_lost'], (o['lost'], o['self'])"
json "all(s['seen'] == s['delivered'] + s['filtered'] + sum(s['lost'].values()) + s['pending'] for s in o['streams'])"
if [ "$n" -ge 28 ]; then
	echo "# after 14 reloads and after all: RSS $rss_before, $(rss) KiB; descriptors $fds_before, $(fds)"
	[ "$(fds)" -le $((fds_before + 2)) ] || fail "descriptors"
	# A sanitizer does not return freed memory. Processes of other tests need some MiB; a leaked ring is 8 MiB at
	# each restart of proc.
	[ -n "${SKEP_SANITIZE:-}" ] || [ "$(rss)" -le $((rss_before + 12288)) ] || fail "memory"
fi
kill -TERM "$daemon"
wait "$daemon" || fail "skepd: exit $? after TERM"
daemon=
python3 "$(dirname "$0")/ledger_check.py" "$dir/log" "file=$dir/records" "file=$dir/records2" || fail "the ledger"
python3 "$dir/count.py" "$dir" "$n" || fail "the storm's processes"
echo "ok - $n reloads under a storm: every process recorded exactly once"
