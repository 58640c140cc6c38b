#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# skepd reports to a service manager: ready, reloads and their results, stopping, and pings while its loop runs.
# notify.py stands in for the manager. Needs no privilege.
set -u

: "${SKEPD:?path of skepd}" "${SKEP_PLUGIN_DIRS:?folder of the plugins}" "${SKEP_TEST_PLUGIN_DIRS:?folder of the fake ones}"
dir=$(mktemp -d "${TMPDIR:-/tmp}/notify.XXXXXX") || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
timeout 3000 python3 "$(dirname "$0")/notify.py" "$SKEPD" "$SKEP_TEST_PLUGIN_DIRS" "$dir"
