#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/iolat.sh - the detail iolat on the live kernel: processes that make a known number of block requests, and
# the records of attachments to a process, a cgroup, the host and a run (iolat.py). Environment: SKEP, SKEPD,
# SKEP_PLUGIN_DIRS, abs_builddir.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: figures are compared, for which the build without them is there"; exit 77; }
set -eu
. "$(dirname "$0")/../attempts.sh"
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skip: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root (BPF)"
command -v python3 >/dev/null || skip "needs python3"
[ -e "${SKEP_PLUGIN_DIRS:-.}/io.so" ] || skip "the probe io is not built"

work=$(mktemp -d "${TMPDIR:-/tmp}/skep-iolat.XXXXXX")
disk='' mounted='' skepd='' cgroup=''
clean() {
	[ -z "$skepd" ] || kill "$skepd" 2>/dev/null || :
	[ -z "$disk" ] || rm -rf "$disk"
	[ -z "$mounted" ] || umount "$mounted" 2>/dev/null || :
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null || :
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

# A folder on a block device that counts requests: not tmpfs, not overlay.
for folder in "${abs_builddir:-}" /var/tmp /tmp /root; do
	[ -n "$folder" ] && [ -d "$folder" ] || continue
	case $(findmnt -n -o SOURCE -T "$folder" 2>/dev/null) in
	/dev/*) disk=$(mktemp -d "$folder/iolat.XXXXXX"); break ;;
	esac
done
if [ -z "$disk" ] && [ -b /dev/vdd ] && ! grep -q '^/dev/vdd ' /proc/mounts && grep -q '^root / overlay' /proc/mounts; then
	# in a guest of tests/kernels the fourth disk is for tests
	mkdir -p "$work/mnt"
	mkfs.ext4 -q -F /dev/vdd && mount /dev/vdd "$work/mnt"
	mounted=$work/mnt disk=$work/mnt/iolat
	mkdir "$disk"
fi
[ -n "$disk" ] || skip "no folder on a block device (tried the build folder, /var/tmp, /tmp, /root)"

# The hierarchy that names processes' cgroups; on v2, with the io controller, write-back has a writer.
v2=$(findmnt -n -o TARGET -t cgroup2 | head -1)
v1=$(findmnt -n -o TARGET,OPTIONS -t cgroup | grep -w memory | head -1 | cut -d ' ' -f 1)
writeback=no
if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.controllers" && echo +memory >"$v2/cgroup.subtree_control" 2>/dev/null; then
	cgroup=$v2/skep-iolat-$$
	! grep -qw io "$v2/cgroup.controllers" || ! echo +io >"$v2/cgroup.subtree_control" 2>/dev/null || writeback=yes
elif [ -n "$v1" ]; then
	cgroup=$v1/skep-iolat-$$
fi
[ -z "$cgroup" ] || mkdir "$cgroup"

cat >"$work/conf" <<END
{ "interval": "500ms",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "io", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ],
  "control": { "socket": "$work/socket" } }
END
"$SKEPD" -f -c "$work/conf" 2>"$work/log" &
skepd=$!
i=0
until grep -q collects "$work/log"; do
	i=$((i + 1))
	kill -0 $skepd 2>/dev/null || { cat "$work/log"; grep -q 'not permitted' "$work/log" && skip "BPF is not permitted here"; exit 1; }
	[ $i -lt 300 ] || { echo "not ok - skepd did not start: $(cat "$work/log")"; exit 1; }
	sleep 0.1
done
rc=0
SKEP_SOCKET=$work/socket python3 "$here/iolat.py" "$disk" "$cgroup" $writeback "$work/out" || rc=$?
"$SKEP" doctor --socket "$work/socket" >"$work/doctor" 2>&1 || :
kill -TERM $skepd
wait $skepd || { echo "not ok - skepd: status $?: $(cat "$work/log")"; exit 1; }
skepd=''
grep -q 'io.iolat *off' "$work/doctor" || { echo "not ok - with the last attachment it is not off: $(cat "$work/doctor")"; rc=1; }
exit $rc
