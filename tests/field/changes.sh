#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/changes.sh - what skepd reads at its start and the machine changes later: changes.py.
. "$(dirname "$0")/../e2e/run_lib.sh"
python3 "$here/changes.py" "$work" || failures=$((failures + 1))
finish
