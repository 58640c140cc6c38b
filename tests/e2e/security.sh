#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the claims of docs/inside/security.md about a running skepd: which users may send requests, the modes of its
# files, its remaining privileges, the configurations that it refuses; and the exit codes that scripts rely on.
set -eu
. "$(dirname "$0")/../wait.sh"
: "${SKEP:?}" "${SKEPD:?}" "${SKEP_TEST_PLUGIN_DIRS:?}" "${SKEP_PLUGIN_DIRS:?}"
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root"; exit 77; }
command -v setpriv >/dev/null || { echo "skip: no setpriv"; exit 77; }
work=$(mktemp -d)
pid=
stop() { if [ -n "$pid" ]; then kill -TERM "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; fi; rm -rf "$work"; }
trap stop EXIT
if [ -n "${SKEP_SANITIZE:-}" ]; then export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"; fi
failed=0 checked=0
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }
is() { checked=$((checked + 1)); [ "$2" = "$3" ] || fail "$1: $2, expected $3"; }
ends() { # CODE WHAT COMMAND...
	local want=$1 what=$2 rc=0
	shift 2
	"$@" >"$work/out" 2>&1 </dev/null || rc=$?
	checked=$((checked + 1))
	[ "$rc" -eq "$want" ] || fail "$what: exit code $rc, expected $want: $(head -c 300 "$work/out")"
}
says() { checked=$((checked + 1)); grep -q -- "$1" "$work/out" || fail "it does not say '$1': $(head -c 300 "$work/out")"; }
other() { setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs -- "$@"; }
umask 022
# Other users must be able to reach the programs and the socket: the test checks their modes.
chmod 0755 "$work"

cat >"$work/skepd.conf" <<-X
	{
		"interval": "1s",
		"plugin_dirs": [ "$SKEP_TEST_PLUGIN_DIRS", "$SKEP_PLUGIN_DIRS" ],
		"probes": [ { "plugin": "proc", "required": true } ],
		"sinks": [ { "plugin": "lake", "min_free": "0", "path": "$work/state/lake" }, { "plugin": "file", "path": "$work/out.ndjson" },
			{ "plugin": "fakesink", "path": "$work/fake.out", "token": "plantedsecret" } ],
		"spool": { "path": "$work/spool.db" },
		"control": { "socket": "$work/run/s.sock" }
	}
X
# ---- the configuration ------------------------------------------------------------------------
ends 0 "a configuration of root's" "$SKEPD" -t -c "$work/skepd.conf"
says 'everybody can read this file'
if grep plantedsecret "$work/out"; then fail "a secret is in a message"; fi
chmod 0640 "$work/skepd.conf"
ends 0 "one that others cannot read" "$SKEPD" -t -c "$work/skepd.conf"
if grep 'everybody can read' "$work/out"; then fail "warns of a secret that others cannot read"; fi
chmod 0660 "$work/skepd.conf"
ends 3 "one that its group can write" "$SKEPD" -t -c "$work/skepd.conf"
says 'writable by its group'
chmod 0606 "$work/skepd.conf"
ends 3 "one that everybody can write" "$SKEPD" -c "$work/skepd.conf"
says 'writable by everybody'
chmod 0640 "$work/skepd.conf"
chown 65534 "$work/skepd.conf"
ends 3 "one of another user" "$SKEPD" -t -c "$work/skepd.conf"
says 'belongs to uid 65534'
chown 0 "$work/skepd.conf"

# ---- running --------------------------------------------------------------------------------
(umask 0; exec "$SKEPD" -v -c "$work/skepd.conf" >"$work/log" 2>&1 </dev/null) &
pid=$!
wait_skepd "$pid" "$work/log" || exit $?
for _ in $(seq 5); do /bin/true plantedargument; done
wait_for has 5 '"plantedargument"' "$work/out.ndjson"
wait_for ls "$work"/state/lake/lake-*.db

