#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/front.sh - `skep run` in front of a command changes nothing for the caller and for the command: front.py.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: they need more memory than the limits of this test leave"; exit 77; }
. "$(dirname "$0")/../e2e/run_lib.sh"
python3 "$here/front.py" "$work" || failures=$((failures + 1))
finish
