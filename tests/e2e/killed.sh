#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/killed.sh - the test kills skepd (SIGKILL) again and again while processes start. The lake has one record of
# each process, with its program, its parent and its sums, and the ledger of records counts no loss. Figures:
# docs/inside/restart.md. Needs: root, $SKEPD, $SKEP_PLUGIN_DIRS, $EXACT_BIN, python3. RATE: processes a second (300),
# KILLS (3).
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-killed.XXXXXX")
trap 'umount "$work/bpf" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/bpf"
mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
python3 "$(dirname "$0")/killed.py" "$work"
