#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/field/namespace.sh - `skep run` in namespaces of each kind, and children that are another process's:
# namespace.py.
. "$(dirname "$0")/../e2e/run_lib.sh"
$CC -std=c17 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread "$here/../e2e/fixtures/clone.c" -o "$work/clone" ||
	{ echo "FAIL - clone.c does not compile"; exit 1; }
python3 "$here/namespace.py" "$work" || failures=$((failures + 1))
finish
