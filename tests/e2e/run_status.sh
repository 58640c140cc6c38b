#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_status.sh - to its caller `skep run CMD` is CMD: exit status, standard streams byte for byte,
# descriptors, signal dispositions, environment.
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: sixty runs for their exit status; run_tree.sh and others also check it"; exit 77; }
. "$(dirname "$0")/run_lib.sh"

# ---- exit status
for code in 0 1 2 4 42 125 126 127 128 255; do
	run sh -c "exit $code"
	same "exit status $code" "$code" "$?"
done
for signal in 1 2 6 9 11 13 14 15 31 34; do
	run bash -c "ulimit -c 0; kill -$signal \$\$"
	same "killed by signal $signal" $((128 + signal)) "$?"
done

# ---- a command that cannot start
run no-such-command-here 2>"$work/err"
same "not found: 127" 127 "$?"
contains "not found: the message" "$work/err" "no-such-command-here: command not found"
run /no/such/file 2>"$work/err"
same "no such path: 127" 127 "$?"
contains "no such path: the message" "$work/err" "/no/such/file: No such file or directory"
echo 'exit 0' >"$work/plain"
run "$work/plain" 2>"$work/err"
same "not executable: 126" 126 "$?"
contains "not executable: the message" "$work/err" "plain: Permission denied"
run / 2>"$work/err"
same "a folder: 126" 126 "$?"
printf '#!/no/interpreter\n' >"$work/script"
chmod +x "$work/script"
run "$work/script" 2>"$work/err"
same "no interpreter: 127" 127 "$?"
contains "no interpreter: the message" "$work/err" "interpreter"
"$SKEP" run --lake "$lake" --json "$work/missing.json" --no-report -- no-such-command-here 2>/dev/null
same "not found: the run is kept with its status" "127 [['no-such-command-here']]" \
	"$(json "$work/missing.json" 'str(run["exit_code"]) + " " + str([run["argv"]])')"

# ---- wrong usage: nothing runs
refused() { # WHAT STATUS TEXT ARGUMENT...
	local what=$1 status=$2 text=$3
	shift 3
	"$SKEP" run "$@" >"$work/out" 2>"$work/err"
	same "$what: exit $status" "$status" "$?"
	contains "$what: the message" "$work/err" "$text"
	[ ! -e "$work/ran" ] || { fail "$what: the command ran"; rm "$work/ran"; }
}
refused "no command" 2 "no command" --lake "$lake"
refused "unknown option" 2 "did you mean --name" --nane x touch "$work/ran"
refused "bad interval" 2 "--interval soon" --interval soon touch "$work/ran"
refused "zero interval" 2 "--interval 0s" --interval 0s touch "$work/ran"
refused "lake in a folder that cannot exist" 1 "/proc/no" --lake /proc/no/lake touch "$work/ran"
refused "lake that is a file" 1 "plain" --lake "$work/plain" touch "$work/ran"
refused "report that cannot be written" 1 "/no/such/folder/r.json" --lake "$lake" --json /no/such/folder/r.json touch "$work/ran"
refused "folder without plugins" 1 "proc" --lake "$lake" --plugin-dir "$work/nowhere" touch "$work/ran"
run -- sh -c 'exit 5' --name x
same "options after CMD are CMD's" 5 "$?"

# ---- streams
head -c 3000000 /dev/urandom >"$work/in"
run cat <"$work/in" >"$work/out"
cmp "$work/in" "$work/out" && ok "stdin and stdout byte for byte" || fail "stdin or stdout changed"
run sh -c 'cat >&2' <"$work/in" 2>"$work/out"
cmp "$work/in" "$work/out" && ok "stderr byte for byte with --no-report" || fail "stderr changed"
"$SKEP" run --lake "$lake" echo only >"$work/out" 2>"$work/err"
same "stdout has only CMD's output, not the report" only "$(cat "$work/out")"
[ -s "$work/err" ] && ok "the report is on stderr" || fail "no report on stderr"
"$SKEP" run --lake "$lake" --no-report --json - true >"$work/out" 2>"$work/err"
same "--json -: on stdout" 0 "$(json "$work/out" 'run["exit_code"]')"
[ ! -s "$work/err" ] && ok "--no-report: nothing on stderr" || fail "--no-report: $(cat "$work/err")"
"$SKEP" run --lake "$lake" true 2>/dev/full
same "a report that cannot be written does not change the status" 0 "$?"
"$SKEP" run --lake "$lake" true 2>&1 | true
same "a reader of the report that ends early does not change the status" "0 0" "${PIPESTATUS[*]}"

# ---- inherited state. fds: the descriptors of the shell that runs the listing, without its own
list='for f in /proc/$$/fd/*; do n=${f##*/}; l=$(readlink "$f"); echo "$n ${l%%[0-9]*}"; done'
bash -c "$list" 7<"$work/in" 8>"$work/x" >"$work/want"
run bash -c "$list" 7<"$work/in" 8>"$work/x" >"$work/got"
cmp "$work/want" "$work/got" && ok "descriptors: the same, none leaks" || fail "descriptors: $(diff "$work/want" "$work/got")"
run ls /proc/self/fd 7<"$work/in" >"$work/got"
contains "descriptors: an inherited one is passed on" "$work/got" 7
bash -c "$list" <&- >"$work/want"
run bash -c "$list" <&- >"$work/got"
cmp "$work/want" "$work/got" && ok "closed stdin stays closed" || fail "closed stdin: $(diff "$work/want" "$work/got")"
bash -c "$list >&3" 3>"$work/want" >&- 2>&-
run bash -c "$list >&3" 3>"$work/got" >&- 2>&-
cmp "$work/want" "$work/got" && ok "closed stdout and stderr stay closed" || fail "closed stdout: $(diff "$work/want" "$work/got")"

