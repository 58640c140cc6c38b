#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/root.sh SUITE - a small Debian with systemd, as a tar file in the cache; prints its path.
#
# The system has all dependencies of the package skep, so that a test needs no network. mmdebstrap makes it once (30 s,
# 180 MB); apt verifies packages by the archive's keyring. $SKEP_ROOT_CACHE: the cache, default ~/.cache/skep/roots.
# Exit status 77: the system is not in the cache, and the archive does not answer.
set -euo pipefail
export LC_ALL=C.UTF-8
suite=${1:?usage: root.sh SUITE}
cache=${SKEP_ROOT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/skep/roots}
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
packages=systemd,systemd-sysv,dbus,udev,init-system-helpers,procps,kmod
packages+=,libbpf1,libdeflate0,libelf1,libjansson4,libpcre2-8-0,libsnappy1v5,libsqlite3-0,libuv1
case $suite in
bookworm) packages+=,libcurl4,libmicrohttpd12 ;;
*) packages+=,libcurl4t64,libmicrohttpd12t64 ;; # which provide libcurl4, libmicrohttpd12
esac
# A change of that list makes another root.
tar=$cache/$suite-$(echo "$packages" | cksum | cut -d' ' -f1).tar

[ "$(id -u)" -eq 0 ] || { echo "skip: root.sh needs root" >&2; exit 77; }
command -v mmdebstrap >/dev/null || { echo "skip: root.sh needs mmdebstrap; remedy: apt-get install -y mmdebstrap" >&2; exit 77; }
mkdir -p "$cache"
exec 9>"$cache/$suite.lock"
flock -w 600 9 || { echo "root.sh: $cache/$suite.lock is held for ten minutes" >&2; exit 1; }
if [ ! -e "$tar" ]; then
	mirror=${SKEP_DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
		sed -n 's,/$,,; /\/debian$/{p;q}')}
	# Neither documentation nor translations; nothing that waits for hardware or updates by itself.
	mask=''
	for u in systemd-timesyncd.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
		e2scrub_all.timer e2scrub_reap.service fstrim.timer systemd-pstore.service getty@tty1.service \
		console-getty.service systemd-networkd-wait-online.service; do
		mask+="ln -sf /dev/null \"\$1/etc/systemd/system/$u\"; "
	done
	mmdebstrap --format=tar --variant=minbase --include="$packages" --keyring="$keyring" \
		--dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--customize-hook='echo skep-test >"$1/etc/hostname"; chroot "$1" passwd -d root' \
		--customize-hook="$mask" \
		"$suite" "$tar.new" "${mirror:-http://deb.debian.org/debian}" >"$cache/$suite.log" 2>&1 9>&- ||
		{ tail -n 5 "$cache/$suite.log" >&2; echo "skip: no root of $suite: $cache/$suite.log" >&2; exit 77; }
	rm -f "$cache/$suite"-*.tar
	mv "$tar.new" "$tar"
fi
echo "$tar"
