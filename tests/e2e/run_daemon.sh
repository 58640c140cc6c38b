#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skep run while a skepd collects: without a privilege, as a member of group skep; exit codes; which users may begin a
# run with which process; a killed client; a restarted, a killed and an absent skepd; rules; twenty runs at once.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3, setpriv, unshare.
[ -n "${SKEP_IN_NAMESPACE:-}" ] || SKEP_IN_NAMESPACE=1 exec unshare -m --propagation private "$0" "$@"
name=run_daemon
. "$(dirname "$0")/daemon_lib.sh"
command -v setpriv >/dev/null || skip "no setpriv"

# A group skep for this test alone, and two users: one is a member.
gid=64999 member=64998 stranger=64997
{ grep -v '^skep:' /etc/group; echo "skep:x:$gid:"; } >"$dir/group"
mount --bind "$dir/group" /etc/group || skip "cannot mount"
as() { local uid=$1 groups=$2; shift 2; (cd / && exec setpriv --reuid "$uid" --regid "$uid" $groups --inh-caps=-all "$@"); }
mkdir "$dir/home" "$dir/strange" && chown $member "$dir/home" && chown $stranger "$dir/strange"
# Programs where a user who is not root finds them.
mkdir "$dir/bin" && cp "$(command -v env)" "$dir/bin/" && install -m 755 "$SKEP" "$dir/bin/skep"
as_member() { as $member "--groups $gid" env HOME="$dir/home" "$@"; }
lake=$dir/lake
mkdir "$lake" && chgrp $gid "$lake" && chmod 2750 "$lake"
conf() {
	cat >"$dir/conf" <<END
{ "interval": "200ms", "control": { "socket": "$SKEP_SOCKET" }, $1
  "probes": [ { "plugin": "proc", "required": true }, { "plugin": "sched" } ],
  "sinks": [ { "plugin": "lake", "min_free": "0", "path": "$lake" } ] }
END
}
# ask FUNCTION ARGUMENT...: python of tests/e2e/run_daemon.py over the lake, where records arrive within seconds
ask() { wait_for sh -c 'python3 "$@" >"$0" 2>&1' "$dir/out" "${0%.sh}.py" "$lake" "$@" || fail "$what: $(cat "$dir/out")"; }
export lake
printf '#!/bin/sh\nexec "$SKEP" run --lake "$lake" --no-live --no-report "$@"\n' >"$dir/srun"
chmod 755 "$dir/srun"
srun=$dir/srun
# begun NAME: true when the run's command has passed the gate and has a child
begun() { "$SKEP" status --json | python3 -c 'import json, sys; sys.exit(not any(r["name"] == sys.argv[1] and r["processes"] > 1 for r in json.load(sys.stdin)["runs"]))' "$1"; }
stop() { kill "-$1" "$daemon"; wait "$daemon" 2>/dev/null; daemon=; }
# Commands of runs read from this pipe, so that they end when the test lets them: `go` writes into it.
mkfifo "$dir/go"
go() { timeout $((120 * ${SKEP_TEST_PATIENCE:-1})) sh -c ': >"$0"' "$dir/go" || fail "$what: the command does not wait"; }
umask 027
# pinned state, as in the installed configuration: the kernel records while no skepd runs
mkdir -m 700 "$dir/bpf" && mount -t bpf -o mode=700 none "$dir/bpf" || skip "cannot mount bpffs"
trap 'umount -l "$dir/bpf" 2>/dev/null; cleanup' EXIT
conf "\"spool\": { \"path\": \"$dir/spool.db\" }, \"pin_dir\": \"$dir/bpf/skep\","
chmod 751 "$dir"
start
chmod 755 "$dir"

