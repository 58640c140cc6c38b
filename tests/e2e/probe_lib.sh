# SPDX-License-Identifier: Apache-2.0
# tests/e2e/probe_lib.sh - shared by tests of one probe on the live kernel; they source it after `name=` (a word for
# folders and cgroups). Makes the folder $work. The test's end also ends $skepd and the processes in $children.
set -eu
. "$(dirname "$0")/../wait.sh"
here=$(cd "$(dirname "$0")" && pwd)
skip() { echo "skip: $*"; exit 77; }
die() {
	echo "not ok - $*"
	[ ! -e "$work/log" ] || cat "$work/log"
	exit 1
}
[ "$(id -u)" = 0 ] || skip "needs root (BPF)"
command -v python3 >/dev/null || skip "needs python3"
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-$name.XXXXXX")
skepd='' children='' disk='' mounted='' cgroup=''
clean() {
	for p in $children $skepd; do kill "$p" 2>/dev/null && kill -CONT "$p" || :; done
	[ -z "$disk" ] || rm -rf "$disk"
	[ -z "$mounted" ] || umount "$mounted" 2>/dev/null || :
	[ -z "$cgroup" ] || rmdir "$cgroup" 2>/dev/null || :
	rm -rf "$work"
}
trap clean EXIT
trap 'exit 1' INT TERM HUP

needs_probe() { [ -e "${SKEP_PLUGIN_DIRS:-.}/$1.so" ] || skip "the probe $1 is not built"; }

# until_log WHAT TEXT: waits until skepd has logged TEXT; when skepd ends or hangs, fails with the message WHAT.
until_log() {
	wait_for sh -c 'grep -q -- "$1" "$2" || ! kill -0 "$0"' "$skepd" "$2" "$work/log" && grep -q -- "$2" "$work/log" || die "$1"
}
# until_ready FILE: waits until a program in the background has written "ready" to its output, so that skepd does not
# count what the program's start opens or runs.
until_ready() { wait_for grep -qx ready "$1" || die "the program is not ready: $(cat "$1")"; }
# start: skepd with $work/conf, until it collects
start() {
	: >"$work/log"
	"$SKEPD" -f -c "$work/conf" 2>"$work/log" &
	skepd=$!
	wait_skepd "$skepd" "$work/log" || exit $?
}
stop() {
	kill -TERM "$skepd"
	wait "$skepd" || die "skepd: status $?"
	skepd=''
}

# find_disk: sets $disk to a folder on a block device that counts requests: not tmpfs, not overlay.
find_disk() {
	for folder in "${abs_builddir:-}" /var/tmp /tmp /root; do
		[ -n "$folder" ] && [ -d "$folder" ] || continue
		case $(findmnt -n -o SOURCE -T "$folder" 2>/dev/null) in
		/dev/*) disk=$(mktemp -d "$folder/skep-$name.XXXXXX"); return ;;
		esac
	done
}
needs_disk() {
	find_disk
	# A guest of tests/kernels has a fourth disk for tests.
	if [ -z "$disk" ] && [ -b /dev/vdd ] && ! grep -q '^/dev/vdd ' /proc/mounts && grep -q '^root / overlay' /proc/mounts; then
		mkdir -p "$work/mnt"
		mkfs.ext4 -q -F /dev/vdd && mount /dev/vdd "$work/mnt"
		mounted=$work/mnt disk=$work/mnt/$name
		mkdir "$disk"
	fi
	[ -n "$disk" ] || skip "no folder on a block device (tried the build folder, /var/tmp, /tmp, /root)"
}

# make_cgroup: sets $cgroup to a cgroup in the hierarchy that names processes' cgroups, and $v2 to cgroup v2's mount.
make_cgroup() {
	v2=$(findmnt -n -o TARGET -t cgroup2 | head -1)
	v1=$(findmnt -n -o TARGET,OPTIONS -t cgroup | grep -w memory | head -1 | cut -d ' ' -f 1)
	if [ -n "$v2" ] && grep -qw memory "$v2/cgroup.controllers" && echo +memory >"$v2/cgroup.subtree_control" 2>/dev/null; then
		cgroup=$v2/skep-$name-$$
	elif [ -n "$v1" ]; then
		cgroup=$v1/skep-$name-$$
	fi
	[ -z "$cgroup" ] || mkdir "$cgroup"
}
