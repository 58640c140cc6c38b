#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Completion in a real bash and a real zsh: every option of every --help, commands, and values.
set -eu
: "${SKEP:?}" "${SKEP_DEV:?}" "${SKEPD:?}" "${abs_srcdir:?}" "${abs_builddir:?}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares texts; the build without sanitizers runs it"; exit 77; }
failed=0 checked=0
fail() { echo "FAIL: $*"; failed=$((failed + 1)); }
made=$abs_builddir/completions
[ -e "$made/skep" ] || made=$abs_srcdir/completions

help_options() { sed -nE 's/^ {2,}(-[A-Za-z], )?(--[a-z][a-z-]*).*/\2/p'; }
commands_of() { "$1" --help | sed -nE '/^usage/,/help  /s/^  ([a-z-]+) .*/\1/p' | grep -vx help; }

# ---- bash -------------------------------------------------------------------------------
# shellcheck source=/dev/null
. "$made/skep"
# shellcheck source=/dev/null
. "$made/skepd"
# shellcheck source=/dev/null
. "$made/skep-dev"
skep() { printf '  {\n    "id": "20261121T000000-abcdef",\n  }\n'; } # the completion asks it for runs

# complete_bash FUNCTION WORD...: sets COMPREPLY for the last word
complete_bash() {
	local function=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	"$function" 2>/dev/null
}
expect() { # WHAT WORD: among COMPREPLY
	checked=$((checked + 1))
	printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$2" || fail "bash: $1: '$2' is not in: ${COMPREPLY[*]}"
}
only() { # WHAT WORD...: COMPREPLY has nothing else
	local what=$1 word
	shift
	for word in "${COMPREPLY[@]}"; do
		printf '%s\n' "$@" | grep -qxF -- "$word" || fail "bash: $what: '$word' is not in the help"
	done
}

for program in "$SKEP" "$SKEP_DEV"; do
	name=$(basename "$program") commands=$(commands_of "$program")
	complete_bash "_${name//-/_}" "$name" ""
	for c in $commands help; do expect "$name" "$c"; done
	for c in $commands; do
		mapfile -t options < <({ "$program" help "$c" | help_options; echo --help; })
		complete_bash "_${name//-/_}" "$name" "$c" --
		for o in "${options[@]}"; do expect "$name $c" "$o"; done
		only "$name $c" "${options[@]}"
	done
done
mapfile -t options < <("$SKEPD" --help | help_options)
complete_bash _skepd skepd --
for o in "${options[@]}"; do expect skepd "$o"; done
only skepd "${options[@]}"

complete_bash _skep skep sh && expect "skep sh" show
complete_bash _skep skep help ru && expect "skep help ru" runs
complete_bash _skep skep show 2026 && expect "a run" 20261121T000000-abcdef
complete_bash _skep skep attach --run 2026 && expect "a run" 20261121T000000-abcdef
complete_bash _skep skep attach --run = 2026 && expect "a run behind =" 20261121T000000-abcdef
complete_bash _skep skep attach --pid "$$" && expect "a pid" "$$"
complete_bash _skep skep attach run && expect "a detail" runqlat
complete_bash _skep skep plugins pr && expect "a plugin" proc
complete_bash _skep skep loglevel "" && expect "a level" warning
complete_bash _skep skep filter "" && expect "skep filter" explain
complete_bash _skep skep filter explain "$$" && expect "a pid" "$$"
complete_bash _skep skep spool recover "$abs_srcdir/READ" && expect "a file of a word" "$abs_srcdir/README.md"
complete_bash _skep_dev skep-dev check "$abs_srcdir/READ" && expect "a file" "$abs_srcdir/README.md"
complete_bash _skep skep run --lake "$abs_srcdir/tes" && expect "a folder" "$abs_srcdir/tests"
complete_bash _skep skep doctor --config "$abs_srcdir/etc/skepd" && expect "a file" "$abs_srcdir/etc/skepd.conf"
complete_bash _skep skep run -- bas && expect "a command" bash
complete_bash _skepd skepd --options pr && expect "a plugin" proc
complete_bash _skepd skepd -c "$abs_srcdir/etc/skepd" && expect "a file" "$abs_srcdir/etc/skepd.conf"
# An option without completions is no error, and does not complete to everything.
complete_bash _skep skep show --width "" && [ ${#COMPREPLY[@]} -eq 0 ] || fail "a number completes to ${COMPREPLY[*]}"

# ---- zsh --------------------------------------------------------------------------------
if command -v zsh >/dev/null; then
	{
		for program in "$SKEP" "$SKEP_DEV"; do
			name=$(basename "$program") commands=$(commands_of "$program")
			echo "$name |$commands"
			for c in $commands; do echo "$name $c --|$("$program" help "$c" | help_options)"; done
		done
		echo "skepd --|$("$SKEPD" --help | help_options)"
		echo "skep loglevel |notice"
		echo "skep plugins |sched"
		echo "skepd --options |cgroup"
		echo "skep filter |explain"
		echo "skep doctor --config $abs_srcdir/etc/skepd|skepd.conf"
	} | awk -F'|' '/\|/ { line = $1; print line "|" $2; next } { print line "|" $0 }' >"$work/expected"
	mkdir "$work/home"
	HOME=$work/home timeout 300 zsh -f "$abs_srcdir/tests/docs/completion.zsh" "$made" "$work/expected" >"$work/zsh" 2>&1 </dev/null ||
		{ cat "$work/zsh"; fail "zsh: see above"; }
	n=$(sed -nE 's/^([0-9]+) completions.*/\1/p' "$work/zsh")
	[ "${n:-0}" -gt 40 ] || fail "zsh: only ${n:-no} completions were tried"
	checked=$((checked + ${n:-0}))
else
	echo "note: no zsh here: that half was left out"
fi

echo "$checked completions, $failed failed"
[ "$failed" -eq 0 ] && [ "$checked" -gt 60 ]
