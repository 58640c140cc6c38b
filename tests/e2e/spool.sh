#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/spool.sh - what sinks get when things go wrong: a receiver that is away, skepd killed meanwhile, a disk that is
# full, a token that is refused, a spool that is damaged.  Two sinks, a file and one over HTTP (tests/faults/faultd): the one that
# is well is never delayed, and both have every process in the end, or what they have not is counted.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS with the sink http, $EXACT_BIN, python3.
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
[ -e "${SKEP_PLUGIN_DIRS%%:*}/http.so" ] || { echo "skip: built without the sink http"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-spool.XXXXXX")
trap 'umount "$work/disk" "$work/bpf" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/disk" "$work/bpf"
mount -t tmpfs -o size=24m skep-spool "$work/disk" || { echo "skip: needs to mount a tmpfs"; exit 77; }
mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
python3 "$here/spool.py" "$work" "$here/../faults/faultd"
