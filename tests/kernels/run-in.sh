#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/kernels/run-in.sh - runs a command of a build tree in another kernel, in seconds.
#
#   run-in.sh [options] SERIES[,SERIES...]|all -- COMMAND ARG...
#   -b BUILD     the build tree (default: here)
#   -g           Debian's generic kernel, not the cloud one
#   -c, -s, -m, -t, -p, -o      as boot.sh has them; with several kernels -o FOLDER gets a folder for each
#
# SERIES is 5.10, 6.1, 6.12, 6.18, newest or any X.Y that Debian has; it is fetched when it is not there.
# The command runs as root in BUILD, with the environment that "make check" gives a test, and has the sources,
# the build tree's programs and plugins and many of this host's tools (image.sh says which):
#   cd build/gcc && ../../tests/kernels/run-in.sh 5.10 -- ./skepd --tryload
#   ... run-in.sh all -- ../../tests/e2e/run_tree.sh            ... run-in.sh 6.1 -- 'uname -r; bpftool prog list'
# One argument is a line for the shell.  Exit status: the command's, the first that is not 0.
. "$(dirname "$0")/lib.sh"
help="run-in.sh [-b BUILD] [-g] [-c v1|v2] [-s CPUS] [-m MIB] [-t SECONDS] [-p PARAMS] [-o FOLDER] SERIES,...|all -- COMMAND..."
build=$PWD flavour=cloud suffix='' results='' boot=()
while getopts b:gc:s:m:t:p:o: o; do
	case $o in
	b) build=$(cd "$OPTARG" && pwd) ;;
	g) flavour=generic suffix=-generic ;;
	o) results=$OPTARG ;;
	c|s|m|t|p) boot+=("-$o" "$OPTARG") ;;
	*) usage "$help" ;;
	esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage "$help"
series=$1
shift
[ "$1" != -- ] || shift
[ $# -ge 1 ] || usage "$help"
[ "$series" != all ] || series=5.10,6.1,6.12,6.18,newest
IFS=, read -ra kernels <<<"$series"

work=$(mktemp -d "${TMPDIR:-/tmp}/skep-run-in.XXXXXX")
guest=''
# In the background, and killed here: bash handles a signal only after its foreground command has ended.
trap '[ -z "$guest" ] || kill "$guest" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
for kernel in "${kernels[@]}"; do
	[ -e "$(kernel_dir "$kernel$suffix")/vmlinux" ] || "$kernels_here/fetch.sh" -f "$flavour" "$kernel" >&2
	[ -e "$(kernel_dir "$kernel$suffix")/vmlinux" ] || die "no kernel $kernel"
done
"$kernels_here/image.sh" build "$build" "$work/build.ext4"
{
	"$kernels_here/environment.sh" "$build"
	if [ $# -eq 1 ]; then printf '%s\n' "$1"; else printf '%q ' "$@"; fi
} >"$work/command"
status=0
for kernel in "${kernels[@]}"; do
	[ ${#kernels[@]} -eq 1 ] || echo "----- $kernel ($(cat "$(kernel_dir "$kernel$suffix")/release"))"
	rc=0
	"$kernels_here/boot.sh" "${boot[@]}" ${results:+-o "$results${kernels[1]:+/$kernel}"} "$kernel$suffix" \
		"$work/build.ext4" "$work/command" &
	guest=$!
	wait $guest || rc=$?
	guest=''
	[ ${#kernels[@]} -eq 1 ] || echo "----- $kernel: status $rc"
	[ $status -ne 0 ] || status=$rc
done
exit $status