what="exit codes, report and silence"
run 3 "$what" "$SKEP" run --lake "$lake" --no-live --no-report --json "$dir/r.json" --name codes sh -c '/bin/true one; echo out; exit 3'
[ ! -s "$dir/err" ] || fail "$what: stderr"
says out out
ask report "$dir/r.json" codes 3 true
run 143 "$what" "$srun" --name killed sh -c 'kill -TERM $$'
ask run killed ended -1 15
run 127 "$what" "$srun" --name missing /no/such/file
ask run missing ended 127 0
what="SKEP_RUN is the id that skepd made"
run 0 "$what" "$srun" --name marked sh -c 'echo $SKEP_RUN'
ask id marked "$(cat "$dir/out")"
what="steps that the command names"
run 7 "$what" "$srun" --name steps sh -c '"$SKEP" run --task prep true; "$SKEP" run --task last sh -c "exit 7"'
[ ! -s "$dir/err" ] || fail "$what: stderr"
ask tasks steps prep,last
as_member "$dir/bin/skep" run --no-live --name member-steps sh -c "$dir/bin/skep run --task mine sleep 0.1; :" >"$dir/out" 2>&1 </dev/null || fail "$what, by a member"
ask tasks member-steps mine
as $stranger --clear-groups "$dir/bin/skep" run --task x sh -c 'exit 9' >"$dir/out" 2>"$dir/err" </dev/null
[ $? = 9 ] && [ ! -s "$dir/err" ] || fail "$what: a stranger's command does not just run"
run 0 "$what" "$SKEP" run --lake "$dir/other" --no-live --no-report --json "$dir/r.json" sh -c '"$SKEP" run --task here true; true'
says '"here"' r.json
run 127 "$what" "$SKEP" run --task x /no/such/file
run 2 "$what" "$SKEP" run --task x --name y true
what="a run that a recipe of make begins"
printf 'all:\n\t@%s --name recipe sh -c "echo 0.1 | xargs sleep"\n' "$srun" >"$dir/Makefile"
run 0 "$what" env -u MAKEFLAGS -u MFLAGS make -f "$dir/Makefile"
ask tasks recipe sleep
ask parent recipe make
what="why the processes of a run are in it"
"$srun" --name why sh -c '"$SKEP" run --task held sleep 600; :' &
why=$!
children="$children $why"
wait_for begun why || fail "$what: did not begin"
wait_for sh -c '"$SKEP" recognize why | grep -q "task *held"' || fail "$what: $("$SKEP" recognize why 2>&1)"
run 0 "$what" "$SKEP" recognize why
says "  sleep" out
says "(its name is from: environ)" out
kill $why
wait $why
run 1 "$what, no such" "$SKEP" recognize --lake "$lake" no-such-run
run 0 "$what, ended" "$SKEP" recognize --lake "$lake" steps
says "last" out
says "begun by" out
says "SKEP_TASK" out
says "only while a process lives" out
what="long arguments"
run 0 "$what" "$srun" --name long sh -c : "$(head -c 20000 /dev/zero | tr '\0' y)" z
ask long long 20000

what="options that only a collector of one's own has"
run 2 "$what" "$srun" --interval 1s true
says "leave --interval out, or give a lake of your own: --lake FOLDER" err

what="a member of group skep needs no privilege"
as_member "$dir/bin/skep" run --no-live --name member sh -c '/bin/true; exit 4' >"$dir/out" 2>"$dir/err" </dev/null
[ $? = 4 ] || fail "$what"
says member err
ask run member ended 4 0
ask uid member $member
what="a user outside the group needs no privilege, and sees own runs only"
as_stranger() { as $stranger --clear-groups env HOME="$dir/strange" "$dir/bin/skep" "$@" >"$dir/out" 2>"$dir/err" </dev/null; }
uids() { python3 -c 'import json, sys; print(*sorted({r["uid"] for r in json.load(sys.stdin)}))' <"$dir/out"; }
as_stranger run --no-live --name strange sh -c '/bin/true; exit 5'
[ $? = 5 ] || fail "$what: $(cat "$dir/err")"
says "strange" err
if grep -q "no report" "$dir/err"; then fail "$what: $(cat "$dir/err")"; fi
ask run strange ended 5 0
as_stranger runs --all --json || fail "$what: $(cat "$dir/err")"
[ "$(uids)" = $stranger ] || fail "$what: runs of $(uids)"
says "your own runs only" err
says "sudo usermod -aG skep NAME" err
as_stranger show strange || fail "$what: $(cat "$dir/err")"
says "true" out
as_stranger show --lake "$lake" strange || fail "$what, by the lake's name: $(cat "$dir/err")"
if as_stranger show member; then fail "$what: shows another's run"; fi
says 'no run "member"' err
as_member "$dir/bin/skep" runs --lake "$lake" --all --json >"$dir/out" 2>"$dir/err" || fail "$what: a member"
[ "$(uids)" = "0 $stranger $member" ] || fail "$what: a member sees runs of $(uids)"
as_stranger recognize strange || fail "$what: $(cat "$dir/err")"

what="another's process"
sleep 600 &
children=$!
wait_for "$SKEP" recognize $children || fail "$what: skepd does not know it"
for words in reload "attach runqlat" "recognize $children" status; do
	as_stranger $words
	[ $? = 4 ] || fail "a stranger's $words"
	says "sudo usermod -aG skep NAME" err
done
run 0 "$what" python3 "${0%.sh}.py" "$lake" refused "$SKEP_SOCKET" 1 $children
cp "${0%.sh}.py" "$dir/ask.py" && chmod 755 "$dir/ask.py"
as_member python3 "$dir/ask.py" "$lake" refused "$SKEP_SOCKET" 1 $children >"$dir/out" 2>"$dir/err" || fail "$what, by a member"

what="skep run inside skep run"
run 1 "$what" "$srun" --name outer "$SKEP" run --lake "$lake" --no-live --no-report true
says "leave the inner skep run out, or give it a lake of its own (--lake FOLDER)" err
run 0 "$what" "$srun" --name outer "$SKEP" run --lake "$dir/other" --no-live --no-report true

