#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/embed: the compiled-in data is byte for byte the file, with any bytes.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# every byte value, a digit after an octal escape, a quote, a backslash, a trigraph
awk 'BEGIN { for (i = 0; i < 256; i++) printf "%03o\n", i }' | while read -r octal; do printf "\\$octal"; done >"$work/in"
printf '\0019 "\\ ??/ \n end without newline' >>"$work/in"
"$abs_srcdir/scripts/embed" "$work/in" blob >"$work/blob.h"
cat >"$work/main.c" <<'END'
#include <stdio.h>
#include "blob.h"
int main(void)
{
	return fwrite(blob, 1, blob_len, stdout) != blob_len || blob[blob_len] != 0;
}
END
${CC:-cc} -Wall -Wextra -Werror -I"$work" -o "$work/main" "$work/main.c"
"$work/main" >"$work/out"
cmp "$work/in" "$work/out"
: >"$work/empty"
"$abs_srcdir/scripts/embed" "$work/empty" blob >"$work/blob.h"
${CC:-cc} -Wall -Wextra -Werror -I"$work" -o "$work/main" "$work/main.c"
"$work/main" >"$work/out"
cmp "$work/empty" "$work/out"
if "$abs_srcdir/scripts/embed" "$work/none" blob >/dev/null 2>&1; then echo "a missing file was accepted"; exit 1; fi
