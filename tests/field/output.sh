#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/output.sh - all that skep writes and reads is whole where another process has made the pipe non-blocking:
# output.py.
. "$(dirname "$0")/../e2e/run_lib.sh"
python3 "$here/output.py" "$work" || failures=$((failures + 1))
finish
