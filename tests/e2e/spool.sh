#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/spool.sh - the records of two sinks, a file and one over HTTP (tests/faults/faultd), during faults: a
# receiver that does not answer, a killed skepd, a full disk, a refused token, a damaged spool. The faults never delay
# the healthy sink. In the end both have every process, or skepd counts the missing records. Needs: root, $SKEP, $SKEPD,
# $SKEP_PLUGIN_DIRS with the sink http, $EXACT_BIN, python3.
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
