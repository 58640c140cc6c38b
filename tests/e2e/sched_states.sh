#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sched_states.sh - the states that "sched" samples match the processes' real states (tests/exact/states.c).
# Environment: EXACT_BIN.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
set -eu
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
exec "$EXACT_BIN/states"
