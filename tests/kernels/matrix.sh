#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/matrix.sh - the tests of tests.list on every kernel of it, two guests at a time.
#
#   matrix.sh [-b BUILD] [-j GUESTS] [-o FOLDER] [-q] [-u] [GUEST...]
#   -b BUILD    the build tree (default: here)
#   -j GUESTS   at the same time (default: as many as there are processors, 2 at least)
#   -o FOLDER   logs, consoles, signals of each guest (default BUILD/tests/kernels/results)
#   -q          quick: the guests and the tests of the list's lines "quick" and "smoke"
#   -u          writes expected/GUEST as measured, to be looked at and committed
#   GUEST       only these: 5.10-v2, newest-v1, ... or a series, which is all of its guests
#
# Says a line for each test and guest, then a table.  Ends with "matrix: N passed, N failed, N skipped".
# An emulated processor that shares its host may stand still for seconds: a test that fails is run once more, in a
# guest that has the machine for itself.  That it took two attempts is said, with what the first one printed.
# Exit status: 0 all as tests.list expects; 77 no kernel was available; else 1.
. "$(dirname "$0")/lib.sh"
build=$PWD jobs=$(nproc) update=false quick=false results=''
[ "$jobs" -ge 2 ] || jobs=2
while getopts b:j:o:qu o; do
	case $o in
	b) build=$(cd "$OPTARG" && pwd) ;;
	j) jobs=$OPTARG ;;
	o) results=$OPTARG ;;
	q) quick=true ;;
	u) update=true ;;
	*) usage "matrix.sh [-b BUILD] [-j GUESTS] [-o FOLDER] [-q] [-u] [GUEST...]" ;;
	esac
