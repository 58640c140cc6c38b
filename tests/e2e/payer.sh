#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/payer.sh - who answers for a process in a user namespace: 900 subordinate uids of one user have one budget
# in the lake.  Needs: root, $SKEPD, $SKEP_PLUGIN_DIRS, python3.
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-payer.XXXXXX")
trap 'rm -rf "$work"' EXIT
PYTHONPATH=$(dirname "$0") python3 "$(dirname "$0")/payer.py" "$work"
