#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/io_truth.sh - programs read and write a known number of bytes in every possible way; the test compares these
# with the records of the probe "io" for the process, the device and the ledger, and prints a table. Environment: SKEPD,
# SKEP_PLUGIN_DIRS, abs_builddir.
name=io-truth
. "$(dirname "$0")/probe_lib.sh"
needs_probe io
needs_disk

cat >"$work/conf" <<END
{ "interval": "1s",
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "io", "required": true } ],
  "sinks": [ { "plugin": "file", "path": "$work/out" } ] }
END
start
python3 "$here/io_truth.py" run "$disk" "$work/cases"
judge() { python3 "$here/io_truth.py" judge "$work/cases" "$work/out"; }
wait_for judge || :
stop
judge
