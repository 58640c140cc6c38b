#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/io_devices.sh - the test adds and removes block devices while the probe io runs. Each write is in a record
# of its device, or counts as lost if the device existed only between two passes. Needs: root, loop devices, python3.
# Environment: SKEPD, SKEP_PLUGIN_DIRS.
set -eu
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
[ -e "${SKEP_PLUGIN_DIRS:-.}/io.so" ] || { echo "skip: the probe io is not built"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-devices.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
python3 "$(dirname "$0")/io_devices.py" "$work"
echo "ok - writes to devices that come and go are in records or counted as lost"
