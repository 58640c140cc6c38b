#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skep support-bundle of a running skepd: its files, and that no planted secret is among them: not the secret of an
# option, of its file, of its variable, of a URL, of a command line, of a plugin's error, of the unit's variables.
set -eu
. "$(dirname "$0")/../wait.sh"
: "${SKEP:?}" "${SKEPD:?}" "${SKEP_TEST_PLUGIN_DIRS:?}" "${SKEP_PLUGIN_DIRS:?}"
work=$(mktemp -d)
pid=
stop() { if [ -n "$pid" ]; then kill -TERM "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; fi; rm -rf "$work"; }
trap stop EXIT
if [ -n "${SKEP_SANITIZE:-}" ]; then export ASAN_OPTIONS="detect_leaks=0:${ASAN_OPTIONS:-}"; fi
fail() { echo "FAIL: $*"; exit 1; }
chmod 0755 "$work"

printf 'plantedFILEsecret\n' >"$work/token"
chmod 0600 "$work/token"
export HQ_TOKEN=plantedENVsecret
cat >"$work/skepd.conf" <<-X
	{
		"plugin_dirs": [ "$SKEP_TEST_PLUGIN_DIRS", "$SKEP_PLUGIN_DIRS" ],
		// "token": "plantedCOMMENTsecret"
		"host": { "labels": { "site": "https://joe:plantedURLsecret@example.com/x" } },
		"sinks": [
			{ "plugin": "fakesink", "name": "a", "path": "$work/a.out", "token": "plantedOPTIONsecret" },
			{ "plugin": "fakesink", "name": "b", "path": "$work/b.out", "token_file": "$work/token" },
			{ "plugin": "fakesink", "name": "c", "path": "$work/c.out", "token": "env:HQ_TOKEN" },
			{ "plugin": "file", "name": "d", "path": "/nonexistent/ftp://joe:plantedREASONsecret@example.com/x" }
		],
		"control": { "socket": "$work/s.sock" }
	}
X
chmod 0640 "$work/skepd.conf"
"$SKEPD" -c "$work/skepd.conf" >"$work/log" 2>&1 &
pid=$!
wait_for test -S "$work/s.sock" || { cat "$work/log"; fail "skepd does not start"; }
# The secret can be found: the failed sink's reason has the URL.
"$SKEP" status --json --socket "$work/s.sock" >"$work/status"
grep -q plantedREASONsecret "$work/status" || fail "the test plants nothing in the daemon's answers"

# As systemd shows a unit, and a log that has the secret of a variable that only skepd has.
mkdir "$work/bin"
cat >"$work/bin/systemctl" <<-'X'
	#!/bin/sh
	printf 'Id=skepd.service\nEnvironment=HQ_TOKEN=plantedUNITsecret INGEST=plantedINGESTsecret\nSetCredential=[a: plantedCREDsecret]\n'
X
printf '#!/bin/sh\necho sends plantedENVsecret\n' >"$work/bin/journalctl"
chmod +x "$work"/bin/*
unset HQ_TOKEN
PATH="$work/bin:$(dirname "$SKEPD"):$PATH" "$SKEP" support-bundle -o "$work/x.tar.gz" --socket "$work/s.sock" >"$work/listed" || fail "support-bundle ends with $?"
[ "$(stat -c %a "$work/x.tar.gz")" = 600 ] || fail "mode $(stat -c %a "$work/x.tar.gz")"
mkdir "$work/x"
gzip -t "$work/x.tar.gz"
tar xzf "$work/x.tar.gz" -C "$work/x"
for f in MANIFEST config/skepd.conf.json status.txt status.json stats.json rules.json plugins.json doctor.json \
	list-plugins.txt config-test.txt \
	version-skepd.txt folders.txt os/version os/mountinfo daemon/status; do
	[ -s "$(echo "$work"/x/skep-support-*/"$f")" ] || fail "$f is not in it, or is empty"
	[ "$f" = MANIFEST ] || grep -q " $f\$" "$work"/x/*/MANIFEST || fail "$f is not in its manifest"
	grep -q " $f\$" "$work/listed" || fail "$f is not listed"
done
grep -q '"plugin": "fakesink"' "$work"/x/*/config/skepd.conf.json || fail "the configuration is not in it"
grep -q "$pid" "$work"/x/*/status.json || fail "status.json is not of this skepd"
grep -q '^Id=skepd.service$' "$work"/x/*/unit.txt || fail "the unit is not in it"
grep -q '^sends' "$work"/x/*/log.txt || fail "the log is not in it"
if grep -rnE 'planted[A-Za-z]*secret' "$work/x"; then fail "a secret is in it"; fi
# Nor in skepd's log, nor in its command line.
if grep -nE 'planted(FILE|ENV|OPTION|COMMENT)secret' "$work/log"; then fail "a secret is in the log"; fi
if tr '\0' ' ' <"/proc/$pid/cmdline" | grep planted; then fail "a secret is in argv"; fi
# The command does not overwrite a file.
rc=0
"$SKEP" support-bundle -o "$work/x.tar.gz" --socket "$work/s.sock" >/dev/null 2>"$work/err" || rc=$?
[ $rc -eq 1 ] && grep -q 'File exists' "$work/err" || fail "it writes over a file, or says $(cat "$work/err")"
echo "$(wc -l <"$work/listed") lines listed, $(grep -rc '' "$work/x" | wc -l) files searched"
