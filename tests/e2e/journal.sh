#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skepd sends its messages with fields to a real journal: the test's own systemd-journald, in a mount namespace with a
# /run of its own.
set -eu
. "$(dirname "$0")/../wait.sh"
: "${SKEPD:?}" "${SKEP_PLUGIN_DIRS:?}"
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root"; exit 77; }
journald=/lib/systemd/systemd-journald
for program in $journald /usr/bin/systemd-cat /usr/bin/journalctl /usr/bin/unshare; do
	[ -x "$program" ] || { echo "skip: no $program"; exit 77; }
done
if [ -z "${IN_NAMESPACE:-}" ]; then
	IN_NAMESPACE=1 exec unshare -m -- bash "$0"
fi
mount --make-rprivate /
mount -t tmpfs none /run || { echo "skip: cannot mount"; exit 77; }
mkdir -p /run/systemd/journal /run/log/journal
$journald </dev/null >/run/journald.out 2>&1 &
journal=$!
trap 'kill $journal 2>/dev/null; wait $journal || true' EXIT
wait_for test -S /run/systemd/journal/socket || { cat /run/journald.out; echo "FAIL: no journal"; exit 1; }

cat >/run/c.conf <<-X
	{ "interval": "100ms", "plugin_dirs": [ "$SKEP_PLUGIN_DIRS" ], "probes": [ { "plugin": "host" } ],
	  "sinks": [ { "plugin": "file", "name": "broken", "path": "/nonexistent/x/y" } ], "control": { "socket": false } }
X
echo '{ "interval": 5 }' >/run/wrong.conf
# systemd-cat connects the stream, as a service has it; its older versions do not set the variable.
export SKEPD
systemd-cat -t by-the-stream bash -c '
	. "$0"
	export JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr)
	"$SKEPD" -c /run/wrong.conf && exit 1
	"$SKEPD" -c /run/c.conf &
	pid=$!
	logged() { journalctl --no-pager -q -o cat "$@" | grep -q .; }
	wait_for logged SKEP_PLUGIN=broken PRIORITY=4
	collects() { journalctl --no-pager -q -o cat SYSLOG_IDENTIFIER=skepd | grep -q " collects: "; }
	wait_for collects
	kill -TERM $pid
	wait $pid' "$(dirname "$0")/../wait.sh"

fail() { echo "FAIL: $*"; journalctl --no-pager -o verbose | tail -60; exit 1; }
find_one() { # WHAT MATCH...
	local what=$1
	shift
	logged() { journalctl --no-pager -q -o cat "$@" | grep -q .; }
	wait_for logged "$@" || fail "$what: nothing matches $*"
}
find_one "its end" SYSLOG_IDENTIFIER=skepd PRIORITY=5 CODE_FUNC=on_signal
find_one "a plugin's" SYSLOG_IDENTIFIER=skepd SKEP_PLUGIN=broken PRIORITY=4 _TRANSPORT=journal
find_one "a wrong configuration" SYSLOG_IDENTIFIER=skepd PRIORITY=3 CODE_FUNC=log_entry
find_one "a reason" "SKEP_REASON=/nonexistent/x/y: No such file or directory (its folder must exist)"
journalctl --no-pager -q -o json SKEP_PLUGIN=broken | grep -q '"CODE_LINE":"[1-9]' || fail "no CODE_LINE"
# A message in the stream would have no fields.
[ "$(journalctl --no-pager -q -o cat SYSLOG_IDENTIFIER=by-the-stream | grep -c skepd)" -eq 0 ] || fail "messages used the stream"
echo "$(journalctl --no-pager -q -o cat SYSLOG_IDENTIFIER=skepd | wc -l) messages in the journal"
