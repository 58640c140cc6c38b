#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/fetch.sh - Debian's kernels, the newest of each series, into the cache.
#
#   fetch.sh [-f cloud|generic] [-u] [SERIES...]      SERIES: X.Y or "newest" (of Debian unstable)
#
# -f  cloud images (default) are small and have what we need; generic ones have more drivers
# -u  asks the archive again; otherwise its answers are good for a day
#
# For each: $SKEP_KERNEL_CACHE/SERIES[-generic]/{vmlinux,config,modules/,release,package}.
# apt does the work, with lists and sources of our own, so nothing of the host's own changes;
# it verifies by gpgv and the keyring that the lists are Debian's and the packages are the lists'.
# Asked for is "newest of X.Y": an exact version leaves the archive when the next arrives.
#
# One line for each series.  Exit status: 0 each is in the cache, or the archive said that it has none;
# 77 the archive cannot be reached and something is not in the cache; 1 anything else.
# Environment: SKEP_DEBIAN_MIRROR (default: the host's own, or deb.debian.org), SKEP_FETCH_SECONDS (300).
. "$(dirname "$0")/lib.sh"

flavour=cloud refresh=false
while getopts f:u o; do
	case $o in
	f) flavour=$OPTARG ;;
	u) refresh=true ;;
	*) usage "fetch.sh [-f cloud|generic] [-u] [SERIES...]" ;;
	esac
done
shift $((OPTIND - 1))
case $flavour in
cloud) suffix='' images='-cloud-amd64$' ;;
generic) suffix=-generic images='[0-9]-amd64$' ;;
*) usage "fetch.sh -f cloud|generic, not '$flavour'" ;;
esac
[ $# -gt 0 ] || set -- 5.10 6.1 6.12 6.18 newest
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
need apt-get apt gpgv gpgv dpkg-deb dpkg depmod kmod zstd zstd xz xz-utils lz4 lz4 flock util-linux
[ -r $keyring ] || { echo "skip: fetch.sh needs debian-archive-keyring; remedy: apt-get install -y debian-archive-keyring"; exit 77; }

mirror=${SKEP_DEBIAN_MIRROR:-}
[ -n "$mirror" ] || mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null |
	sed -n 's,/$,,; /\/debian$/{p;q}')
mirror=${mirror:-http://deb.debian.org/debian}

# The suites that may have a series: a list costs seconds, so only those.
suites_of() {
	case $1 in
	5.10) echo bullseye bullseye-security ;;
	6.1) echo bookworm bookworm-security ;;
	6.12) echo trixie trixie-security ;;
	newest) echo sid ;;
	*) echo trixie-backports bookworm-backports sid ;;
	esac
}

# sources MIRROR SUITE...: in the format of sources.list. Release's date is not checked: files on archive.debian.org
# have expired, and nothing fetched here is installed.
sources() {
	local base=$1 suite security
	shift
	for suite; do
		case $suite in
		*-security) security=-security ;;
		*) security='' ;;
		esac
		echo "deb [arch=amd64 check-valid-until=no signed-by=$keyring] $base$security $suite main"
	done
}

# apt_options FOLDER: an apt that knows only that folder
apt_options() {
	apt=(-q -o Dir::Etc::sourcelist="$1/sources.list" -o Dir::Etc::sourceparts=/dev/null
		-o Dir::Etc::preferencesparts=/dev/null -o Dir::State::Lists="$1/lists" -o Dir::State::status="$1/status"
		-o Dir::Cache="$1" -o APT::Sandbox::User="$(id -un)" -o APT::Architecture=amd64 -o APT::Architectures::=amd64
		-o Acquire::Languages=none -o Acquire::Retries=2
		-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20)
}

# update FOLDER SUITE...: 0 when the archive answered for all suites; otherwise the old lists stay
update() {
	local folder=$1 base
	shift
	mkdir -p "$folder/lists/partial" "$folder/archives/partial"
	: >"$folder/status"
	[ -n "$(find "$folder/stamp" -mmin -1440 2>/dev/null)" ] && ! $refresh && [ "$(cat "$folder/stamp")" = "$mirror $*" ] && return
	rm -f "$folder/stamp"
	# A suite that has left the mirrors is on archive.debian.org for good.
	for base in "$mirror" http://archive.debian.org/debian; do
		sources "$base" "$@" >"$folder/sources.list"
		# Its exit status says little: no network is a warning, one suite of three that has moved is an error.
		timeout "${SKEP_FETCH_SECONDS:-300}" apt-get "${apt[@]}" update >"$folder/update.log" 2>&1 || :
		compgen -G "$folder/lists/*Release" >/dev/null || continue
		grep -qE '^(W: Failed to fetch|E:)' "$folder/update.log" && return 1
		echo "$mirror $*" >"$folder/stamp"
		return 0
	done
	return 1
}

