#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kafka.sh [--build DIR] - skepd is killed (kill -9) KILLS (10) times while RATE (300) processes a second start, and
# produces to brokers in another process (tests/faults/kmock): no process is missing, and records sent again after a
# restart have the same headers. As root; installs nothing; half a minute. sinks/kafka/README.md has its figures.
set -eu
build=${abs_builddir:-$PWD}
[ "${1:-}" != --build ] || { build=$(realpath "$2"); shift 2; }
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "SKIP: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: needs python3"; exit 77; }
for program in skepd tests/faults/kmock tests/exact/storm tests/exact/tiny; do
	[ -x "$build/$program" ] || { echo "kafka.sh: no $program in $build: make $program, or --build DIR" >&2; exit 2; }
done
work=$(mktemp -d /tmp/skep_kafka.XXXXXX)
trap 'umount "$work/bpf" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/bpf"
mount -t bpf bpf "$work/bpf" || { echo "SKIP: needs to mount a BPF filesystem"; exit 77; }
SKEP_PLUGIN_DIRS=$build/plugins-run python3 "$here/kafka.py" "$build" "$work"
