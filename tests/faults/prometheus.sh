#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prometheus.sh [SUITE...]: scrape.sh, and as root backlog.sh, with the servers of other Debian suites (trixie, forky):
# downloaded beside this host's packages, unpacked and run, not installed; they need no newer C library.  For a nightly
# run: it needs the network.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- trixie forky
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -oE '(https?|file|mirror[^ ]*)://[^ ]*/debian/?( |$)' | head -1)
[ -n "$mirror" ] || { echo "prometheus.sh: no mirror in /etc/apt"; exit 77; }

fetch() { # SUITE: its debs, unpacked in $work/SUITE
	local d=$work/$1
	mkdir -p "$d/lists/partial" "$d/cache/archives/partial" "$d/etc" "$d/root"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $1 main" >"$d/etc/sources.list"
	: >"$d/status"
	cat >"$d/apt.conf" <<END
Dir::Etc::sourcelist "$d/etc/sources.list"; Dir::Etc::sourceparts "/dev/null"; Dir::Etc::preferencesparts "/dev/null";
Dir::State::lists "$d/lists"; Dir::State::status "$d/status"; Dir::Cache "$d/cache"; APT::Sandbox::User "root";
END
	APT_CONFIG=$d/apt.conf apt-get -qq update </dev/null
	(cd "$d" && APT_CONFIG=$d/apt.conf apt-get -qq download prometheus victoria-metrics </dev/null)
	for deb in "$d"/*.deb; do dpkg-deb -x "$deb" "$d/root"; done
}

backlog() { # FOLDER
	[ "$(id -u)" = 0 ] || return 0
	local version
	version=$(dpkg-deb -f "$1"/victoria-metrics_*.deb Version)
	CLICKHOUSE=no PROMETHEUS=$1/root/usr/bin/prometheus VICTORIA=$1/root/usr/bin/victoria-metrics=${version%%[+-]*} bash "$here/backlog.sh"
}

failed=0 done=()
for suite; do
	fetch "$suite" || { echo "prometheus.sh: the packages of $suite are not available"; failed=1; continue; }
	versions=$(cd "$work/$suite" && for deb in *.deb; do dpkg-deb -W --showformat='${Package} ${Version}, ' "$deb"; done)
	promtool=$work/$suite/root/usr/bin/promtool
	[ -x "$promtool" ] || promtool=$(command -v promtool) || promtool= # there it is a package of its own
	if PROMETHEUS=$work/$suite/root/usr/bin/prometheus PROMTOOL=$promtool \
		VICTORIA=$work/$suite/root/usr/bin/victoria-metrics bash "$here/scrape.sh" && backlog "$work/$suite"; then
		done+=("$suite: ${versions%, }")
	else
		echo "prometheus.sh: failed with $versions"
		failed=1
	fi
done
printf -v text '%s; ' "${done[@]}"
echo "prometheus.sh: scraped and written to: ${text%; }"
exit $failed
