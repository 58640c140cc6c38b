# SPDX-License-Identifier: Apache-2.0
# stage.bash - sourced by quickstart and check: one line a stage with its time, details
# in a log file; when a stage fails, the log's end and its path.
#   stages_begin LOG-FOLDER NUMBER-OF-STAGES
#   stage NAME COMMAND ARG...   runs it; returns its status

stages_begin() {
	stage_logs=$1 stage_total=$2 stage_number=0 stage_began=$SECONDS
	mkdir -p "$stage_logs"
}

stage() {
	local name=$1 log rc=0 began=$SECONDS
	shift
	stage_number=$((stage_number + 1))
	log=$stage_logs/$(printf '%02d' "$stage_number")-${name//[^A-Za-z0-9]/-}.log
	printf '[%2d/%d] %-52s ' "$stage_number" "$stage_total" "$name"
	# Its own shell, so that "set -e" holds in a function although we look at the status.
	set +e
	( set -e; "$@" ) >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	if [ $rc -eq 0 ]; then
		printf 'ok     %4d s\n' $((SECONDS - began))
	else
		printf 'FAILED %4d s\n' $((SECONDS - began))
		echo "----- the end of $log"
		tail -n "${STAGE_TAIL:-40}" "$log" | sed 's/^/    /'
		echo "----- all of it: $log"
	fi
	return $rc
}

# The tree as git has it builds anywhere but not beside a build inside it: automake refuses.
stage_source_is_clean() {
	if [ -e "$1/config.status" ]; then
		echo "$1 was configured in place, and cannot be built elsewhere at the same time." >&2
		echo "remedy: make -C $1 distclean" >&2
		return 1
	fi
}

# stage_configure SRC BUILD-FOLDER FLAGS...: autogen where needed, then configure, unless that was done with these flags
stage_configure() {
	local src=$1 folder=$2
	shift 2
	mkdir -p "$folder"
	if [ ! -x "$src/configure" ] || [ ! -e "$src/Makefile.in" ] || [ "$src/configure.ac" -nt "$src/configure" ]; then
		"$src/autogen.sh"
	fi
	cd "$folder"
	if [ ! -e Makefile ] || [ "$(cat .configured-with 2>/dev/null)" != "$*" ] || [ "$src/configure" -nt config.status ]; then
		rm -f .configured-with
		"$src/configure" "$@"
		printf '%s' "$*" >.configured-with
	fi
}
