#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that skepd accepts the tables, that skep names processes by them, and that the rule matches its process.
# Needs no daemon and no privilege.
set -eu
: "${SKEP:=skep}" "${SKEPD:=skepd}" "${CC:=cc}"
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
pids=
trap 'for p in $pids; do kill "$p" 2>/dev/null || :; done; rm -rf "$work"' EXIT

cat >"$work/check.conf" <<CONF
{ "tools": [ "$here/tools.d" ], "containers": [ "$here/containers.d" ],
  "filters": { "dirs": [ "$here/filters.d" ] }, "probes": [], "sinks": [], "control": { "socket": false } }
CONF
"$SKEPD" -t -c "$work/check.conf"

# A program of each name, that waits and ignores its arguments.
printf '#include <unistd.h>\nint main(void) { for (;;) pause(); }\n' >"$work/wait.c"
$CC -o "$work/example" "$work/wait.c"
cp "$work/example" "$work/example-launch"

# shown_as TOOL COMMAND...: what that command is shown as
shown_as() {
	tool=$1
	shift
	"$@" &
	pid=$!
	pids="$pids $pid"
	# until it is the program, and no longer a copy of this shell
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ "$(readlink "/proc/$pid/exe")" != "$1" ] || break
		sleep 0.1
	done
	"$SKEP" filter explain "$pid" --config "$work/check.conf" >"$work/explained"
	case $(head -n 1 "$work/explained") in
	"$pid $tool of "*) ;;
	*)
		echo "$*: is not shown as '$tool', but as:" >&2
		cat "$work/explained" >&2
		exit 1 ;;
	esac
	echo "$tool: as expected"
}
shown_as 'example sync' "$work/example" -d /tmp sync file
shown_as 'example ping' "$work/example" ping
ping=$pid
shown_as 'samtools sort' "$work/example-launch" long 8 samtools sort a.bam

"$SKEP" filter explain "$ping" --config "$work/check.conf" >"$work/explained"
grep -q '^MATCH example/ping' "$work/explained" || {
	echo 'the rule example/ping does not match example ping:' >&2
	cat "$work/explained" >&2
	exit 1
}
echo 'test_example: passed'
