#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/host_cloud.sh - the probe "host" asks a stand-in of each cloud's metadata service, and
# one that hangs, drips, talks nonsense, too much or of elsewhere. Needs no privilege.
# Environment: SKEPD, SKEP_PLUGIN_DIRS.
set -u
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
exec python3 "$(dirname "$0")/host_cloud.py"
