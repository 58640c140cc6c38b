#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/exact/pids.sh - what the programs of "proc" keep by pid, when another task gets the pid (pids.c). Environment:
# EXACT_BIN.
exec "$EXACT_BIN/pids"
