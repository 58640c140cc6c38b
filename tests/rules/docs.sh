#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# docs/reference/rules.md says what the program does: fields, examples, sessions.
set -eu
command -v python3 >/dev/null || { echo "SKIP: needs python3"; exit 77; }
exec python3 "${abs_srcdir:-.}/tests/rules/docs.py" "${SKEP:-./skep}" "${abs_srcdir:-.}/docs/reference/rules.md"
