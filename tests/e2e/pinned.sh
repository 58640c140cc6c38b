#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/pinned.sh [left] - the test restarts skepd again and again while processes start, also with another build of
# its kernel side. Every process has one record, with its program; afterwards no program is left in the kernel. Needs:
# root, $SKEPD, $SKEP_PLUGIN_DIRS, $EXACT_BIN, python3, bpftool. RATE: processes a second (300), RESTARTS of each kind
# (3). left: the cases of pinned_left.sh instead.
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
for tool in python3 bpftool; do
	command -v $tool >/dev/null || { echo "skip: needs $tool"; exit 77; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-pinned.XXXXXX")
trap 'umount "$work/bpf" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/bpf"
# A mount of its own, because other programs have pins in /sys/fs/bpf.
mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
python3 "$(dirname "$0")/pinned.py" "$work" "${1:-restarts}"