done
shift $((OPTIND - 1))
list=$kernels_here/tests.list
results=${results:-$build/tests/kernels/results}
need qemu-system-x86_64 qemu-system-x86 busybox busybox-static cpio cpio
# Every program that this script starts must know the place of its temporary files.
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-matrix.XXXXXX")
cleanup() {
	local job
	for job in $(jobs -p); do kill "$job" 2>/dev/null || :; done
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 130' INT TERM HUP
# The list has what a test takes at most on a quiet host.  Limits are for hanging tests: four times that, and more on a
# host that is busy already.
patience=$((4 + 4 * $(cut -d . -f 1 /proc/loadavg) / $(nproc)))
began=$SECONDS passed=0 failed=0 skipped=0

# ---- the tests: every test that wants root is in the list, to run or with the reason why not
grep -vE '^[[:space:]]*(#|$)' "$list" >"$work/list"
make -s -C "$build" print-privileged-tests >"$work/known" 2>/dev/null ||
	die "$build: make print-privileged-tests fails; remedy: configure and make there"
while read -r name; do
	awk -v n="$name" '$1 != "guests" && $1 != "quick" && $1 != "smoke" && $1 != "expect" && ($2 == n || $3 == n) { found = 1 } END { exit !found }' "$work/list" || {
		echo "FAIL      $name: not in tests.list; remedy: a line there, with 'omit' and the reason if it makes no sense in a guest"
		failed=$((failed + 1))
	}
done <"$work/known"
mapfile -t guests < <(awk -v word="$($quick && echo quick || echo guests)" '$1 == word { for (i = 2; i <= NF; i++) print $i }' "$work/list")
if [ $# -gt 0 ]; then
	wanted=()
	for guest in "${guests[@]}"; do
		for w; do [ "$guest" != "$w" ] && [ "${guest%-v*}" != "$w" ] || wanted+=("$guest"); done
	done
	[ ${#wanted[@]} -gt 0 ] || die "no guest '$*': ${guests[*]}"
	guests=("${wanted[@]}")
fi
mapfile -t series < <(printf '%s\n' "${guests[@]%-v*}" | sort -Vu)

# ---- kernels
rc=0
"$kernels_here/fetch.sh" "${series[@]}" || rc=$?
here=()
for guest in "${guests[@]}"; do
	if [ -e "$(kernel_dir "${guest%-v*}")/vmlinux" ]; then
		here+=("$guest")
	elif [ $rc -eq 0 ]; then
		echo "missing   $guest: the archive no longer has it"
		skipped=$((skipped + 1))
	else
		# also in CI: an archive that does not answer says nothing about skep
		echo "skip      $guest: its kernel could not be fetched (above)"
		skipped=$((skipped + 1))
	fi
done
if [ ${#here[@]} -eq 0 ]; then
	echo "skip: no kernel is in the cache $cache, and none could be fetched"
	exit 77
fi
"$kernels_here/image.sh" tools >/dev/null
"$kernels_here/image.sh" build "$build" "$work/build.ext4"
rm -rf "$results"
mkdir -p "$results"

# ---- guests
# tests_of GUEST: "SECONDS NAME VARIABLES" of each of its tests
tests_of() {
	local which limit name rest patterns pattern
	while read -r which limit name rest; do
		case $which in guests|quick|smoke|boot|expect|omit) continue ;; esac
		! $quick || grep -qE "^smoke .*$name( |\$)" "$work/list" || continue
		IFS=, read -ra patterns <<<"$which"
		for pattern in "${patterns[@]}"; do
			# shellcheck disable=SC2254 # a pattern
			case $1 in $pattern) echo "$((limit * patience)) $name $rest"; break ;; esac
		done
	done <"$work/list"
}

# expected GUEST NAME: "skip" or "fail" where the list says so, and why
expected() {
	awk -v g="$1" -v n="$2" '$1 == "expect" && $3 == n {
		k = split($2, p, ",")
		for (i = 1; i <= k; i++) {
			q = p[i]; gsub(/[.]/, "[.]", q); gsub(/[*]/, ".*", q)
			if (g ~ ("^" q "$")) { $1 = $2 = $3 = ""; sub(/^ +/, ""); print; exit }
		}
	}' "$work/list"
}

# run_guest GUEST [LIST]: its tests, or only those of that file
run_guest() {
	local guest=$1 log=$results/$1/output rc=0 more
	read -ra more < <(sed -n "s,^boot $1 ,,p" "$work/list") || :
	mkdir -p "$results/$guest"
	{
		"$kernels_here/environment.sh" "$build"
		echo "cat >/run/host/list <<'END'"
		if [ $# -gt 1 ]; then cat "$2"; else tests_of "$guest"; fi
		echo END
		echo "exec $(printf %q "$(source_of "$build")")/tests/kernels/guest-tests /run/host/list"
	} >"$work/command.$guest"
	# Each test has a limit of its own; this one ends a guest that hangs.  Without KVM all tests take ten minutes.
	"$kernels_here/boot.sh" -c "${guest##*-}" "${more[@]}" -t $((${SKEP_GUEST_SECONDS:-3600} * patience)) -o "$results/$guest" "${guest%-v*}" \
		"$work/build.ext4" "$work/command.$guest" >"$log" 2>"$results/$guest/errors" &
	# shellcheck disable=SC2064 # of this one
	trap "kill $!" INT TERM HUP
	wait $! || rc=$?
	echo "$rc" >"$results/$guest/rc"
}

# again GUEST: runs the failed tests of the guest once more, alone
again() {
	local guest=$1 dir=$results/$1 limit name rest status
	while read -r limit name rest; do
		[ -z "$(expected "$guest" "$name")" ] || continue
		status=$(sed -nE "s,^RESULT $name ([0-9]+) .*,\\1,p" "$dir/output")
		case $status in
		0|77|99) ;;
		*)
			echo "$limit $name $rest"
			echo "$guest $name ${status:-none}" >>"$work/second" ;;
		esac
	done < <(tests_of "$guest") >"$work/list.$guest"
	[ -s "$work/list.$guest" ] || return 0
	mv "$dir/output" "$dir/output.first"
	awk '{ print $2 }' "$work/list.$guest" | while read -r name; do
		echo "again     $guest $name: what the first attempt said:"
		awk -v n="$name" '/^RESULT / { if ($2 == n) { printf "%s", text; exit } text = "" } /^LOG / { text = text "    " substr($0, 5) "\n" }' "$dir/output.first"
	done
	run_guest "$guest" "$work/list.$guest"
	# Passed tests keep their results.
	awk 'NR == FNR { if ($1 == "RESULT") seen[$2] = 1; next } /^LOG / { text = text $0 "\n"; next }
		/^RESULT / { if (!($2 in seen)) printf "%s%s\n", text, $0; text = "" }' "$dir/output" "$dir/output.first" >"$work/kept"
	cat "$work/kept" >>"$dir/output"
}

# report GUEST: lines of its tests; one "GUEST NAME WORD" each in $work/table
report() {
	local guest=$1 dir=$results/$1 limit name rest word status seconds reason want
	while read -r limit name rest; do
		read -r status seconds reason < <(sed -n "s,^RESULT $name ,,p" "$dir/output") || status=''
		want=$(expected "$guest" "$name")
		case $status:${want%% *} in
		'':*)    word=NONE reason="no result: $(head -n 1 "$dir/errors")" seconds='-' ;;
		0:'')
			word=ok reason=''
			! grep -q "^$guest $name " "$work/second" || reason="at the second attempt" ;;
		0:*)     word=FAIL reason="passes, but tests.list expects: $want" ;;
		77:skip) word=lacks reason="${want#skip }" ;;
		77:*)    word=skip ;;
		99:*)    word=KERNEL reason="the kernel complained" ;;
		*:fail)  word=lacks reason="${want#fail }" ;;
		124:*|137:*) word=SLOW reason="no end after $limit s" ;;
		*)       word=FAIL reason="status $status" ;;
		esac
		printf '%-6s %-10s %-34s %4s s  %s\n' "$word" "$guest" "$name" "$seconds" "$reason"
		echo "$guest $name $word" >>"$work/table"
		case $word in
		ok|lacks) passed=$((passed + 1)) ;;
		skip)
			# As in scripts/check: an unexpected skip hides a failure.
			if [ "${CI:-}" = true ]; then failed=$((failed + 1)); else skipped=$((skipped + 1)); fi ;;
		*)
			failed=$((failed + 1))
			awk -v n="$name" '/^RESULT / { if ($2 == n) { printf "%s", text; exit } text = "" } /^LOG / { text = text "    " substr($0, 5) "\n" }' "$dir/output" ;;
		esac
	done < <(tests_of "$guest")
	if [ "$(cat "$dir/rc")" != 0 ]; then
		sed 's/^/    /' "$dir/errors"
		grep -vE '^(RESULT|LOG) ' "$dir/output" | tail -n 20 | sed 's/^/    /' || :
	fi
}