# newest_image SERIES: prints "package version" of the newest image in the suites
newest_image() {
	local series=${1//./[.]} names
	[ "$series" != newest ] || series='[0-9]+[.][0-9]+'
	names=$(apt-cache "${apt[@]}" pkgnames linux-image- | grep -E "^linux-image-${series}[.+~-].*$images" |
		grep -vE -- '-(rt|dbg)-amd64$') || return 0
	# shellcheck disable=SC2086 # several names
	apt-cache "${apt[@]}" madison $names | awk -F' *[|] *' '{ sub(/^ +/, "", $1); print $2, $1 }' |
		sort -V | tail -n 1 | awk '{ print $2, $1 }'
}

# extract VMLINUZ VMLINUX: the ELF kernel inside, which saves a guest on an emulated CPU a second of
# decompression.  Offsets: the kernel's Documentation/x86/boot.rst (setup_sects, payload_offset, payload_length).
extract() {
	local setup offset length magic unpack
	setup=$(od -An -tu1 -j497 -N1 "$1")
	offset=$(od -An -tu4 -j584 -N4 "$1")
	length=$(od -An -tu4 -j588 -N4 "$1")
	offset=$(((setup + 1) * 512 + offset))
	magic=$(od -An -tx1 -j$offset -N4 "$1" | tr -d ' ')
	case $magic in
	28b52ffd) unpack='zstd -qdc' ;;
	fd377a58) unpack='xz -qdc' ;;
	1f8b*) unpack='gzip -qdc' ;;
	02214c18) unpack='lz4 -qdc' ;;
	*) echo "payload of $1 starts with $magic: no known compression" >&2; return 1 ;;
	esac
	# The payload ends with its size, which is no part of the stream: the programs complain, and are right.
	tail -c +$((offset + 1)) "$1" | head -c $((length)) | $unpack >"$2" 2>/dev/null || :
	[ "$(head -c 4 "$2" | od -An -tx1 | tr -d ' ')" = 7f454c46 ] ||
		{ echo "payload of $1 is no ELF file" >&2; return 1; }
}

# unpack FOLDER PACKAGE VERSION DESTINATION
unpack() {
	local folder=$1 package=$2 version=$3 to=$4 release=${2#linux-image-} work parts depends modules f deb
	work=$(mktemp -d "$folder/unpack.XXXXXX")
	# From 6.19 on linux-image-V is a shell around linux-binary-V and linux-modules-V.
	depends=$(apt-cache "${apt[@]}" show "$package=$version" | sed -n 's/^Depends: //p')
	case $depends in
	*"linux-binary-$release"*) parts=("linux-binary-$release" "linux-modules-$release") ;;
	*) parts=("$package") ;;
	esac
	( cd "$work" && timeout "${SKEP_FETCH_SECONDS:-300}" apt-get "${apt[@]}" download "${parts[@]/%/=$version}" ) \
		>"$folder/download.log" 2>&1 || { rm -rf "$work"; return 2; }
	case $depends in
	# The package has only the configuration, for readers: backports drop it early.
	*"linux-base-$release"*) ( cd "$work" && timeout 60 apt-get "${apt[@]}" download "linux-base-$release=$version" ) \
		>>"$folder/download.log" 2>&1 || : ;;
	esac
	mkdir "$work/root" "$work/kernel" "$work/kernel/modules"
	for deb in "$work"/*.deb; do dpkg-deb -x "$deb" "$work/root" || return 1; done
	modules=$(find "$work/root" -type d -path "*/lib/modules/$release")
	[ -n "$modules" ] || { echo "$package $version has no modules for $release" >&2; return 1; }
	for f in "$work/root/boot/config-$release" "$modules/config"; do
		[ ! -f "$f" ] || cp "$f" "$work/kernel/config"
	done
	for f in "$work/root/boot/vmlinuz-$release" "$modules/vmlinuz"; do
		[ ! -f "$f" ] || { extract "$f" "$work/kernel/vmlinux" || return 1; }
	done
	[ -s "$work/kernel/vmlinux" ] || { echo "$package $version has no vmlinuz" >&2; return 1; }
	mv "$modules" "$work/kernel/modules/$release"
	echo "$release" >"$work/kernel/release"
	echo "$package $version" >"$work/kernel/package"
	rm -rf "$to"
	mv "$work/kernel" "$to"
	rm -rf "$work"
}

# fetch SERIES: says its line; 0, 77 or 1 as above
fetch() {
	local series=$1 to folder package version have why rc=0 reached=true
	to=$(kernel_dir "$series$suffix") folder=$cache/apt/$series
	apt_options "$folder"
	have=$(cat "$to/package" 2>/dev/null || true)
	# shellcheck disable=SC2046 # several suites
	update "$folder" $(suites_of "$series") || reached=false
	read -r package version < <(newest_image "$series") || :
	if [ -z "${package:-}" ]; then
		if [ -n "$have" ]; then
			if $reached; then why="the archive has no image of this series any more"; else why="the archive cannot be reached"; fi
			echo "$series: $have (from the cache: $why)"
			return 0
		fi
		if $reached; then
			echo "$series: MISSING: the archive ($(suites_of "$series")) has no image of this series any more"
			return 0
		fi
		echo "$series: UNREACHABLE: $mirror: $(grep -m1 -E '^[WE]:' "$folder/update.log" 2>/dev/null || echo "no answer in ${SKEP_FETCH_SECONDS:-300} s")"
		return 77
	fi
	if [ "$have" = "$package $version" ]; then
		echo "$series: $have"
		return 0
	fi
	unpack "$folder" "$package" "$version" "$to" || rc=$?
	[ $rc -ne 0 ] || { echo "$series: $package $version (fetched, $(du -sh "$to" | cut -f 1))"; return 0; }
	if [ -n "$have" ]; then
		echo "$series: $have (from the cache; $package $version was not available: $(tail -n 1 "$folder/download.log"))"
		return 0
	fi
	echo "$series: FAILED: $package $version: $(tail -n 1 "$folder/download.log")"
	[ $rc -ne 2 ] || return 77
	return 1
}

mkdir -p "$cache"
# All at once: they wait for the network most of the time.
jobs=()
for series; do
	( locked "$cache/lock.$series$suffix" fetch "$series" ) &
	jobs+=($!)
done
status=0
for job in "${jobs[@]}"; do
	rc=0
	wait "$job" || rc=$?
	case $rc:$status in
	0:*) ;;
	77:0) status=77 ;;
	77:*) ;;
	*) status=1 ;;
	esac
done
exit $status
