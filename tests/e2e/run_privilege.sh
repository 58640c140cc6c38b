#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_privilege.sh - the privileges of `skep run`. Without them skep exits with 4, prints the remedy and does
# not run CMD. With exactly CAP_BPF and CAP_PERFMON, as user nobody, it works. A skep with file capabilities runs no
# code that its caller chose.
. "$(dirname "$0")/run_lib.sh"
command -v setpriv >/dev/null || skip "needs setpriv (util-linux)"

# User nobody must reach the programs, and the build tree may be anywhere.
chmod 755 "$work"
nobody=$work/nobody
mkdir -m 755 "$nobody" "$work/bin" "$work/plugins"
chown 65534:65534 "$nobody"
install -m 755 "$SKEP" "$work/bin/skep"
install -m 755 "${SKEP_DEV:-skep-dev}" "$work/bin/skep-dev"
IFS=: read -ra dirs <<<"${SKEP_PLUGIN_DIRS:-/usr/lib/skep/plugins}"
for dir in "${dirs[@]}"; do
	for file in "$dir"/*.so; do
		[ ! -e "$file" ] || install -m 755 "$file" "$work/plugins/"
	done
done
as_nobody() { ( cd /; setpriv --reuid 65534 --regid 65534 --clear-groups "$@" ); }
skep_run=("$work/bin/skep" run --plugin-dir "$work/plugins" --no-live)

as_nobody --inh-caps=-all "${skep_run[@]}" --lake "$nobody/lake" --name "a b" touch "$nobody/ran" >"$work/out" 2>"$work/err"
same "without privilege: exit 4" 4 "$?"
[ ! -e "$nobody/ran" ] && ok "without privilege: CMD does not run" || fail "CMD ran without being collected"
contains "without privilege: skep names the missing capabilities" "$work/err" "lacks CAP_BPF and CAP_PERFMON"
contains "remedy: a sudo command to copy" "$work/err" "sudo $work/bin/skep run --plugin-dir $work/plugins --no-live --lake $nobody/lake --name 'a b' touch $nobody/ran"
if grep -q setcap "$work/err"; then fail "remedy: setcap for everybody"; else ok "remedy: no setcap for everybody"; fi

one_less() { # capability that is there, capability that is missing
	as_nobody --inh-caps="-all,+$1" --ambient-caps="-all,+$1" "${skep_run[@]}" --lake "$nobody/lake" true 2>"$work/err"
	same "with $1 alone: exit 4" 4 "$?"
	contains "with $1 alone: skep names the other capability" "$work/err" "lacks $2."
}
one_less bpf CAP_PERFMON
one_less perfmon CAP_BPF

# Exactly the needed capabilities
caps="-all,+bpf,+perfmon"
as_nobody --inh-caps=$caps --ambient-caps=$caps "${skep_run[@]}" --lake "$nobody/lake" --no-report --json "$nobody/r.json" \
	sh -c 'cat /proc/version >/dev/null; true; exit 6' 2>"$work/err"
same "nobody with CAP_BPF and CAP_PERFMON: skep runs CMD" 6 "$?"
same "only this user may read the lake's folder" 700 "$(stat -c %a "$nobody/lake")"
if [ -s "$nobody/r.json" ]; then
	same "nobody with CAP_BPF and CAP_PERFMON: the report has the run" "6 65534" "$(json "$nobody/r.json" '"%d %d" % (run["exit_code"], run["uid"])')"
	same "nobody with CAP_BPF and CAP_PERFMON: the report has CMD's child" "['cat', '/proc/version'] True" \
		"$(json "$nobody/r.json" 'next("%s %s" % (p["argv"], p["exe"].endswith("/cat")) for p in processes if p["tool"] == "cat")')"
else
	fail "no report: $(cat "$work/err")"
fi

# ---- which lake a member of group skep reads -------------------------------------------------------------------
# member HOME COMMAND...: runs the command as nobody; the service's lake is a copy that the group may read
member() {
	local home=$1
	shift
	unshare -m sh -c 'mount -t tmpfs -o mode=755 none /var/lib && mkdir -m 750 /var/lib/skep && cp -r "$1" /var/lib/skep/ && chown -R 0:65534 /var/lib/skep &&
		chmod 750 /var/lib/skep/lake && chmod 640 /var/lib/skep/lake/* && shift && cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"' \
		sh "$nobody/lake" env -u XDG_DATA_HOME HOME="$home" "$work/bin/skep" "$@" >"$work/out" 2>"$work/err"
}
member "$nobody/none" runs --json
same "a user without a lake: skep reads the service's lake" "0 True" "$? $(python3 -c 'import json,sys; print(len(json.load(sys.stdin)) > 0)' <"$work/out")"
same "a user without a lake: nothing on stderr" "" "$(cat "$work/err")"
mkdir -p "$nobody/.local/share/skep"
cp -r "$nobody/lake" "$nobody/.local/share/skep/lake"
chown -R 65534:65534 "$nobody/.local"
member "$nobody" runs
same "both lakes: exit 0" 0 "$?"
contains "both lakes: skep reads the user's own and names both" "$work/err" "reading your own lake, $nobody/.local/share/skep/lake; for skepd's lake: --lake /var/lib/skep/lake"

# ---- file capabilities: the command does not get them, and the caller chooses no code. site() puts the plugins into
# the folder that every build searches, in a mount namespace of its own.
site() {
	unshare -m sh -c 'mount -t tmpfs -o mode=755 none /usr/local/lib && mkdir /usr/local/lib/skep && cp -r "$1" /usr/local/lib/skep/plugins &&
		shift && cd / && exec setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@"' sh "$work/plugins" "$@"
}
# not_loaded WHAT CODE TEXT COMMAND...: the command ends with that code and text, and has run no code of the caller
not_loaded() {
	local what=$1 code=$2 text=$3 rc
	shift 3
	rm -f "$nobody/loaded"
	(cd "$nobody" && setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$@") >"$work/err" 2>&1 </dev/null
	rc=$?
	[ "$code" = any ] || same "$what: exit $code" "$code" "$rc"
	[ -z "$text" ] || contains "$what: the message" "$work/err" "$text"
	if [ -e "$nobody/loaded" ]; then fail "$what: the caller's plugin was loaded"; else ok "$what: the caller's plugin is not loaded"; fi
}
if ! setcap cap_bpf,cap_perfmon=ep "$work/bin/skep" cap_bpf,cap_perfmon=ep "$work/bin/skep-dev" 2>/dev/null; then
	echo "skip: setcap has no effect on $work" # as in a guest, which has no compiler either
else
	# A plugin of the caller's own: its constructor leaves a mark as soon as anything loads it.
	own=$nobody/own
	mkdir "$own"
	{
		echo '#include <fcntl.h>'
		echo "__attribute__((constructor)) static void mark(void) { (void)creat(\"$nobody/loaded\", 0644); }"
		sed 's/"good"/"proc"/' "$abs_srcdir/tests/abi/mangled.c"
	} >"$work/mark.c"
	$CC -std=gnu17 -shared -fPIC -fvisibility=hidden -I"$abs_srcdir/include" "$work/mark.c" -o "$own/proc.so" || fail "the plugin with a mark does not compile"
	echo "{ \"plugin_dirs\": [ \"$own\" ], \"probes\": [ { \"plugin\": \"proc\" } ] }" >"$own/skepd.conf"
	chown -R 65534:65534 "$own"
	install -m 755 "${SKEP_DEV:-skep-dev}" "$work/bin/plain-dev"
	as_nobody "$work/bin/plain-dev" check --no-start "$own/proc.so" >"$work/err" 2>&1
	if [ -e "$nobody/loaded" ]; then ok "without file capabilities: a caller's own plugin is loaded"; else fail "the mark has no effect: $(cat "$work/err")"; fi

	LD_LIBRARY_PATH=/opt/of/the/user TMPDIR=$nobody site "$work/bin/skep" run --no-live --lake "$nobody/lake" --no-report \
		sh -c 'echo "$LD_LIBRARY_PATH $TMPDIR"; grep "^Cap[IPEA]" /proc/self/status | sort -u -k 2' >"$work/out" 2>"$work/err"
	same "setcap: skep runs with the system's plugins" "0 " "$? $(cat "$work/err")"
	contains "setcap: CMD has the variables that ld.so removes from skep (LD_LIBRARY_PATH, TMPDIR)" "$work/out" "/opt/of/the/user $nobody"
	LD_LIBRARY_PATH=/opt/of/the/user TMPDIR=$nobody site "$work/bin/skep" run --task align \
		sh -c 'echo "$LD_LIBRARY_PATH $TMPDIR $SKEP_TASK"' >"$work/task" 2>"$work/err"
	contains "setcap, run --task: CMD has them, too" "$work/task" "/opt/of/the/user $nobody align"
	same "setcap: CMD has no capability in any set" "0000000000000000" "$(sed -n 's/^Cap.*:[[:space:]]*//p' "$work/out")"
	as_nobody --inh-caps=-all setpriv --no-new-privs "$work/bin/skep" run --lake "$nobody/lake" true 2>"$work/err"
	same "setcap under no_new_privs: exit 4" 4 "$?"
	contains "setcap under no_new_privs: the message" "$work/err" "no_new_privs"

	not_loaded "setcap, run --plugin-dir" 4 "--plugin-dir" "$work/bin/skep" run --plugin-dir "$own" --lake "$nobody/lake" true
	not_loaded "setcap, run with SKEP_PLUGIN_DIRS" any "" env SKEP_PLUGIN_DIRS="$own" "$work/bin/skep" run --lake "$nobody/lake" true
	not_loaded "setcap, doctor --config" 4 "--config" "$work/bin/skep" doctor --config "$own/skepd.conf"
	not_loaded "setcap, support-bundle --config" any "" "$work/bin/skep" support-bundle -o "$nobody/bundle" --config "$own/skepd.conf"
	not_loaded "setcap, skep-dev check" any "owned by uid 65534, not by root" "$work/bin/skep-dev" check --no-start "$own/proc.so"
	# The caller owns the folder above root's folder, so the caller can replace root's folder while skep checks it.
	mkdir "$nobody/parent"
	install -d "$nobody/parent/roots"
	install -m 644 "$own/proc.so" "$nobody/parent/roots/proc.so"
	chown 65534 "$nobody/parent"
	not_loaded "setcap, a caller's folder above root's" any "$nobody is owned by uid 65534" "$work/bin/skep-dev" check --no-start "$nobody/parent/roots/proc.so"
	# skepd: a configuration of the caller names plugins, and a pipe has no owner that skepd could check.
	install -m 755 "${SKEPD:-skepd}" "$work/bin/skepd"
	setcap cap_bpf,cap_perfmon=ep "$work/bin/skepd"
	not_loaded "setcap, skepd -c" 3 "belongs to uid 65534" "$work/bin/skepd" -t -c "$own/skepd.conf"
	not_loaded "setcap, skepd with SKEP_PLUGIN_DIRS" any "" env SKEP_PLUGIN_DIRS="$own" "$work/bin/skepd" --options proc
	not_loaded "setcap, skepd of a pipe" 3 "" sh -c "cat '$own/skepd.conf' | '$work/bin/skepd' -t -c /dev/stdin"
	# A command that does not collect works with the caller's rights alone.
	mkfifo "$work/records"
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps=-all "$work/bin/skep" filter test "uid = 0" - <"$work/records" >/dev/null 2>&1 &
	exec 9>"$work/records"
	dropped() { [ "$(cat "/proc/$!/comm")" = skep ] && grep -q '^CapEff:[[:space:]]*0*$' "/proc/$!/status"; }
	wait_for dropped
	same "setcap, a command that does not collect: no capability" "0000000000000000 0000000000000000" \
		"$(sed -n 's/^Cap\(Prm\|Eff\):[[:space:]]*//p' "/proc/$!/status" | xargs)"
	exec 9>&-
	wait $!
	install -m 4755 "$SKEP" "$work/bin/skep"
	as_nobody "$work/bin/skep" --version >"$work/err" 2>&1
	same "set-uid: exit 4" 4 "$?"
	contains "set-uid: the message" "$work/err" "chmod ug-s $work/bin/skep"
	install -m 755 "$SKEP" "$work/bin/skep"
fi

# uid 0 without capabilities, as in a container
install -m 755 "$SKEP" "$work/bin/plain" # exec of a file with capabilities beyond the bounding set is refused
setpriv --bounding-set -all --inh-caps=-all "$work/bin/plain" run --plugin-dir "$work/plugins" --lake "$lake" true 2>"$work/err"
same "uid 0 without capabilities: exit 4" 4 "$?"
contains "uid 0 without capabilities: the message" "$work/err" "--cap-add BPF --cap-add PERFMON"
# capabilities of a user namespace are not the host's
if unshare -Ur true 2>/dev/null; then
	unshare -Ur "${skep_run[@]}" --lake "$lake" true 2>"$work/err"
	same "user namespace: exit 4" 4 "$?"
	contains "user namespace: the message" "$work/err" "user namespace"
fi
# a plugin that every user could have changed
chmod 666 "$work/plugins/proc.so"
"${skep_run[@]}" --lake "$lake" touch "$work/ran" 2>"$work/err"
same "world-writable plugin: exit 4" 4 "$?"
[ ! -e "$work/ran" ] && ok "world-writable plugin: CMD does not run" || fail "CMD ran"
contains "world-writable plugin: skep names it" "$work/err" "$work/plugins/proc.so"
finish