: >"$work/table"
: >"$work/second"
for guest in "${here[@]}"; do
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || :; done
	run_guest "$guest" &
done
wait
for guest in "${here[@]}"; do again "$guest"; done
for guest in "${here[@]}"; do report "$guest"; done

if $update; then
	for guest in "${here[@]}"; do
		[ -s "$results/$guest/signals" ] || continue
		name=$(cut -d . -f 1,2 "$(kernel_dir "${guest%-v*}")/release" | sed 's/[-+].*//')-${guest##*-}
		mkdir -p "$kernels_here/expected"
		cp "$results/$guest/signals" "$kernels_here/expected/$name"
		echo "wrote expected/$name"
	done
fi

# ---- the table
awk -v guests="${here[*]}" '
	{ if (!($2 in seen)) { seen[$2] = 1; order[++n] = $2 } word[$1 " " $2] = $3 }
	END {
		k = split(guests, g, " ")
		printf "\n%-36s", "test"
		for (i = 1; i <= k; i++) printf " %-10s", g[i]
		printf "\n"
		for (t = 1; t <= n; t++) {
			printf "%-36s", order[t]
			for (i = 1; i <= k; i++) printf " %-10s", ((g[i] " " order[t]) in word) ? word[g[i] " " order[t]] : "-"
			printf "\n"
		}
	}' "$work/table"
echo "lacks: as tests.list expects of that kernel.  Logs: $results"
cpu=$(cat "$results"/*/cpu | awk '{ s += $1 } END { print s }')
echo "matrix: $passed passed, $failed failed, $skipped skipped ($((SECONDS - began)) s; ${#here[@]} guests took $cpu s of CPU)"
[ $failed -eq 0 ]
