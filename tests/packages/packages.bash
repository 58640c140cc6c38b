# SPDX-License-Identifier: Apache-2.0
# packages.bash - sourced: builds the packages that guest.sh needs.

# next_of DEB TO: the same under a higher version
next_of() {
	local folder
	folder=$(mktemp -d)
	dpkg-deb -R "$1" "$folder/p" &&
		sed -i -E 's/^(Version: .*)$/\1+next/' "$folder/p/DEBIAN/control" &&
		dpkg-deb -b --root-owner-group "$folder/p" "$2" >/dev/null
	rm -rf "$folder"
}

# bad_of DEB TO: the same under a still higher version, with a skepd that does not start
bad_of() {
	local folder
	folder=$(mktemp -d)
	dpkg-deb -R "$1" "$folder/p" &&
		sed -i -E 's/^(Version: .*)$/\1+nextbad/' "$folder/p/DEBIAN/control" &&
		printf '#!/bin/sh\nexit 1\n' >"$folder/p/usr/sbin/skepd" &&
		dpkg-deb -b --root-owner-group "$folder/p" "$2" >/dev/null
	rm -rf "$folder"
}

# repository FOLDER GNUPG DEB...: a signed one of apt's; its key is in FOLDER/key.gpg. GNUPG: where the key is, or will
# be
repository() {
	local folder=$1 gnupg=$2
	shift 2
	mkdir -p "$folder"
	cp "$@" "$folder/"
	if [ ! -d "$gnupg" ]; then
		mkdir -m 700 "$gnupg"
		gpg --homedir "$gnupg" --batch --quiet --passphrase '' --quick-generate-key skep-test@skep.example ed25519 sign never || return
	fi
	gpg --homedir "$gnupg" --batch --quiet --export >"$folder/key.gpg" &&
		(cd "$folder" && apt-ftparchive packages . >Packages &&
			apt-ftparchive -o APT::FTPArchive::Release::Suite=./ release . >../Release.tmp &&
			mv ../Release.tmp Release) &&
		gpg --homedir "$gnupg" --batch --quiet --clearsign -o "$folder/InRelease" "$folder/Release"
}

# rules_deb NAME RULE TO: a site's package, that brings one file of rules
rules_deb() {
	local folder
	folder=$(mktemp -d)
	mkdir -p "$folder/p/DEBIAN" "$folder/p/etc/skep/filters.d"
	printf '%s\n' "$2" >"$folder/p/etc/skep/filters.d/50-$1.json"
	printf 'Package: skep-rules-%s\nVersion: 1\nArchitecture: all\nMaintainer: a site <root@site.example>\nDescription: rules of a site\n' \
		"$1" >"$folder/p/DEBIAN/control"
	dpkg-deb -b --root-owner-group "$folder/p" "$3" >/dev/null
	rm -rf "$folder"
}

# guest_root ROOT FOLDER: the packages of FOLDER and guest.sh in it; run when it is up, then it powers off.
guest_root() {
	mkdir "$1/packages"
	cp -r "$(dirname "${BASH_SOURCE[0]}")/guest.sh" "$2"/. "$1/packages/"
	cat >"$1/etc/systemd/system/packages.service" <<-'END'
		[Unit]
		After=multi-user.target
		[Service]
		Type=oneshot
		StandardOutput=file:/packages/output
		StandardError=inherit
		ExecStart=/bin/sh -c 'bash /packages/guest.sh; echo $? >/packages/status; sync'
		ExecStopPost=/bin/systemctl --no-block --force poweroff
	END
	mkdir -p "$1/etc/systemd/system/multi-user.target.wants"
	ln -sf ../packages.service "$1/etc/systemd/system/multi-user.target.wants/packages.service"
}
