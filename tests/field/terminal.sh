#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/terminal.sh - the keys of a terminal, its owner and the jobs of an interactive shell are the same behind
# `skep run` as without it: terminal.py.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the build without sanitizers tests terminals"; exit 77; }
. "$(dirname "$0")/../e2e/run_lib.sh"
python3 "$here/terminal.py" "$work" || failures=$((failures + 1))
finish
