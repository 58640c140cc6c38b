#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/docs/json.sh - the answers of the commands against docs/reference/schema.
# Environment: SKEP, abs_srcdir, abs_builddir.
set -eu
fill=${abs_builddir:?}/tests/bench/fill_lake
[ -x "$fill" ] || { echo "skip: this build has no sink lake"; exit 77; }
python3 -c 'import jsonschema' 2>/dev/null || { echo "skip: needs python3-jsonschema"; exit 77; }
unset SKEP_LAKE
exec python3 "${abs_srcdir:?}/tests/docs/json_answers.py" "$abs_srcdir/docs/reference" "$fill"
