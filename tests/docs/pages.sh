#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The manual pages: every option of --help is in them and the other way round, every option of a
# plugin and every key of its option table; groff and mandoc have nothing to say about them.
set -eu
: "${SKEP:?}" "${SKEP_DEV:?}" "${SKEPD:?}" "${abs_srcdir:?}" "${abs_builddir:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares texts; the build without sanitizers runs it"; exit 77; }
failed=0 checked=0
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }

# page NAME: its path, in a build from git or from a tarball
page() { if [ -e "$abs_builddir/man/$1" ]; then echo "$abs_builddir/man/$1"; else echo "$abs_srcdir/man/$1"; fi; }

# Options at the beginning of a line of help, without options inside of descriptions.
help_options() { sed -nE 's/^ {2,}(-[A-Za-z], )?(--[a-z][a-z-]*).*/\2/p' | sort -u; }
# Options that are terms of a page: the line after .TP.
page_options() { grep -A1 '^\.TP' | sed -nE 's/.*\\fB(\\-\\-[a-z\\-]*)\\fP.*/\1/p' | tr -d '\\' | sort -u; }

same() { # WHAT FILE FILE
	checked=$((checked + $(wc -l <"$2")))
	diff "$2" "$3" >"$work/diff" || fail "$1: < only in --help, > only in the page: $(grep '^[<>]' "$work/diff" | tr '\n' ' ')"
}

# commands_in PROGRAM LEAST PAGE: every command, and every option of each
commands_in() {
	local name commands c
	name=$(basename "$1")
	commands=$("$1" --help | sed -nE '/^usage/,/help  /s/^  ([a-z-]+) .*/\1/p' | grep -vx help)
	[ "$(echo "$commands" | wc -l)" -ge "$2" ] || fail "only these commands in $name --help: $commands"
	for c in $commands; do
		"$1" help "$c" >"$work/help"
		help_options <"$work/help" >"$work/a"
		sed -n "/^\.SS \"${name//-/\\\\-} ${c//-/\\\\-}\"/,/^\.S[SH] /p" "$(page "$3")" >"$work/section"
		# the help's first option-like words may be in prose: terms only
		page_options <"$work/section" >"$work/b"
		[ -s "$work/section" ] || fail "$3 has nothing about $c"
		same "$name $c" "$work/a" "$work/b"
	done
}
commands_in "$SKEP" 13 skep.1
commands_in "$SKEP_DEV" 2 skep-dev.1

"$SKEPD" --help | help_options >"$work/a"
sed -n '/^\.SH "OPTIONS"/,/^\.SH "SIGNALS"/p' "$(page skepd.8)" | page_options >"$work/b"
same skepd "$work/a" "$work/b"

for p in $("$SKEPD" --list-plugins | cut -d' ' -f1); do
	[ -e "$abs_srcdir/man/skep-$p.7.in" ] || { fail "plugin $p has no man/skep-$p.7.in"; continue; }
	"$SKEPD" --options "$p" | sed -e '1,/^option /d' | cut -d' ' -f1 | sort >"$work/a"
	sed -n '/^\.SH "OPTIONS"/,/^\.SH "[DS]/p' "$(page "skep-$p.7")" | grep -A1 '^\.TP' | sed -nE 's/^\\fB([^\\]*(\\-[^\\]*)*)\\fP \(.*/\1/p' | tr -d '\\' | sort >"$work/b"
	same "skepd --options $p" "$work/a" "$work/b"
	grep -qF "skep\\-$p" "$(page skepd.8)" || fail "skepd.8 does not name skep-$p"
done

# skepd accepts the entry that a plugin's page begins with: the entry has every required option.
for p in "$abs_srcdir"/man/skep-*.7.in; do
	name=$(basename "$p" .7.in) name=${name#skep-}
	"$SKEPD" --list-plugins | grep -q "^$name " || continue
	list=$(sed -nE '/^# SYNOPSIS/,/^# D/s/^in `(probes|sinks)` of .*/\1/p' "$p")
	entry=$(sed -nE '/^# SYNOPSIS/,/^# D/s/^ +(\{.*\})$/\1/p' "$p")
	printf '{ "control": { "socket": false }, "%s": [ %s ] }\n' "$list" "$entry" >"$work/entry.conf"
	checked=$((checked + 1))
	"$SKEPD" --test --config "$work/entry.conf" >"$work/entry" 2>&1 || fail "skep-$name.7: skepd refuses its synopsis: $(cat "$work/entry")"
done

# The table of signals in docs/inside/kernels.md is the one of tests/kernels/expected.
bash "$abs_srcdir/tests/kernels/signals-table.sh" >"$work/a"
sed -n '/^## Signals by kernel/,$p' "$abs_srcdir/docs/inside/kernels.md" | grep '^|' >"$work/b"
diff "$work/a" "$work/b" >"$work/diff" || fail "docs/inside/kernels.md: its table is not what tests/kernels/signals-table.sh prints: $(head -3 "$work/diff")"

# The tables of records, of the core and of every plugin in this build, and of keys match the code.
python3 "$abs_srcdir/man/tables.py" "$(page interface.json)" "$abs_srcdir/docs" >"$work/a" 2>&1 || fail "$(cat "$work/a")"

# skep help concepts and the page say the same.
"$SKEP" help concepts >"$work/a"
sed -n '/^```text$/,/^```$/p' "$abs_srcdir/docs/start/concepts.md" | grep -v '^```' >"$work/b"
diff "$work/a" "$work/b" >"$work/diff" || fail "docs/start/concepts.md differs from cli/base/concepts.txt: $(head -3 "$work/diff")"

# Every link between pages, from the index and from the READMEs leads to an existing file and heading.
python3 "$abs_srcdir/tests/docs/links.py" "$abs_srcdir" >"$work/a" || fail "$(cat "$work/a")"

# Pages quote the unit's own lines.
grep -rhoE 'Exec[A-Z][a-z]+=[^`]+`' "$abs_srcdir/docs" | tr -d '`' | sort -u | while read -r line; do
	[ "$line" = "${line%%=*}=" ] || sed "s,@sbindir@,/usr/sbin," "$abs_srcdir/etc/systemd/skepd.service.in" | grep -qxF "$line" || echo "$line"
done >"$work/a"
[ ! -s "$work/a" ] || fail "docs quote lines that the unit does not have: $(cat "$work/a")"

for p in "$abs_srcdir"/man/*.in; do
	p=$(basename "$p" .in) file=$(page "$p")
	[ -e "$file" ] || { fail "$p was not made"; continue; }
	checked=$((checked + 1))
	if command -v groff >/dev/null; then
		LC_ALL=C.UTF-8 groff -man -ww -Tutf8 -z "$file" >"$work/groff" 2>&1 || true
		[ ! -s "$work/groff" ] || fail "groff on $p: $(head -3 "$work/groff")"
	fi
	if command -v mandoc >/dev/null; then
		mandoc -T lint -W warning "$file" >"$work/mandoc" 2>&1 || true
		[ ! -s "$work/mandoc" ] || fail "mandoc on $p: $(head -3 "$work/mandoc")"
	fi
	! grep -nE '@[A-Z_]+( [a-z]+)?@' "$file" || fail "$p: a mark was not replaced"
done
command -v groff >/dev/null && command -v mandoc >/dev/null || echo "note: groff or mandoc is not here: that half was left out"

echo "$checked options and pages, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 100 ]
