#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/sched_details.sh - the details of "sched" on the live kernel: counts and sums equal
# what the kernel books (tests/exact/details.c), with either memory of threads.
# Environment: EXACT_BIN.
set -eu
. "$(dirname "$0")/../attempts.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
"$EXACT_BIN/details" hash
rc=0
"$EXACT_BIN/details" task || rc=$?
[ $rc -eq 77 ] || exit $rc
