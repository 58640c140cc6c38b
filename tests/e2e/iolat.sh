#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/iolat.sh - the detail iolat on the live kernel: processes make a known number of block requests, and
# attachments to a process, a cgroup, the host and a run count them (iolat.py). Environment: SKEP, SKEPD,
# SKEP_PLUGIN_DIRS, abs_builddir.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
name=iolat
. "$(dirname "$0")/probe_lib.sh"
needs_probe io
needs_disk
make_cgroup
# Only with the io controller on v2 does skep know the writer of written-back requests.
writeback=no
if [ -n "$v2" ] && [ "$cgroup" = "$v2/skep-$name-$$" ] && grep -qw io "$v2/cgroup.controllers"; then
	! echo +io >"$v2/cgroup.subtree_control" 2>/dev/null || writeback=yes
fi

cat >"$work/conf" <<END
{ "interval": "500ms",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "io", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ],
  "control": { "socket": "$work/socket" } }
END
start
rc=0
SKEP_SOCKET=$work/socket python3 "$here/iolat.py" "$disk" "$cgroup" $writeback "$work/out" || rc=$?
"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
stop
grep -q 'io.iolat *off' "$work/doctor" || { echo "not ok - the signal is not off after the last attachment: $(cat "$work/doctor")"; rc=1; }
exit $rc
