#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_privilege.sh - what `skep run` needs: without it exit 4, the remedy, and
# CMD does not run; with exactly that (CAP_BPF, CAP_PERFMON), as nobody, it works.
. "$(dirname "$0")/run_lib.sh"
command -v setpriv >/dev/null || skip "needs setpriv (util-linux)"

# Where nobody can reach them: the build tree may be anywhere.
chmod 755 "$work"
nobody=$work/nobody
mkdir -m 755 "$nobody" "$work/bin" "$work/plugins"
chown 65534:65534 "$nobody"
install -m 755 "$SKEP" "$work/bin/skep"
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
contains "names what is missing" "$work/err" "lacks CAP_BPF and CAP_PERFMON"
contains "remedy: sudo, to be copied" "$work/err" "sudo $work/bin/skep run --plugin-dir $work/plugins --no-live --lake $nobody/lake --name 'a b' touch $nobody/ran"
contains "remedy: setcap, to be copied" "$work/err" "sudo setcap cap_bpf,cap_perfmon+ep $work/bin/skep"

one_less() { # capability that is there, capability that is missing
	as_nobody --inh-caps="-all,+$1" --ambient-caps="-all,+$1" "${skep_run[@]}" --lake "$nobody/lake" true 2>"$work/err"
	same "with $1 alone: exit 4" 4 "$?"
	contains "with $1 alone: names the other" "$work/err" "lacks $2."
}
one_less bpf CAP_PERFMON
one_less perfmon CAP_BPF

# Exactly what is needed
caps="-all,+bpf,+perfmon"
as_nobody --inh-caps=$caps --ambient-caps=$caps "${skep_run[@]}" --lake "$nobody/lake" --no-report --json "$nobody/r.json" \
	sh -c 'cat /proc/version >/dev/null; true; exit 6' 2>"$work/err"
same "nobody with CAP_BPF and CAP_PERFMON: runs" 6 "$?"
if [ -s "$nobody/r.json" ]; then
	same "and reports the run" "6 65534" "$(json "$nobody/r.json" '"%d %d" % (run["exit_code"], run["uid"])')"
	same "and the command line and program of what it called" "['cat', '/proc/version'] True" \
		"$(json "$nobody/r.json" 'next("%s %s" % (p["argv"], p["exe"].endswith("/cat")) for p in processes if p["tool"] == "cat")')"
else
	fail "no report: $(cat "$work/err")"
fi

# The other remedy: file capabilities, and a command that does not get them
if ! setcap cap_bpf,cap_perfmon+ep "$work/bin/skep" 2>/dev/null; then
	echo "skip: setcap has no effect on $work"
else
	LD_LIBRARY_PATH=/opt/of/the/user TMPDIR=$nobody as_nobody --inh-caps=-all "${skep_run[@]}" --lake "$nobody/lake" --no-report \
		sh -c 'echo "$LD_LIBRARY_PATH $TMPDIR"; grep CapEff /proc/self/status' >"$work/out" 2>"$work/err"
	same "setcap: runs" 0 "$?"
	contains "setcap: CMD keeps what ld.so takes from skep (LD_LIBRARY_PATH, TMPDIR)" "$work/out" "/opt/of/the/user $nobody"
	contains "setcap: CMD has no capability" "$work/out" "0000000000000000"
	as_nobody --inh-caps=-all setpriv --no-new-privs "${skep_run[@]}" --lake "$nobody/lake" true 2>"$work/err"
	same "setcap under no_new_privs: exit 4" 4 "$?"
	contains "setcap under no_new_privs: said" "$work/err" "no_new_privs"
fi

# uid 0 without capabilities, as in a container
install -m 755 "$SKEP" "$work/bin/plain" # exec of a file with capabilities beyond the bounding set is refused
setpriv --bounding-set -all --inh-caps=-all "$work/bin/plain" run --plugin-dir "$work/plugins" --lake "$lake" true 2>"$work/err"
same "uid 0 without capabilities: exit 4" 4 "$?"
contains "uid 0 without capabilities: said" "$work/err" "--cap-add BPF --cap-add PERFMON"
# capabilities of a user namespace are not the host's
if unshare -Ur true 2>/dev/null; then
	unshare -Ur "${skep_run[@]}" --lake "$lake" true 2>"$work/err"
	same "user namespace: exit 4" 4 "$?"
	contains "user namespace: said" "$work/err" "user namespace"
fi
# a plugin that anybody could have changed
chmod 666 "$work/plugins/proc.so"
"${skep_run[@]}" --lake "$lake" touch "$work/ran" 2>"$work/err"
same "world-writable plugin: exit 4" 4 "$?"
[ ! -e "$work/ran" ] && ok "world-writable plugin: CMD does not run" || fail "CMD ran"
contains "world-writable plugin: named" "$work/err" "$work/plugins/proc.so"
finish
