# SPDX-License-Identifier: Apache-2.0
# tests/kernels/lib.sh - what the scripts here share; sourced by them.
#
#   SKEP_KERNEL_CACHE   kernels, package lists, the guests' tools (default ~/.cache/skep/kernels)
#   SKEP_KERNEL_ACCEL   qemu's -accel (default tcg,thread=single: works everywhere, and two TCG threads
#                       corrupt a kernel that patches its own code, as each attaching of a tracepoint does)
set -euo pipefail
export LC_ALL=C.UTF-8
kernels_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # used by who sources this
kernels_src=$(cd "$kernels_here/../.." && pwd)
cache=${SKEP_KERNEL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/skep/kernels}
me=${0##*/}

die() { echo "$me: $*" >&2; exit 1; }
usage() { echo "usage: $*" >&2; exit 2; }

# need PROGRAM PACKAGE [PROGRAM PACKAGE...]: skips (77) with the remedy where one is missing
need() {
	local missing=()
	while [ $# -gt 1 ]; do
		command -v "$1" >/dev/null || missing+=("$2")
		shift 2
	done
	[ ${#missing[@]} -eq 0 ] || { echo "skip: $me needs ${missing[*]}; remedy: apt-get install -y ${missing[*]}"; exit 77; }
}

# locked FILE COMMAND...: one command at a time, also between users of one cache
locked() {
	local lock=$1
	shift
	mkdir -p "$(dirname "$lock")"
	( flock -w 900 9 || die "$lock is held for 15 minutes; is another $me stuck?"; "$@" ) 9>"$lock"
}

# source_of BUILD: the sources of that build
source_of() {
	local src
	src=$(sed -n 's/^abs_top_srcdir = //p' "$1/Makefile" 2>/dev/null)
	[ -d "$src" ] || die "$1 is no build tree: no Makefile that says where its sources are; remedy: configure and make"
	realpath "$src"
}

kernel_dir() { echo "$cache/$1"; }
