#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/host_live.sh - compares the records of the probes "host" and "identity" with /proc, which host_live.py reads
# before and after. Needs no privilege. Environment: SKEPD, SKEP_PLUGIN_DIRS.
set -u
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
[ -r /proc/1/net/dev ] && [ -r /proc/diskstats ] || { echo "skip: /proc is not the kernel's here"; exit 77; }
exec python3 "$(dirname "$0")/host_live.py"
