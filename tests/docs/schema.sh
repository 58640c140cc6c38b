#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The JSON Schema of the configuration refuses what `skepd -t` refuses, and accepts what skepd accepts.
set -eu
: "${SKEPD:?}" "${abs_srcdir:?}"
python3 -c 'import jsonschema' 2>/dev/null || { echo "skip: no python3-jsonschema"; exit 77; }
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares texts; the build without sanitizers runs it"; exit 77; }
python3 "$abs_srcdir/tests/docs/schema.py" "$SKEPD" "$abs_srcdir/etc/skepd.conf"
