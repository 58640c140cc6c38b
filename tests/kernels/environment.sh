#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/environment.sh BUILD - prints, for a shell in a guest, the variables that AM_TESTS_ENVIRONMENT of
# tests/Makemodule.am gives a test.
. "$(dirname "$0")/lib.sh"
[ $# -eq 1 ] || usage "environment.sh BUILD"
src=$(source_of "$1")
cat <<END
cd $(printf %q "$1") || exit 1
export abs_builddir=\$PWD abs_srcdir=$(printf %q "$src") CC=cc
export SKEP=\$PWD/skep SKEP_DEV=\$PWD/skep-dev SKEPD=\$PWD/skepd EXACT_BIN=\$PWD/tests/exact
export SKEP_PLUGIN_DIRS=\$PWD/plugins-run SKEP_TEST_PLUGIN_DIRS=\$PWD/plugins-test
export SKEP_SANITIZE=$(printf %q "$(sed -n 's/^SKEP_SANITIZE = *//p' "$1/Makefile" 2>/dev/null)")
export UBSAN_OPTIONS=print_stacktrace=1
# the factor by which tests wait longer than on the host
export SKEP_TEST_PATIENCE=10
END