is "mode of the socket" "$(stat -c %a "$work/run/s.sock")" 660
is "mode of its folder" "$(stat -c %a "$work/run")" 755
is "mode of the socket for all users" "$(stat -c %a "$work/run/s.sock.users")" 666
is "mode of the lake" "$(stat -c %a "$work/state/lake")" 750
is "mode of a lake's file" "$(stat -c %a "$work"/state/lake/lake-*.db | sort -u)" 640
is "mode of the file sink's file" "$(stat -c %a "$work/out.ndjson")" 640
is "umask" "$(sed -n 's/^Umask:\s*//p' "/proc/$pid/status")" 0027
is "no_new_privs" "$(sed -n 's/^NoNewPrivs:\s*//p' "/proc/$pid/status")" 1
is "core files" "$(sed -nE 's/^Max core file size +([^ ]+) +([^ ]+).*/\1 \2/p' "/proc/$pid/limits")" "0 0"
# BPF PERFMON SYS_PTRACE SYS_RESOURCE SYSLOG DAC_OVERRIDE DAC_READ_SEARCH CHOWN SYS_ADMIN
allowed=$(((1 << 39) | (1 << 38) | (1 << 19) | (1 << 24) | (1 << 34) | (1 << 1) | (1 << 2) | 1 | (1 << 21)))
for set in CapPrm CapEff CapBnd; do
	has=$((16#$(sed -n "s/^$set:\s*//p" "/proc/$pid/status")))
	is "$set beyond the needed ones" $((has & ~allowed)) 0
done
for thread in /proc/"$pid"/task/*; do
	has=$((16#$(sed -n "s/^CapPrm:\s*//p" "$thread/status")))
	is "CapPrm of thread ${thread##*/}" $((has & ~allowed)) 0
done
is "CapInh" "$(sed -n 's/^CapInh:\s*//p' "/proc/$pid/status")" 0000000000000000
is "CapAmb" "$(sed -n 's/^CapAmb:\s*//p' "/proc/$pid/status")" 0000000000000000
if grep plantedsecret "$work/log" || tr '\0' ' ' <"/proc/$pid/cmdline" | grep plantedsecret; then fail "a secret is in the log or in argv"; fi
checked=$((checked + 1))
if other cat "$work"/state/lake/lake-*.db >/dev/null 2>&1 || other cat "$work/out.ndjson" >/dev/null 2>&1; then fail "another user can read recorded data"; fi

# ---- which users may send requests ----------------------------------------------------------------------------
ends 0 "root asks" "$SKEP" status --socket "$work/run/s.sock"
cat >"$work/ask.py" <<-'X'
	import os, socket, sys
	os.setgroups([])
	os.setgid(65534)
	os.setuid(65534)
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(60)
	s.connect(sys.argv[1])
	for r in sys.argv[2:]:
	    try:
	        s.sendall(('{"request":"%s"}\n' % r).encode())
	    except OSError:
	        pass
	try:
	    s.shutdown(socket.SHUT_WR)
	except OSError:
	    pass
	data = b""
	while True:
	    try:
	        d = s.recv(65536)
	    except OSError:
	        break
	    if not d:
	        break
	    data += d
	sys.stdout.buffer.write(data)
X
ends 1 "another user cannot reach the socket" python3 "$work/ask.py" "$work/run/s.sock" status
says 'PermissionError'
# skepd also checks the connecting user by SO_PEERCRED, not only by the file's mode.
chmod 0666 "$work/run/s.sock"
for request in status plugins details runs stats rules loglevel reload attach detach run_begin run_resume run_end; do
	ends 0 "another user asks $request" python3 "$work/ask.py" "$work/run/s.sock" "$request"
	says '"code":"permission"\|"code": "permission"'
	is "lines answered to $request" "$(wc -l <"$work/out")" 1
	if grep -q 'instances\|/true\|plantedargument' "$work/out"; then fail "$request gives another user data"; fi
done
chmod 0660 "$work/run/s.sock"
# The socket for all users: what shows others' data or changes the daemon is refused.
for request in status plugins details runs stats rules loglevel reload 'attach","detail":"x' 'recognize","run":"last'; do
	ends 0 "another user asks $request for all" python3 "$work/ask.py" "$work/run/s.sock.users" "$request"
	says '"code":"\(permission\|not_found\)"'
	if grep -q 'instances\|/true\|plantedargument\|"ok":true' "$work/out"; then fail "$request gives another user data"; fi
done
ends 0 "another user asks for a copy" python3 "$work/ask.py" "$work/run/s.sock.users" lake_copy
says '"ok":true,"request":"lake_copy","bytes":'
if grep -qa 'plantedargument' "$work/out"; then fail "a copy gives another user data"; fi
ends 0 "another user asks for a run of root's" python3 "$work/ask.py" "$work/run/s.sock.users" 'lake_copy","run":"last'
says '"code":"not_found"'
copier=$(pgrep -P "$pid" -f 'skepd: copier')
is "capabilities of the copier" "$(sed -nE 's/^Cap(Prm|Eff|Amb|Inh):\s*//p' "/proc/$copier/status" | sort -u)" 0000000000000000

# ---- exit codes, skepd and skep (the others are above) -----------------------------------------
cp "$work/skepd.conf" "$work/second.conf"
ends 1 "a second skepd at the same socket" "$SKEPD" -c "$work/second.conf"
ends 2 "an unknown option" "$SKEPD" --nonsense
ends 2 "an argument" "$SKEPD" nonsense
ends 2 "skep without a command" "$SKEP"
ends 2 "skep with an unknown command" "$SKEP" nonsense
ends 2 "skep with an unknown option" "$SKEP" runs --nonsense
echo '{ "interval": 5 }' >"$work/wrong.conf"
ends 3 "a wrong configuration" "$SKEPD" -t -c "$work/wrong.conf"
ends 3 "no configuration" "$SKEPD" -t -c "$work/none.conf"
ends 3 "a wrong rule" "$SKEP" filter test "nonsense ="
echo '{ "plugin_dirs": [ "'"$SKEP_TEST_PLUGIN_DIRS"'" ], "probes": [ { "plugin": "noentry" } ] }' >"$work/abi.conf"
ends 5 "a plugin that is none" "$SKEPD" -t -c "$work/abi.conf"
ends 5 "skep-dev check of a file that is no plugin" "$SKEP_DEV" check "$SKEP_TEST_PLUGIN_DIRS/noentry.so"
ends 1 "no daemon answers" "$SKEP" status --socket "$work/none.sock"
ends 7 "skep run exits as its command" "$SKEP" run --lake "$work/lake2" --no-report -- sh -c 'exit 7'
ends 143 "skep run, 128 + signal" "$SKEP" run --lake "$work/lake2" --no-report -- sh -c 'kill -TERM $$'
ends 127 "skep run of nothing" "$SKEP" run --lake "$work/lake2" --no-report -- "$work/none"
cat >"$work/unprivileged.conf" <<-X
	{ "plugin_dirs": [ "$SKEP_PLUGIN_DIRS" ], "probes": [ { "plugin": "proc", "required": true } ], "control": { "socket": false } }
X
mkdir -m 0777 "$work/open"
if other test -x "$SKEPD" 2>/dev/null; then
	ends 4 "skepd without privileges" other "$SKEPD" -c "$work/unprivileged.conf"
	ends 4 "skep doctor without privileges" other "$SKEP" doctor --local
	ends 4 "skep run without privileges" other "$SKEP" run --lake "$work/open/lake" -- true
fi
# Runs skepd as another user from the start, with the unit's three capabilities, by setpriv: docs/inside/security.md
# describes this for hosts without systemd.
if other test -x "$SKEPD" 2>/dev/null; then
	install -d -o 65534 -g 65534 -m 0750 "$work/low"
	cat >"$work/low.conf" <<-X
		{ "interval": "500ms", "plugin_dirs": [ "$SKEP_PLUGIN_DIRS" ], "control": { "socket": false }, "spool": { "path": "$work/low/spool.db" },
		  "probes": [ { "plugin": "proc", "required": true } ], "sinks": [ { "plugin": "file", "path": "$work/low/out" } ] }
	X
	chown 0:65534 "$work/low.conf"
	chmod 0640 "$work/low.conf"
	C=-all,+bpf,+perfmon,+sys_ptrace
	setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs \
		--inh-caps=$C --ambient-caps=$C --bounding-set=$C \
		"$SKEPD" -c "$work/low.conf" >"$work/low.log" 2>&1 </dev/null &
	low=$!
	wait_skepd $low "$work/low.log" || exit $?
	is "its user, group and groups" "$(sed -nE 's/^(Uid|Gid|Groups):\s*//p' "/proc/$low/status" | tr -s '\t \n' ' ')" \
		"65534 65534 65534 65534 65534 65534 65534 65534 "
	is "its capabilities" "$(sed -nE 's/^Cap(Prm|Eff|Bnd|Amb|Inh):\s*//p' "/proc/$low/status" | sort | uniq -c | tr -s ' ' | tr '\n' ';')" \
		" 2 0000000000000000; 3 000000c000080000;"
	/bin/true of-another-user
	wait_for grep -q '"of-another-user"' "$work/low/out"
	rc=0
	kill -TERM $low
	wait $low || rc=$?
	is "a skepd of another user at its end" "$rc" 0
	is "its records" "$(grep -c '"of-another-user"' "$work/low/out")" 1
fi
# A reload makes the same checks as a start: skepd refuses the file and keeps the old configuration.
chmod 0666 "$work/skepd.conf"
ends 3 "reload of a configuration that everybody can write" "$SKEP" reload --socket "$work/run/s.sock"
says 'writable by everybody'
ends 1 "skep doctor about it" env LC_ALL=C.UTF-8 "$SKEP" doctor --config "$work/skepd.conf"
says '✗  configuration'
chmod 0640 "$work/skepd.conf"
ends 0 "skep doctor about a good one" env LC_ALL=C.UTF-8 "$SKEP" doctor --config "$work/skepd.conf"
ends 0 "reload" "$SKEP" reload --socket "$work/run/s.sock"

rc=0
kill -TERM "$pid"
wait "$pid" || rc=$?
pid=
is "skepd at its end" "$rc" 0
is "mode of the spool" "$(stat -c %a "$work/spool.db")" 600
echo "$checked claims, $failed failed"
[ "$failed" -eq 0 ]
