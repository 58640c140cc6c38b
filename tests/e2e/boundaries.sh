#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/boundaries.sh - skepd reads the variables of boundaries where a run or a task can begin, and at no other
# exec; also after a reload and after SIGKILL. A recognizer knows a parent that a rule excludes. Two scripts that a user
# types at a shell are two runs. A workflow that runs while skepd ends and begins again stays one run. Parts of a job on
# two hosts have one key. Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, python3, unshare. About 20 seconds.
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-boundaries.XXXXXX")
trap 'umount "$work/bpf" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir "$work/bpf"
# A mount of its own, because other programs have pins in /sys/fs/bpf.
mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
# As init's child: below "make check" all that the test starts would be in make's run.
# shellcheck disable=SC2016
(setsid sh -c 'timeout 3000 python3 "$1/boundaries.py" "$2" >"$2/printed" 2>&1; echo $? >"$2/status"' test "$(dirname "$0")" "$work" &)
until [ -s "$work/status" ]; do sleep 0.1; done
cat "$work/printed"
exit "$(cat "$work/status")"
