#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the sink otlp writes, as a reader of the protocol sees it that shares nothing with the writer.
set -eu
bench=${abs_builddir:-.}/tests/bench/bench_otlp
[ -x "$bench" ] || { echo "SKIP: built without the sink otlp"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: needs python3"; exit 77; }
python=python3
! /usr/bin/python3 -c 'import opentelemetry.proto' 2>/dev/null || python=/usr/bin/python3
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-otlp.XXXXXX")
trap 'rm -rf "$work"' EXIT
"$bench" --dump "$work"
exec_code=0
$python "${abs_srcdir:-.}/tests/otlp/wire.py" "$work" || exec_code=$?
exit $exec_code
