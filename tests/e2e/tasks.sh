#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/tasks.sh - skepd reads SKEP_TASK and TRACEPARENT from environments. Without skep run, the run of a session
# is a part of the trace in its leader's context, its tasks are spans of the run, and a process with another context has
# a span below that context. Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS. About two seconds.
set -eu
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
otlp=yes
[ -e "${SKEP_PLUGIN_DIRS%%:*}/otlp.so" ] || otlp=no
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-tasks.XXXXXX")
daemon='' receiver='' early=''
cleanup() {
	for pid in $daemon $receiver $early; do kill "$pid" 2>/dev/null || :; done
	wait
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
trace=0af7651916cd43dd8448eb211c80319c
outer=00-$trace-b7ad6b7169203331-01
inner=00-$trace-00f067aa0ba902b7-01
other=00-4bf92f3577b34da6a3ce929d0e0e4736-53995c3f42cd8ad8-01
me=$$ # in the names of tasks: other tests beside this one have tasks too
unset TRACEPARENT SKEP_TASK

sink=
if [ $otlp = yes ]; then
	python3 "${abs_srcdir:-.}/tests/otlp/receiver.py" "$work/got" >"$work/port" &
	receiver=$!
	wait_for test -s "$work/port"
	sink=', { "plugin": "otlp", "endpoint": "http://127.0.0.1:'$(cat "$work/port")'", "signals": [ "traces" ], "span_threshold": "10s" }'
fi
# A child of init: a session below it is a run without skep run. The variables follow longer ones, after the first
# block that skepd reads.
cat >"$work/service" <<'END'
while [ ! -e "$work/go" ]; do
	[ -d "$work" ] || exit 0 # the test has given up
	env -i PATH="$PATH" SKEP_TASK=before$me setsid -w true
	sleep 0.1
done
env -i PATH="$PATH" LONG="$(printf '%05000d' 0)" SECRET=hunter2 EMPTY= TRACEPARENT=$outer INNER=$inner OTHER=$other SKEP_TASK=align$me SLURM_JOB_ID=4711 \
	setsid -w sh -c 'sh -c "exit 3"; env -u SKEP_TASK TRACEPARENT=$INNER sh -c "exit 4"; TRACEPARENT=$OTHER sh -c "exit 5"; true'
env -i PATH="$PATH" SKEP_TASK=align$me setsid -w sh -c 'sh -c "exit 6"; true'
touch "$work/done"
END
export work outer inner other me
(setsid bash "$work/service" </dev/null >/dev/null 2>&1 & echo $! >"$work/pid")
parent=$(awk '$1 == "PPid:" { print $2 }' "/proc/$(cat "$work/pid")/status")
[ "$parent" = 1 ] || { echo "skip: orphans here are not given to process 1"; exit 77; }
# A process older than skepd: /proc still has a part of its environment.
SKEP_TASK=early$me SECRET=hunter2 sleep 3600 &
early=$!
cat >"$work/skepd.conf" <<END
{ "interval": "300ms", "control": { "socket": "$work/s" },
  "probes": [ { "plugin": "proc", "required": true, "environ": [ "SKEP_TASK", "TRACEPARENT", "SLURM_JOB_ID" ] } ],
  "sinks": [ { "plugin": "file", "path": "$work/out.json" }$sink ] }
END
"$SKEPD" -q -c "$work/skepd.conf" 2>"$work/err" &
daemon=$!
wait_for "$SKEP" status --socket "$work/s"
# Until skepd has read the processes that are older than it: from then on a session below the service is a run.
wait_for grep -q '"run":"2[^"]*","pipeline":"[^"]*","task":"before'$me'"' "$work/out.json"
touch "$work/go"
wait_for test -e "$work/done" || { echo "the processes under test have not run"; exit 1; }
kill "$early"
wait "$early" || :
early=
wait_for grep -q '"process.exit".*"task":"early'$me'".*"last":true' "$work/out.json"
kill "$daemon"
wait "$daemon" || { cat "$work/err"; exit 1; }
daemon=

if grep -q hunter2 "$work/out.json"; then echo "skepd reported a variable outside of its configuration"; exit 1; fi
python3 - "${abs_srcdir:-.}/tests/otlp" "$work" $otlp $trace <<'END'
import json, os, sys
sys.path.insert(0, sys.argv[1])
import otlp
work, with_otlp, trace, bad = sys.argv[2], sys.argv[3] == "yes", sys.argv[4], 0
align, early = "align" + os.environ["me"], "early" + os.environ["me"]
def check(what, ok, more=""):
    global bad
    if not ok:
        bad += 1
        print("not so: %s %s" % (what, more))
records = [json.loads(line) for line in open(work + "/out.json")]
def of(stream):
    return [r for r in records if r["stream"] == stream]
# only this test's processes: other tests beside it have processes with the same exit codes
ends = {p["exit_code"]: p for p in of("process.exit") if p["exit_code"] in (3, 4, 5, 6) and p.get("task") == align}
check("skepd records the four failing processes", sorted(ends) == [3, 4, 5, 6],
      [r for r in of("process.exit") + of("process.start") if "sh -c" in " ".join(r.get("argv") or [])])
if bad:
    sys.exit(1)
tasks = [t for t in of("task") if t["task"] == align]
check("skepd records two tasks with the same name", len(tasks) == 2 and len({t["task_id"] for t in tasks}) == 2, tasks)
mine = [t for t in tasks if t["task_id"] == ends[3]["task_id"]][0]
for code in (3, 4, 5):
    check("the process with exit code %d belongs to the first task" % code, (ends[code]["task"], ends[code]["task_id"]) == (align, mine["task_id"]), ends[code])
check("the process with exit code 6 belongs to the second task", ends[6]["task_id"] != mine["task_id"] and ends[6]["task"] == align, ends[6])
check("the first task has its end, exited with 0", (mine["state"], mine["exit_code"]) == ("exited", 0), mine)
inside = [p for p in of("process.exit") if p.get("task_id") == mine["task_id"]]
check("the first task's CPU time is the sum of its processes", mine["cpu_ns"] == sum(p["cpu_ns"] for p in inside), (mine, [p["cpu_ns"] for p in inside]))
check("the first task counts its processes", mine["processes"] == len({p["upid"] for p in inside}), (mine["processes"], inside))
run = [r for r in of("run") if r["run"] == mine["run"] and r["state"] == "ended"]
check("the run has the trace of its leader's TRACEPARENT", len(run) == 1 and run[0]["traceparent"].split("-")[1] == trace, of("run"))
check("a process with a TRACEPARENT of its own has its trace context", [ends[c].get("traceparent", "").split("-")[1:3][-1:] for c in (3, 4, 5)] ==
      [[], ["00f067aa0ba902b7"], ["53995c3f42cd8ad8"]], [ends[c].get("traceparent") for c in (3, 4, 5)])
check("a variable without a field of its own is in environ", [ends[c].get("environ") for c in (3, 4, 5, 6)] == 3 * [["SLURM_JOB_ID=4711"]] + [[]],
      [ends[c].get("environ") for c in (3, 4, 5, 6)])
check("a process older than skepd has its task", [p["task"] for p in of("process.exit") if p["tool"] == "sleep" and p["task"] == early] == [early],
      [(p["tool"], p["task"]) for p in of("process.exit")])
if with_otlp:
    lines = [json.loads(line) for line in open(work + "/got")]
    check("the receiver got only valid OTLP", not any("wrong" in l for l in lines), [l for l in lines if "wrong" in l])
    spans = [s for l in lines if l["signal"] == "traces" for _, s in otlp.spans(l["request"]) if s["trace_id"] == trace]
    by = {otlp.attributes(s).get("process.exit.code"): s for s in spans if "process.pid" in otlp.attributes(s)}
    root = [s for s in spans if s["kind"] == 2]
    task = [s for s in spans if "skep.task.processes" in otlp.attributes(s)]
    check("the trace has one span of the run and one of the task", len(root) == 1 and len(task) == 1, spans)
    check("the run's parent is its starter's span", root[0]["parent_span_id"] == "b7ad6b7169203331", root)
    check("the task's parent is the run", task[0]["parent_span_id"] == root[0]["span_id"] and task[0]["name"] == align, task)
    check("the task's span has its result", otlp.attributes(task[0])["cicd.pipeline.task.run.result"] == "success", task)
    check("a process's parent is its task", by[3]["parent_span_id"] == task[0]["span_id"], by)
    ids = {otlp.attributes(s).get("cicd.pipeline.task.run.id") for s in spans if s not in root}
    check("the task and its processes have the task's id", len(ids) == 1 and None not in ids, ids)
    check("the parent of a process with a context of its own is that span", by[4]["parent_span_id"] == "00f067aa0ba902b7", by)
    check("a process with the context of another trace has a link to it", by[5]["parent_span_id"] == task[0]["span_id"] and
          [(k["trace_id"], k["span_id"]) for k in by[5]["links"]] == [("4bf92f3577b34da6a3ce929d0e0e4736", "53995c3f42cd8ad8")], by)
    check("the other processes have no link", "links" not in by[3] and "links" not in by[4], by)
print("%d records, %d tasks" % (len(records), len(of("task"))))
sys.exit(1 if bad else 0)
END
