#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/rules.sh - skepd reports no excluded process and every other process once. The result is the same when the
# kernel decides and when skepd decides, below excluded parents, and while the rules change under a storm of processes.
# Environment: SKEPD, SKEP_PLUGIN_DIRS, EXACT_BIN; STORM_SECONDS (default 12, of a sanitizers' build 6).
set -eu
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-rules.XXXXXX")
trap 'rm -rf "$work"' EXIT
chmod 755 "$work" # another user starts programs there
python3 "$(dirname "$0")/rules.py" "$work"
