#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/rpm.sh [FOLDER] - the RPM packages that scripts/package left in FOLDER (build/package/out): rpmlint,
# then installed into a root of its own by rpm --root, where skepd -t has to be content; upgraded, erased. Exit status
# 77: cannot run here. The root is Debian's, with the libraries that the packages name but not in rpm's database:
# --nodeps.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "${1:-$here/../../build/package/out}" && pwd)
for p in rpm:rpm rpmbuild:rpm; do
	command -v "${p%:*}" >/dev/null || { echo "skip: rpm.sh needs ${p#*:}; remedy: apt-get install -y ${p#*:}"; exit 77; }
done
tar=$("$here/root.sh" bookworm)
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-rpm.XXXXXX")
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
package=$(find "$folder" -maxdepth 1 -name 'skep-[0-9]*.rpm' ! -name '*.src.rpm' | LC_ALL=C sort | tail -1)
devel=$(find "$folder" -maxdepth 1 -name 'skep-devel-*.rpm' | LC_ALL=C sort | tail -1)
[ -n "$package" ] && [ -n "$devel" ] || { echo "rpm.sh: no skep-*.rpm in $folder; remedy: scripts/package rpm" >&2; exit 1; }

if command -v rpmlint >/dev/null; then
	check "rpmlint" sh -c 'rpmlint -c "$1" "$2" "$3" && ! rpmlint -c "$1" "$2" "$3" | grep -E " [EW]: "' - \
		"$here/../../packaging/rpm/rpmlint.toml" "$package" "$devel"
else
	echo "skip: rpmlint is not installed"
fi
mkdir "$work/root"
tar xf "$tar" -C "$work/root" --numeric-owner
in_root() { rpm --root "$work/root" "$@"; }
check "rpm --root -i" in_root -i --nodeps "$package" "$devel"
check "rpm -V: all as it was packaged" in_root -V --nodeps skep skep-devel
check "it provides the plugin ABI" sh -c 'rpm --root "$1" -q --provides skep | grep -qx "skep-plugin-abi(1) = 1\.[0-9]*"' - "$work/root"
check "the user is made" grep -q '^skep:' "$work/root/etc/passwd"
mkdir -p "$work/root/proc" "$work/root/var/lib/skep"
# with the /proc and /sys that it asks what host this is
inside() { unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && exec chroot "$0" "$@"' "$work/root" "$@"; }
check "skepd -t" inside /usr/sbin/skepd -t
cp "$work/log" "$work/said"
check "skepd -t is content with the plugins" grep -qx 'configuration ok' "$work/said"
inside /usr/sbin/skepd --list-plugins -v >"$work/plugins"
check "fourteen plugins" test "$(grep -c '/usr/lib/skep/plugins/.*\.so$' "$work/plugins")" = 14
check "the units" systemd-analyze verify --root="$work/root" --man=no /usr/lib/systemd/system/{skepd,skep-reader}.service
sed -i 's/"interval": "5s"/"interval": "7s"/' "$work/root/etc/skep/skepd.conf"
check "installed over itself, as an upgrade would" in_root -U --nodeps --replacepkgs "$package"
check "the edited configuration is kept" grep -q '"interval": "7s"' "$work/root/etc/skep/skepd.conf"
check "rpm -e" in_root -e skep-devel skep
check "an edited configuration is kept aside" test -e "$work/root/etc/skep/skepd.conf.rpmsave"
left() { find "$1" -xdev -name '*skep*' ! -path "$1/var/lib/rpm/*" ! -path "$1/root/*" ! -name skepd.conf.rpmsave ! -path "$1/etc/skep" ! -path "$1/var/lib/skep"; }
check "nothing else is left" sh -c "$(declare -f left); left '$work/root'; [ -z \"\$(left '$work/root')\" ]"
exit $failed
