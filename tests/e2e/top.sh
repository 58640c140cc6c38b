#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skep top: on a terminal (tmux) each key, the mouse, sizes, a skepd that goes and comes; its sums and those of skep
# show; tables and JSON without a terminal; hostile names; a user outside group skep; a moment of the lake.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3, tmux, setpriv.
name=top
. "$(dirname "$0")/daemon_lib.sh"
command -v tmux >/dev/null || skip "no tmux"
locale -a | grep -qix 'c\.utf-\?8' || skip "no locale C.UTF-8"
export LC_ALL=C.UTF-8
unset TMUX NO_COLOR

lake=$dir/lake stranger=64997
mkdir -m 700 "$lake"
cat >"$dir/conf" <<END
{ "interval": "300ms", "control": { "socket": "$SKEP_SOCKET" }, "spool": { "path": "$dir/spool.db" },
  "probes": [ { "plugin": "proc", "required": true, "environ": [ "SKEP_TASK" ] }, { "plugin": "sched" } ],
  "sinks": [ { "plugin": "lake", "min_free": "0", "path": "$lake" } ] }
END
term() { tmux -S "$dir/tmux" "$@"; }
# The run waits at a FIFO: its end must come also when the test fails.
release() { timeout 2 sh -c 'echo go >"$0"' "$dir/go" 2>/dev/null; }
trap 'term kill-server 2>/dev/null; release; cleanup' EXIT
shows() { term capture-pane -p | grep -qE -- "$1"; }
# sees WHAT PATTERN: the screen shows the pattern, sooner or later
sees() { wait_for shows "$2" || { term capture-pane -p >"$dir/out"; fail "$1: the screen lacks: $2"; }; }
lacks() { ! shows "$1"; }
key() { term send-keys "$@"; }
# click X Y (hexadecimal, plus 21): button 1 is pressed and released there, as xterm reports it
click() { key -H 1b 5b 4d 20 "$1" "$2"; key -H 1b 5b 4d 23 "$1" "$2"; }
# ask QUESTION FILE...: python of tests/e2e/top.py
ask() { python3 "${0%.sh}.py" "$@" >"$dir/said" 2>&1 || fail "$what: $(cat "$dir/said")"; }

what="without a skepd"
run 1 "$what" "$SKEP" top --once
says "no skepd listens at $SKEP_SOCKET" err
says "systemctl start skepd" err
for wrong in "--by no" "--sort no" "--interval 1" "--at never" "--once -b 2" "--json -b 2" "surplus"; do
	# shellcheck disable=SC2086
	run 2 "wrong usage: $wrong" "$SKEP" top $wrong
done
run 2 "a wrong filter" "$SKEP" top --once --filter 'tol = "x"'
says 'tool' err
start

# A run whose parts have ended when top begins, with failures, tasks, and a program with a hostile name.
evil=$dir/$'e\033[2Jv\n\377'
cp /bin/true "$evil"
mkfifo "$dir/go"
cat >"$dir/job" <<END
for i in 1 2 3 4 5 6 7 8; do SKEP_TASK=align /bin/true \$i; done
SKEP_TASK=align /bin/false; SKEP_TASK=sort gzip </bin/bash >/dev/null
"\$0"
read line <"$dir/go"
SKEP_TASK=last gzip -1 </bin/bash >/dev/null; exit 3
END
"$SKEP" run --lake "$lake" --no-live --no-report --name nightly sh -c "$(cat "$dir/job")" "$evil" &
children="$children $!" job=$!
nightly() { "$SKEP" recognize nightly --json | python3 -c "import json, sys; o = json.load(sys.stdin); $1"; }
begun() { nightly 'sys.exit(len(o["processes"]) != 1)'; }
ended() { "$SKEP" top --json --filter "tool = 'gzip'" | grep -q '"processes_ended": 1'; }
wait_for begun && wait_for ended || fail "the run does not begin"
id=$(nightly 'print(o["run"]["id"])')

what="a table and JSON without a terminal"
run 0 "$what" "$SKEP" top
says nightly out
grep -q $'\033' "$dir/out" && fail "$what: controls in the table"
run 0 "$what" "$SKEP" top --by process --json --filter "run = '$id'"
ask names "$dir/out" nightly
run 0 "$what" "$SKEP" top -b 2 --interval 100ms --by tool --filter "run = '$id'"
[ "$(grep -c 'cores busy' "$dir/out")" = 2 ] || fail "$what: not two tables"
what="what ended before top began"
"$SKEP" top --json --by tool --filter "run = '$id'" >"$dir/before.json" 2>"$dir/err" || fail "$what"

what="a user outside group skep"
install -m 755 "$SKEP" "$dir/skep"
be_stranger() { cd / && exec setpriv --reuid $stranger --regid $stranger --clear-groups --inh-caps=-all env HOME=/ "$@"; }
as_stranger() { (be_stranger "$@"); }
as_stranger "$dir/skep" top --json >"$dir/out" 2>"$dir/err" || fail "$what"
json 'o["rows"] == []'
be_stranger "$dir/skep" run --no-live --no-report --name mine sleep 600 >/dev/null 2>&1 </dev/null &
children="$children $!" mine=$!
own() { as_stranger "$dir/skep" top --json >"$dir/out" 2>"$dir/err" && grep -q '"name": "mine"' "$dir/out"; }
wait_for own || fail "$what: without the own run"
json 'len(o["rows"]) == 1 and o["rows"][0]["name"] == "mine" and o["rows"][0]["processes_alive"] >= 1'
kill $mine; wait $mine 2>/dev/null

