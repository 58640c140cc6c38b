#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/hostile/hostile.sh - a local user plays every trick of hostile.c beside a storm of another user's processes:
# skepd always answers within a second, its memory and files stay within bounds, the other user's records are right, and
# every lost record is counted. Needs: root, $SKEPD, $SKEP_PLUGIN_DIRS, $EXACT_BIN, $HOSTILE_BIN, python3.
# The build with sanitizers runs it for 20 s, the nightly run without them for 600 s.
# HOSTILE_SECONDS (20; set: in any build), RATE of the storm (100 a second), TRICKS (all), KEEP (do not remove the
# work folder).
set -u
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
[ -n "${SKEP_SANITIZE:-}${HOSTILE_SECONDS:-}" ] ||
	{ echo "skip: sanitizers: their build plays the tricks, as it sees more; HOSTILE_SECONDS=20 plays them here"; exit 77; }
[ -r /sys/kernel/btf/vmlinux ] || { echo "skip: this kernel has no BTF"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
command -v setpriv >/dev/null || { echo "skip: no setpriv"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-hostile.XXXXXX")
player=
trap '[ -z "$player" ] || kill "$player" 2>/dev/null; umount "$work/bpf" 2>/dev/null; [ -n "${KEEP:-}" ] || rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
chmod 0755 "$work"
mkdir "$work/bpf"
mount -t bpf bpf "$work/bpf" || { echo "skip: needs to mount a BPF filesystem"; exit 77; }
# As a child of init: a session that anything else has begun is a run, and all that the test starts would be part of
# that one run. shellcheck disable=SC2016
(setsid sh -c 'echo $$ >"$1/pid"; python3 "$2" "$1" >"$1/said" 2>&1; echo $? >"$1/status"' hostile "$work" "$(dirname "$0")/hostile.py" </dev/null &)
until [ -s "$work/pid" ]; do sleep 0.1; done
player=$(cat "$work/pid")
until [ -s "$work/status" ] || ! kill -0 "$player" 2>/dev/null; do sleep 0.2; done
cat "$work/said"
exit "$(cat "$work/status" 2>/dev/null || echo 1)"