# everything of /proc/self that a command may notice
state='grep -E "^(Umask|Uid|Gid|Groups|NSpgid|NSsid|Sig(Blk|Ign)|Cap|NoNewPrivs|Seccomp|Cpus_allowed|Mems_allowed)" /proc/self/status
cat /proc/self/limits /proc/self/oom_score_adj /proc/self/cgroup /proc/self/timerslack_ns; ulimit -a; pwd; nice; echo $PPID >/dev/null'
strange() { ( trap '' HUP USR1 PIPE CHLD; umask 027; cd /usr; ulimit -n 500; ulimit -l 100
	env --block-signal=USR2,RTMIN+3 --ignore-signal=INT,QUIT nice -n 3 "$@" ); }
strange bash -c "$state" >"$work/want" 2>&1
strange "$SKEP" run --lake "$lake" --no-report bash -c "$state" >"$work/got" 2>&1
diff "$work/want" "$work/got" >"$work/diff" && ok "signal mask, ignored signals, limits, groups, session: as inherited" ||
	fail "inherited state differs: $(cat "$work/diff")"
grep -q 'SigIgn:.*[1-9a-f]' "$work/got" && ok "ignored signals stay ignored" || fail "the listing shows no ignored signal"

export SKEP_TEST_VALUE='a
b "c"'
env -0 | sort -z | tr '\0' '\1' >"$work/want"
run env -0 | sort -z | tr '\0' '\1' >"$work/got"
python3 - "$work/want" "$work/got" <<'PY' && ok "environment: the same and SKEP_RUN" || fail "environment differs"
import sys
want, got = (set(open(f, "rb").read().split(b"\1")) for f in sys.argv[1:])
strip = lambda s: {e for e in s if not e.startswith(b"_=")}
more = strip(got) - strip(want)
sys.exit(not (strip(want) <= strip(got) and len(more) == 1 and more.pop().startswith(b"SKEP_RUN=2")))
PY
unset SKEP_TEST_VALUE
echo old >"$work/old.json"
"$SKEP" run --lake "$lake" --no-report --json "$work/old.json" cat "$work/old.json" >"$work/out"
same "--json FILE: the old file stays until the end" "old 0" "$(cat "$work/out") $(json "$work/old.json" 'run["exit_code"]')"
"$SKEP" run --lake "$lake" --no-report --json >(cat >"$work/piped.json") true
wait $!
same "--json >(command)" 0 "$(json "$work/piped.json" 'run["exit_code"]')"
"$SKEP" run --lake "$lake" --no-report --json "$work/id.json" sh -c 'echo "$SKEP_RUN"' >"$work/out"
same "SKEP_RUN is the run's id" "$(cat "$work/out")" "$(json "$work/id.json" 'run["id"]')"
"$SKEP" run --lake "$lake" --no-report --json "$work/id.json" --name "my name" --pipeline nightly -- nice true
same "name and pipeline" "my name nightly" "$(json "$work/id.json" 'run["name"] + " " + run["pipeline"]')"
"$SKEP" run --lake "$work/new/folder/lake" --no-report true && [ -d "$work/new/folder/lake" ] &&
	ok "skep makes the lake's folder" || fail "skep does not make the lake's folder"

# a user's own tables of tools and recognizers, and secrets that must never be stored
mkdir -p "$work/config/skep/tools.d" "$work/config/skep/workflows.d"
echo '{ "recognizers": [ { "engine": "ours", "class": "launcher", "run": [ { "programs": ["ourtool"] } ],
	"task": [ { "child": true, "facts": [ { "text": "step", "as": "name" } ] } ] } ] }' >"$work/config/skep/workflows.d/site.json"
echo '{ "programs": [ { "match": ["ourtool"], "operand": "subcommand", "options_with_value": ["-d"] } ] }' \
	>"$work/config/skep/tools.d/site.json"
printf '#!/bin/sh\n/bin/true\nexit 0\n' >"$work/ourtool"
chmod +x "$work/ourtool"
XDG_CONFIG_HOME=$work/config "$SKEP" run --lake "$work/secret" --no-report --json "$work/id.json" -- \
	"$work/ourtool" -d /tmp sync --password=hunter2hunter2
same "a task of the user's own recognizers" "step" "$(json "$work/id.json" '" ".join(t["task"] for t in r["tasks"])')"
same "a tool of the user's own table" "ourtool sync" "$(json "$work/id.json" '[p["tool"] for p in processes if p["last"]][0]')"
grep -rq hunter2 "$work/secret" "$work/id.json" && fail "a password was kept" || ok "no password in the lake or the report"
XDG_CONFIG_HOME=$work/config
export XDG_CONFIG_HOME
echo '{ "programs": [ { "match": ["x"], "operand": "subcomand" } ] }' >"$work/config/skep/tools.d/wrong.json"
"$SKEP" run --lake "$lake" --no-report true 2>"$work/err"
same "a wrong table: exit 3" 3 $?
grep -q 'wrong.json:1:.*did you mean "subcommand"' "$work/err" && ok "a wrong table: the message has its line" || fail "$(cat "$work/err")"
finish
