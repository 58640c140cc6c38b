#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The plugin ABI equals the one stored for its minor version (scripts/abi-report; "make checkabi" prints the same), and
# abi-report finds a member that is inserted or removed.
set -eu
src=${abs_srcdir:-.}
"$src/scripts/abi-report" check "$src"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests/abi"
cp -r "$src/include" "$work/"
cp -r "$src/tests/abi/stored" "$src/tests/abi/surface.c" "$work/tests/abi/"
chmod -R u+w "$work"
sed -i 's/^\tuint64_t interval_ns; .*/\tuint64_t inserted;\n&/' "$work/include/skep/plugin.h"
if "$src/scripts/abi-report" check "$work" >"$work/out" 2>&1 || ! grep -q inserted "$work/out"; then
	echo 'a member that is inserted is not told:'
	cat "$work/out"
	exit 1
fi
