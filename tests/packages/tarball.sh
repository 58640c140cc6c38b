#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/tarball.sh [FOLDER] - the tarball that scripts/package left in FOLDER (build/package/out), unpacked somewhere, in
# a root that has none of the libraries that it brings: Debian 12 without them. Exit status 77: cannot run here.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "${1:-$here/../../build/package/out}" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "skip: tarball.sh needs root"; exit 77; }
package=$(find "$folder" -maxdepth 1 -name 'skep-*-linux-*.tar.xz' | LC_ALL=C sort | tail -1)
[ -n "$package" ] || { echo "tarball.sh: no skep-*-linux-*.tar.xz in $folder; remedy: scripts/package deb tarball" >&2; exit 1; }
tar=$("$here/root.sh" bookworm)
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-tarball.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
check() {
	local what=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		tail -n 15 "$work/log" | sed 's/^/# /'
		failed=1
	fi
}
mkdir -p "$work/root/some/where else"
tar xf "$tar" -C "$work/root" --numeric-owner
rm -f "$work"/root/usr/lib/*/lib{bpf,elf,jansson,pcre2-8,sqlite3,uv}.so*
tar xf "$package" -C "$work/root/some/where else"
name=$(ls "$work/root/some/where else")
ln -s "/some/where else/$name/bin/skep" "$work/root/usr/local/bin/skep"
inside() {
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
		exec chroot "$0" "$@"' "$work/root" "$@"
}
check "the libraries are not there otherwise" sh -c '! find "$1/usr/lib" -name "libbpf.so*" | grep .' - "$work/root"
check "skepd -t" inside "/some/where else/$name/sbin/skepd" -t
inside "/some/where else/$name/sbin/skepd" --list-plugins -v >"$work/plugins" 2>&1 || true
plugins=$(find "$work/root/some/where else/$name/lib/skep/plugins" -name '*.so' | wc -l) # kafka, where librdkafka was there
check "all its plugins, its own" test "$(grep -c "/some/where else/$name/lib/skep/plugins/.*\\.so$" "$work/plugins")" = "$plugins" -a "$plugins" -ge 14
check "skep run, by a link" inside /usr/local/bin/skep run --lake /tmp/lake --json /tmp/report -- sh -c 'env; cat /proc/version'
check "it has collected" grep -q '"exe": *"/usr/bin/cat"' "$work/root/tmp/report"
check "the command does not inherit where the libraries are" sh -c '! grep LD_LIBRARY_PATH "$1"' - "$work/log"
check "with a configuration of somebody's: that one" sh -c 'echo "{ \"intervall\": 1 }" >"$1/tmp/c"' - "$work/root"
inside "/some/where else/$name/sbin/skepd" -t -c /tmp/c >"$work/said" 2>&1 || true
check "is what it reads" grep -q '^/tmp/c:1:' "$work/said"
exit $failed
