#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/identity_cloud.sh - the probe "identity" asks a stand-in of each cloud's metadata service, and stand-ins
# that hang, send slowly, send nonsense, send too much or redirect elsewhere. Needs no privilege.
# Environment: SKEPD, SKEP_PLUGIN_DIRS.
set -u
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
exec python3 "$(dirname "$0")/identity_cloud.py"