what="what outlives the command is recorded when it ends"
run 0 "$what" "$srun" --name daemonizes sh -c "setsid cat $dir/go & exit 0"
ask tools daemonizes "sh -c"
go
ask tools daemonizes "sh -c,cat"

what="details"
run 0 "$what" "$SKEP" run --lake "$lake" --no-live --name details --detail runqlat sh -c 'for i in 1 2 3; do sleep 0.1; done'
says runqlat err
if grep -q "measured nothing" "$dir/err"; then fail "$what: nothing"; fi
run 2 "$what" "$srun" --detail nosuch true
says "nosuch" err

what="a client that is killed"
"$srun" --name orphan sh -c "cat $dir/go; /bin/true; exit 5" &
children="$children $!"
wait_for begun orphan || fail "$what: did not begin"
kill -KILL $!
go
ask run orphan ended 5 0
ask tools orphan "sh -c,cat,true"

what="a skepd that is restarted"
"$srun" --name restarted sh -c "/bin/true a; cat $dir/go; /bin/true b; exit 6" 2>"$dir/err" &
client=$!
wait_for begun restarted || fail "$what: did not begin"
stop TERM
start
wait_for begun restarted || fail "$what: was not resumed"
go
wait $client
[ $? = 6 ] || fail "$what: exit"
[ ! -s "$dir/err" ] || fail "$what: stderr"
ask run restarted ended 6 0
ask tools restarted "sh -c,cat,true,true"
ask argv restarted "sh -c"

what="a skepd that is away when the command ends"
"$srun" --name away sh -c "cat $dir/go; exit 7" 2>"$dir/err" &
client=$!
wait_for begun away || fail "$what: did not begin"
stop TERM
go
wait_for not pgrep -P $client || fail "$what: the command does not end"
start
wait $client
[ $? = 7 ] || fail "$what: exit"
ask run away ended 7 0

what="a skepd that does not come back"
"$srun" --name gone sh -c "cat $dir/go; exit 8" 2>"$dir/err" &
client=$!
wait_for begun gone || fail "$what: did not begin"
stop TERM
go
wait $client
[ $? = 8 ] || fail "$what: exit"
says "when it is back: skep show" err

what="a skepd that is killed"
start
"$srun" --name spooled sh -c "/bin/true a; cat $dir/go; /bin/true b; exit 9" 2>"$dir/err" &
client=$!
wait_for begun spooled || fail "$what: did not begin"
saved() { PYTHONPATH=$(dirname "$0") python3 -c 'import sys, testing; sys.exit(not testing.saved(*sys.argv[1:]))' "$dir/spool.db" spooled; }
wait_for saved || fail "$what: the run is not in the spool"
stop KILL
start
wait_for begun spooled || fail "$what: was not resumed"
go
wait $client
[ $? = 9 ] || fail "$what: exit"
ask run spooled ended 9 0
ask tools spooled "sh -c,cat,true,true"

what="twenty at once"
pids=
for i in $(seq 20); do
	"$srun" --name "many$i" sh -c "/bin/true; sleep 0.3; exit $i" 2>>"$dir/err" &
	pids="$pids $!"
done
i=0
for pid in $pids; do
	i=$((i + 1))
	wait "$pid"
	[ $? = $i ] || fail "$what: exit of $i"
done
for i in $(seq 20); do
	ask run "many$i" ended "$i" 0
	ask tools "many$i" "sh -c,sleep,true"
done
stop TERM

what="rules exclude nothing of a run that was begun by name"
mkdir "$dir/rules" && cat >"$dir/rules/a.json" <<'END'
{ "rules": [ { "id": "t/true", "when": "tool = 'true'", "verdict": "exclude" },
             { "id": "t/shell", "when": "exe suffix '/dash' or exe suffix '/bash'", "verdict": "exclude", "inherit": true } ] }
END
chmod -R go-w "$dir/rules"
conf "\"filters\": { \"dirs\": [ \"$dir/rules\" ] },"
start
# from a shell that the rules exclude, with its descendants
run 0 "$what" setsid -w bash -c '/bin/true session; "$SKEP" run --lake "$0" --no-live --no-report --name ruled sh -c "/bin/true; /bin/true"' "$lake"
ask tools ruled "sh -c,true,true"
"$srun" --name reloaded sh -c "cat $dir/go; /bin/true; /bin/true" &
client=$!
wait_for begun reloaded || fail "$what: did not begin"
sed -i "s/'true'/'nothing'/" "$dir/rules/a.json"
run 0 "$what" "$SKEP" reload
go
wait $client
ask tools reloaded "sh -c,cat,true,true"
stop TERM
what="one process, one row"
ask once
echo "ok - skepd collects what skep run begins"
