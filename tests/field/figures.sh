#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/figures.sh - figures that promise no more than they count: figures.py.
. "$(dirname "$0")/../e2e/run_lib.sh"
python3 "$here/figures.py" "$work" || failures=$((failures + 1))
finish