what="on a terminal"
export TERM=xterm-256color
term -f /dev/null new-session -d -x 80 -y 24 \
	"'$SKEP' top --interval 200ms 2>'$dir/err'; echo top ended: \$?; read x" || fail "tmux"
term set -g remain-on-exit on
sees "$what" "\\+ nightly"
sees "$what" '^S cores .* run *$'
what="filter"
key / ; sees "$what" '^filter: _'
key -l "tol = 'x'"; key Enter
sees "$what: the error" 'did you mean|unknown field|tool'
key C-u; key -l "run = '$id'x"; key BSpace; key Enter
sees "$what" "filter: run = '$id'"
sees "$what" '^1 alive, 11 ended, 1 failed'
what="groups"
for g in t:task o:tool c:container u:user p:process r:run; do
	key "${g%:*}"; sees "$what ${g#*:}" "^by ${g#*:}"
done
for g in task tool container user process run; do key Tab; sees "$what: Tab" "^by $g"; done
key F2; sees "$what: F2" '^by task'; key r; sees "$what" '^by run'
what="the way into a row"
key Enter; sees "$what" "^by task in nightly \\($id\\)"; sees "$what" 'align'
key End; key Home; key Down; key Up; key NPage; key PPage
key N T; sees "$what: sorted" '^by task'
key Enter; sees "$what" '^by tool in nightly .* > '
key Enter; sees "$what" '^by process in nightly .* > .* > '
key BSpace; sees "$what: back" '^by tool'; key Escape; sees "$what: back" '^by task'; key BSpace
sees "$what: back" '^by run *$'
what="fold"
key +; sees "$what: unfolded" '  \+ align'; sees "$what" '^.* - nightly'
key Down; key f; sees "$what: twice" '     \+ gzip'
key Home; key F5; wait_for lacks 'align' || fail "$what: folded again"
what="sort"
key o; sees "$what" '^by tool'
for k in P T M I '<' '>' F6 F7; do key "$k"; sees "$what $k" '^by tool'; done
# by the name: a click on its title, the fourth line
first() { [ "$(term capture-pane -p | sed -n 's/.* + //p' | head -1 | tr -d ' ')" = "$1" ]; }
click 6b 24; wait_for first 'e?[2Jv?�' || { term capture-pane -p >"$dir/out"; fail "$what: by name"; }
click 6b 24; wait_for first true || { term capture-pane -p >"$dir/out"; fail "$what: by name, turned round"; }
# A slow machine makes two clicks of what were to be one double click: then again.
enter() { shows '^by process in' && return; click 2a 26; click 2a 26; for _ in 1 2 3 4 5; do ! shows '^by process in' || return 0; sleep 0.2; done; return 1; }
wait_for enter || { term capture-pane -p >"$dir/out"; fail "$what: two clicks go into a row"; }
key BSpace; sees "$what" '^by tool *$'
what="help"
for k in h '?' F1; do key "$k"; sees "$what $k" 'go into the row'; key x
wait_for lacks 'go into the row' || fail "$what: does not end"; done
key Left; sees "$what: time in live" 'with --at TIME'
what="sizes"
term resize-window -x 60 -y 20; sees "$what" '60x20 is too small: skep top needs 80x24'
term resize-window -x 300 -y 80; sees "$what" ' net '
[ "$(term capture-pane -p | grep -n 'F1Help' | cut -d: -f1)" = 80 ] || fail "$what: the last line is not the 80th"
term resize-window -x 80 -y 24; sees "$what" '^by tool'; wait_for lacks ' net ' || fail "$what: 80"
what="freeze"
key r; sees "$what" '^1 alive, 11 ended'
key Space; sees "$what" 'frozen: Space goes on'
what="sums"
echo go >"$dir/go"; wait $job; [ $? = 3 ] || fail "$what: the run"
sees "$what: frozen" '^1 alive, 11 ended'
key Space; sees "$what: live" '^0 alive, 13 ended, 2 failed'
term capture-pane -p >"$dir/screen"
in_lake() { "$SKEP" show "$id" --lake "$lake" --json >"$dir/show.json" && grep -q '"state": "ended"' "$dir/show.json"; }
wait_for in_lake || fail "$what: the lake lacks the run"
ask sums "$dir/show.json" "$dir/before.json" "$dir/screen"
end=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["run"]["end"])' "$dir/show.json")
for by in run task tool user container process; do
	"$SKEP" top --at "$end" --lake "$lake" --json --by $by --filter "run = '$id'" >"$dir/at.json" 2>"$dir/err" ||
		fail "$what: --at"
	ask at "$dir/show.json" "$dir/at.json"
done
what="a skepd that goes and comes"
kill -TERM $daemon; wait $daemon 2>/dev/null; daemon=
sees "$what" 'skepd has gone'
start
key / C-u Enter; sees "$what" '^[1-9][0-9]* alive'
wait_for lacks 'skepd has gone' || fail "$what: it does not come back"
key q; sees "the end" 'top ended: 0'
[ ! -s "$dir/err" ] || fail "the end: stderr"

what="replay"
term respawn-pane -k "'$SKEP' top --at '$end' --lake '$lake' --interval 1h; read x" || fail "$what"
sees "$what" 'replay, steps of 1h'; sees "$what" 'nightly'
key Left; wait_for lacks 'nightly' || fail "$what: an hour before"
key Right; sees "$what: back" 'nightly'
key /; key -l "run = '$id'"; key Enter; sees "$what" '^0 alive, 13 ended, 2 failed'
key Enter; sees "$what" '^by task in nightly'; sees "$what" 'align'
key F10
run 1 "a moment without a run" "$SKEP" top --at 2001-01-01T00:00:00Z --lake "$lake"
says "no run of the lake" err
echo "ok - skep top"
