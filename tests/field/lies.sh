#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/lies.sh - servers that answer 200 and store nothing: each sink keeps its records, says why, and delivers
# them when the server mends; a question to such a server has no answer: lies.py.
. "$(dirname "$0")/../e2e/run_lib.sh"
for sink in clickhouse http otlp remote_write; do
	[ -e "${SKEP_PLUGIN_DIRS%%:*}/$sink.so" ] || skip "built without the sink $sink"
done
PYTHONPATH=$here/../e2e python3 "$here/lies.py" "$work" "$here/../faults/faultd" || failures=$((failures + 1))
finish
