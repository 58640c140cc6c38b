#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/boot.sh - boots one kernel of the cache under qemu and runs a script in it.
#
#   boot.sh [options] KERNEL BUILD-IMAGE SCRIPT
#   -c v1|v2     its cgroup file systems (default v2)
#   -s CPUS      (default 1)       -m MIB     memory (default 1024)
#   -t SECONDS   its time (default 300)
#   -p PARAMS    more of the kernel's parameters
#   -o FOLDER    where the guest's /results go: status, dmesg, and what SCRIPT left there; beside
#                them console, the kernel's, and cpu, the seconds that the guest took of this host
#
# Prints what SCRIPT prints, as it comes.  Exit status: SCRIPT's; 124 its time was over; 125 it ended without a
# result (a panic): the end of the console is on standard error then.
. "$(dirname "$0")/lib.sh"
cgroup=v2 smp=1 memory=1024 limit=300 params='' results=''
while getopts c:s:m:t:p:o: o; do
	case $o in
	c) cgroup=$OPTARG ;;
	s) smp=$OPTARG ;;
	m) memory=$OPTARG ;;
	t) limit=$OPTARG ;;
	p) params=$OPTARG ;;
	o) results=$OPTARG ;;
	*) usage "boot.sh [-c v1|v2] [-s CPUS] [-m MIB] [-t SECONDS] [-p PARAMS] [-o FOLDER] KERNEL BUILD-IMAGE SCRIPT" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -eq 3 ] || usage "boot.sh [options] KERNEL BUILD-IMAGE SCRIPT"
case $cgroup in v1|v2) ;; *) die "-c $cgroup: v1 or v2" ;; esac
need qemu-system-x86_64 qemu-system-x86
kernel=$(kernel_dir "$1")
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-guest.XXXXXX")
qemu='' timer=''
stop_timer() {
	pkill -P "$timer" 2>/dev/null || :
	kill "$timer" 2>/dev/null || :
	wait "$timer" 2>/dev/null || :
	timer=''
}
cleanup() {
	[ -z "$qemu" ] || kill -KILL "$qemu" 2>/dev/null || :
	[ -z "$timer" ] || stop_timer
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
tools=$("$kernels_here/image.sh" tools)
initramfs=$("$kernels_here/initramfs.sh" "$1")

# The request, on a disk that also brings the results back.
mkdir "$work/request"
cp "$3" "$work/request/command"
echo "cgroup=$cgroup" >"$work/request/settings"
tar c -C "$work/request" -f "$work/exchange" .
truncate -s 64M "$work/exchange"
truncate -s 1G "$work/scratch"
mkfifo "$work/out"
: >"$work/console"

# quiet, loglevel=4: warnings and worse.  mitigations=off, nokaslr: emulation gains nothing by them.
# nowatchdog, rcu_cpu_stall_suppress: an emulated processor stands still whenever its host is busy.
# cgroup_no_v1 is not needed: a controller goes where it is mounted first.
append="console=ttyS0 quiet loglevel=4 panic=-1 oops=panic nokaslr mitigations=off random.trust_cpu=on
tsc=reliable no_timer_check audit=0 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 $params"

disk() { echo "-drive file=$1,format=raw,if=none,id=$2,$3 -device virtio-blk-pci,drive=$2,romfile="; }
# shellcheck disable=SC2046 # disk gives several words
qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M pc,usb=off -cpu "${SKEP_KERNEL_CPU:-max}" \
	-accel "${SKEP_KERNEL_ACCEL:-tcg,thread=single}" -smp "$smp" -m "$memory" \
	-kernel "$kernel/vmlinux" -initrd "$initramfs" -append "${append//$'\n'/ }" \
	-serial "file:$work/console" -chardev stdio,id=out,signal=off -serial chardev:out \
	$(disk "$tools" tools readonly=on) $(disk "$2" build readonly=on) \
	$(disk "$work/exchange" exchange cache=unsafe) $(disk "$work/scratch" scratch cache=unsafe) \
	</dev/null 2>"$work/qemu.err" >"$work/out" &
qemu=$!
( sleep "$limit"; touch "$work/late"; kill -TERM $qemu ) >/dev/null 2>&1 &
timer=$!
# In the background, so that this script handles a signal at once.
stdbuf -oL tr -d '\r' <"$work/out" &
wait $! || :
status=0
wait $qemu || status=$?
qemu=''
# The CPU time that the guest took of the host: on a busy host it says more than the clock.
times >"$work/times" # no pipe: a subshell has children of its own
awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, "[ms]"); s += t[1] * 60 + t[2] } print int(s) }' "$work/times" >"$work/cpu"
stop_timer
cat "$work/qemu.err" >&2

mkdir "$work/results"
[ $status -ne 0 ] || tar x -C "$work/results" -f "$work/exchange" 2>/dev/null || :
rm -f "$work/results/command" "$work/results/settings"
cp "$work/console" "$work/cpu" "$work/results/"
if [ -n "$results" ]; then
	mkdir -p "$results"
	cp -a "$work/results/." "$results/"
fi
if [ -e "$work/late" ]; then
	echo "$me: $1: no end after $limit s; the end of its console:" >&2
elif [ ! -s "$work/results/status" ]; then
	echo "$me: $1: the guest ended without a result; the end of its console:" >&2
else
	exit "$(cat "$work/results/status")"
fi
tr -d '\r' <"$work/console" | tail -n 40 >&2
[ ! -e "$work/late" ] || exit 124
exit 125
