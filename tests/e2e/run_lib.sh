# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_lib.sh - shared by the tests of `skep run`, which source it. Environment: SKEP (the program),
# SKEP_PLUGIN_DIRS, CC.
set -u
. "$(dirname "$0")/../wait.sh"
here=$(cd "$(dirname "$0")" && pwd)
SKEP=${SKEP:-skep}
CC=${CC:-cc}
export LC_ALL=C.UTF-8
unset SKEP_RUN SKEP_LAKE

skip() { echo "skip: $*"; exit 77; }
ok() { echo "ok - $*"; }
fail() { echo "FAIL - $*"; failures=$((failures + 1)); }
# same WHAT WANTED GOT
same() { if [ "$2" = "$3" ]; then ok "$1"; else fail "$1: wanted '$2', got '$3'"; fi }
# contains WHAT FILE FIXED-STRING
contains() { if grep -qF -- "$3" "$2"; then ok "$1"; else fail "$1: '$3' is not in:"; sed 's/^/    /' "$2"; fi }
finish() { [ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }; exit 0; }

failures=0
[ "$(id -u)" -eq 0 ] || skip "needs root (BPF)"
command -v python3 >/dev/null || skip "needs python3"
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-e2e.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
lake=$work/lake

# skep run, quietly; its own messages go to $work/err
run() { "$SKEP" run --lake "$lake" --no-live --no-report "$@"; }

# fixture NAME: compiles fixtures/NAME.c to $work/NAME
fixture() {
	# word splitting on purpose: CC may be "ccache gcc"
	$CC -std=c17 -D_GNU_SOURCE -O1 -Wall -Wextra -pthread "$here/fixtures/$1.c" -o "$work/$1" ||
		{ echo "FAIL - fixtures/$1.c does not compile"; exit 1; }
}

# json FILE EXPRESSION: prints the value of the python expression over the report r
json() {
	python3 - "$1" "$2" <<'PY'
import json, sys
r = json.load(open(sys.argv[1]))
run, processes = r["run"], r["processes"]
last = [p for p in processes if p["last"]]
print(eval(sys.argv[2]))
PY
}

run true 2>"$work/err"
case $? in
0) ;;
4) skip "collecting is not possible here: $(head -1 "$work/err")" ;;
*) echo "FAIL - skep run true:"; cat "$work/err"; exit 1 ;;
esac
