# SPDX-License-Identifier: Apache-2.0
# stage.bash - sourced by quickstart and check: one line a stage with its time, details
# in a log file; when a stage fails, the log's end and its path.
#   stages_begin LOG-FOLDER NUMBER-OF-STAGES
#   stage NAME COMMAND ARG...   runs it; returns its status; its log is then $stage_log

stages_begin() {
	stage_logs=$1 stage_total=$2 stage_number=0
	mkdir -p "$stage_logs"
}

stage() {
	local name=$1 rc=0 began=$SECONDS
	shift
	stage_number=$((stage_number + 1))
	stage_log=$stage_logs/$(printf '%02d' "$stage_number")-${name//[^A-Za-z0-9]/-}.log
	printf '[%2d/%d] %-52s ' "$stage_number" "$stage_total" "$name"
	# A subshell, because COMMAND may change the working directory. Functions run here must end commands with "||
	# return": bash ignores "set -e" below an "if" or "||", and callers use both.
	( "$@" ) >"$stage_log" 2>&1 </dev/null || rc=$?
	if [ $rc -eq 0 ]; then
		printf 'ok     %4d s\n' $((SECONDS - began))
	else
		printf 'FAILED %4d s\n' $((SECONDS - began))
		if [ "${STAGE_TAIL:-40}" -gt 0 ]; then
			echo "----- the end of $stage_log"
			tail -n "${STAGE_TAIL:-40}" "$stage_log" | sed 's/^/    /'
		fi
		echo "----- all of it: $stage_log"
	fi
	return $rc
}

# git's tree builds everywhere except beside a build inside it: automake refuses.
stage_source_is_clean() {
	if [ -e "$1/config.status" ]; then
		echo "$1 was configured in place, and cannot be built elsewhere at the same time." >&2
		echo "remedy: make -C $1 distclean" >&2
		return 1
	fi
}

# stage_ccache SRC: lets ccache compile, where it is installed, so that an object is computed once: also for a clone in
# another folder, for packages and for distcheck
stage_ccache() {
	[ -x /usr/lib/ccache/gcc ] || return 0
	CCACHE_DIR=$(ccache --get-config cache_dir) # debhelper gives a build another HOME
	export CCACHE_DIR CCACHE_BASEDIR=$1 PATH=/usr/lib/ccache:$PATH
}

# stage_configure SRC BUILD-FOLDER FLAGS...: autogen where needed, then configure, unless that was done with these flags
stage_configure() {
	local src=$1 folder=$2 cc=cc cache
	shift 2
	for cache; do case $cache in CC=*) cc=${cache#CC=} ;; esac; done
	cache=$src/build/config-$cc.cache
	mkdir -p "$folder" || return
	if [ ! -x "$src/configure" ] || [ ! -e "$src/Makefile.in" ] || [ "$src/configure.ac" -nt "$src/configure" ]; then
		"$src/autogen.sh" || return
	fi
	cd "$folder" || return
	if [ ! -e Makefile ] || [ "$(cat .configured-with 2>/dev/null)" != "$*" ] || [ "$src/configure" -nt config.status ]; then
		rm -f .configured-with config.cache
		# Builds by the same compiler share what configure finds; each has its own flags.
		[ ! "$cache" -nt "$src/configure" ] || cp "$cache" config.cache || return
		# Debug information names paths from the top of the tree, so objects of two clones are equal.
		"$src/configure" -C "CPPFLAGS=-ffile-prefix-map=$src=." "$@" || return
		sed '/^ac_cv_env_/d' config.cache >"$cache.$$" && mv "$cache.$$" "$cache" || return
		printf '%s' "$*" >.configured-with
	fi
}
