#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/io_truth.sh - programs that read and write a known number of bytes in every possible way, against the
# records of the probe "io": of the process, of the device, and of the ledger. Prints the table. Environment: SKEPD,
# SKEP_PLUGIN_DIRS, abs_builddir.
set -eu
. "$(dirname "$0")/../attempts.sh"
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skip: $*"; exit 77; }
[ "$(id -u)" = 0 ] || skip "needs root (BPF)"
command -v python3 >/dev/null || skip "needs python3"
[ -e "${SKEP_PLUGIN_DIRS:-.}/io.so" ] || skip "the probe io is not built"

work=$(mktemp -d "${TMPDIR:-/tmp}/skep-io.XXXXXX")
disk='' mounted='' skepd=''
clean() {
	[ -z "$skepd" ] || kill "$skepd" 2>/dev/null || :
	[ -z "$disk" ] || rm -rf "$disk"
	[ -z "$mounted" ] || umount "$mounted" 2>/dev/null || :
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

# A folder on a block device that counts requests: not tmpfs, not overlay.
for folder in "${abs_builddir:-}" /var/tmp /tmp /root; do
	[ -n "$folder" ] && [ -d "$folder" ] || continue
	source=$(findmnt -n -o SOURCE -T "$folder" 2>/dev/null) || continue
	case $source in
	/dev/*) disk=$(mktemp -d "$folder/io-truth.XXXXXX"); break ;;
	esac
done
if [ -z "$disk" ] && [ -b /dev/vdd ] && ! grep -q '^/dev/vdd ' /proc/mounts && grep -q '^root / overlay' /proc/mounts; then
	# in a guest of tests/kernels the fourth disk is for tests
	mkdir -p "$work/mnt"
	mkfs.ext4 -q -F /dev/vdd && mount /dev/vdd "$work/mnt"
	mounted=$work/mnt disk=$work/mnt/io-truth
	mkdir "$disk"
fi
[ -n "$disk" ] || skip "no folder on a block device (tried the build folder, /var/tmp, /tmp, /root)"

cat >"$work/conf" <<END
{ "interval": "1s",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "io", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
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
python3 "$here/io_truth.py" run "$disk" "$work/cases"
sleep 2.5 # two intervals
kill -TERM $skepd
wait $skepd || { echo "not ok - skepd: status $?: $(cat "$work/log")"; exit 1; }
skepd=''
python3 "$here/io_truth.py" judge "$work/cases" "$work/out"
