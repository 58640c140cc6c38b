#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/packages.sh [-q] [FOLDER] [SUITE...] - the packages that scripts/package left in FOLDER
# (build/package/out), held to Debian's rules by lintian, and used as an administrator uses them: guest.sh, in each
# suite (bookworm, trixie) at the same time; with PACKAGES=all also on their own kernels under qemu, which takes
# minutes; and as a new user does: newcomer.sh. RPM packages and the image, if they are there. -q: only the first suite,
# where the package is installed, started, removed. The last line: "packages: N passed, N failed, N skipped". Exit
# status: 0, 1, or 77 where nothing could run.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
quick=false
[ "${1:-}" != -q ] || { quick=true; shift; }
folder=${1:-$here/../../build/package/out}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- bookworm trixie
! $quick || set -- "$1"
. "$here/packages.bash"

[ "$(id -u)" -eq 0 ] || { echo "skip: packages.sh needs root"; exit 77; }
deb=$(find "$folder" -maxdepth 1 -name 'skep_*.deb' | LC_ALL=C sort | tail -1)
[ -n "$deb" ] || { echo "packages.sh: no skep_*.deb in $folder; remedy: scripts/package deb" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

# Beside the guests, which wait most of their time: lintian, and what else was built there.
lint_debs() {
	command -v lintian >/dev/null || { echo "skip: lintian is not installed; remedy: apt-get install -y lintian"; return 77; }
	if lintian --fail-on error,warning --suppress-tags bad-distribution-in-changes-file "$folder"/skep*.deb >"$work/findings" 2>&1; then
		echo "ok - lintian"
	else
		echo "not ok - lintian"
		sed 's/^/# /' "$work/findings"
		return 1
	fi
}
declare -A beside
lint_debs >"$work/lintian" 2>&1 &
beside[lintian]=$!
for kind in rpm:.rpm image:-oci.tar tarball:.tar.xz; do
	[ -n "$(find "$folder" -maxdepth 1 -name "skep*${kind#*:}")" ] || continue
	kind=${kind%:*}
	"$here/$kind.sh" "$folder" >"$work/$kind" 2>&1 &
	beside[$kind]=$!
done

if ! $quick; then
	"$here/newcomer.sh" "$folder" >"$work/newcomer" 2>&1 &
	beside[newcomer]=$!
fi

mkdir "$work/debs"
cp "$deb" "$work/debs/skep.deb"
next_of "$deb" "$work/debs/next.deb"
if $quick; then
	touch "$work/debs/quick"
elif command -v gpg >/dev/null && command -v apt-ftparchive >/dev/null; then
	bad_of "$deb" "$work/bad.deb"
	repository "$work/debs/repository" "$work/gnupg" "$work/debs/skep.deb" "$work/debs/next.deb"
	repository "$work/debs/repository-bad" "$work/gnupg" "$work/debs/skep.deb" "$work/debs/next.deb" "$work/bad.deb"
	repository "$work/debs/repository-strange" "$work/gnupg-strange" "$work/debs/skep.deb" "$work/debs/next.deb"
	gpgconf --homedir "$work/gnupg" --kill all
	gpgconf --homedir "$work/gnupg-strange" --kill all
else
	echo "skip: upgrades by itself: no gpg or apt-ftparchive; remedy: apt-get install -y gnupg apt-utils"
	skipped=$((skipped + 1))
fi
rules_deb site '{ "rules": [ { "id": "ran-trigger", "when": "exe = \"/usr/local/bin/ran-trigger\"", "verdict": "exclude" } ] }' \
	"$work/debs/rules.deb"
rules_deb broken '{ "rules": [ { "id": "broken", "when": "exe = ", "verdict": "exclude" } ] }' "$work/debs/broken.deb"
# guests HOW SUITE...: all at the same time
guests() {
	local how=$1 suite rc bad
	local -A pid
	shift
	for suite; do
		"$here/$how.sh" "$suite" "$work/debs" >"$work/$suite" 2>&1 &
		pid[$suite]=$!
	done
	for suite; do
		rc=0
		wait "${pid[$suite]}" || rc=$?
		echo "== $suite, $how"
		cat "$work/$suite"
		passed=$((passed + $(grep -c '^ok - ' "$work/$suite" || true)))
		bad=$(grep -c '^not ok - ' "$work/$suite" || true)
		case $rc in
		77) skipped=$((skipped + 1)) ;;
		0) failed=$((failed + bad)) ;;
		*) failed=$((failed + (bad > 0 ? bad : 1))) ;;
		esac
	done
}
guests nspawn "$@"
for kind in "${!beside[@]}"; do
	rc=0
	wait "${beside[$kind]}" || rc=$?
	echo "== $kind"
	cat "$work/$kind"
	passed=$((passed + $(grep -c '^ok - ' "$work/$kind" || true)))
	[ $rc -ne 77 ] || skipped=$((skipped + 1))
	[ $rc -eq 0 ] || [ $rc -eq 77 ] || failed=$((failed + 1))
done
[ "${PACKAGES:-}" != all ] || guests qemu "$@"
echo "packages: $passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] || exit 1
[ $passed -gt 0 ] || exit 77
