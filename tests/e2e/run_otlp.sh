#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_otlp.sh - `skep run --otlp`: the run is a trace of its own, or a part of the trace that TRACEPARENT in
# skep's environment names, and the command's environment has the run's span. Environment: SKEP, SKEP_PLUGIN_DIRS.
set -eu
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
[ -e "${SKEP_PLUGIN_DIRS%%:*}/otlp.so" ] || { echo "skip: built without the sink otlp"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-run-otlp.XXXXXX")
receiver=
mute=
trap '[ -z "$receiver" ] || kill "$receiver" 2>/dev/null || :; [ -z "$mute" ] || kill "$mute" 2>/dev/null || :; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM HUP
python3 "${abs_srcdir:-.}/tests/otlp/receiver.py" "$work/got" >"$work/port" &
receiver=$!
wait_for test -s "$work/port"
url=http://127.0.0.1:$(cat "$work/port")

unset TRACEPARENT
# shellcheck disable=SC2016
"$SKEP" run --no-report --lake "$work/lake" --otlp "$url" --pipeline alone -- \
	sh -c 'echo $TRACEPARENT >'"$work/alone"'; sleep 0.3; sh -c "exit 3"; true' 2>"$work/err" || { cat "$work/err"; exit 1; }
# shellcheck disable=SC2016
TRACEPARENT=00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 "$SKEP" run --no-report --lake "$work/lake" --otlp "$url" --pipeline part -- \
	sh -c 'echo $TRACEPARENT >'"$work/part" 2>"$work/err" || { cat "$work/err"; exit 1; }
# shellcheck disable=SC2016
"$SKEP" run --no-report --lake "$work/lake" -- sh -c 'echo $TRACEPARENT >'"$work/none" 2>"$work/err" || { cat "$work/err"; exit 1; }
[ -z "$(cat "$work/none")" ] || { echo "a TRACEPARENT although no receiver gets the span"; exit 1; }

"$SKEP" run --no-report --lake "$work/lake" --otlp "$url/refuse" -- true 2>"$work/err" || { cat "$work/err"; exit 1; }
grep -q "records of this run have not arrived there; the lake has them" "$work/err" || { echo "silent about refused records"; cat "$work/err"; exit 1; }

# A receiver that does not listen, and one that accepts the connection and never answers: skep waits for --otlp-wait and
# then reports the missing records.
python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True); time.sleep(3600)' >"$work/mute" &
mute=$!
wait_for test -s "$work/mute"
for dead in http://127.0.0.1:1 "http://127.0.0.1:$(cat "$work/mute")"; do
	begin=${EPOCHREALTIME/./}
	"$SKEP" run --no-report --lake "$work/lake" --otlp "$dead" --otlp-wait 1s -- true 2>"$work/err" || { cat "$work/err"; exit 1; }
	took=$(((${EPOCHREALTIME/./} - begin) / 1000))
	grep -q "have not arrived there; the lake has them (--otlp-wait 1s)" "$work/err" || { echo "$dead: silent about records that have not arrived"; cat "$work/err"; exit 1; }
	[ "$took" -ge 1000 ] && [ "$took" -lt 120000 ] || { echo "$dead: ended after $took ms instead of one second and what starting takes"; exit 1; }
	echo "$dead: $took ms"
done
kill "$mute"

grep -v '"wrong": "'"'refused'"'"' "$work/got" >"$work/good" && mv "$work/good" "$work/got"

python3 - "${abs_srcdir:-.}/tests/otlp" "$work" <<'END'
import json, sys
sys.path.insert(0, sys.argv[1])
import otlp
work, bad = sys.argv[2], 0
def check(what, ok, more=""):
    global bad
    if not ok:
        bad += 1
        print("not so: %s %s" % (what, more))
lines = [json.loads(line) for line in open(work + "/got")]
check("the receiver got only valid OTLP", not any("wrong" in l for l in lines), [l for l in lines if "wrong" in l])
spans = [(r, s) for l in lines if l["signal"] == "traces" for r, s in otlp.spans(l["request"])]
events = [e for l in lines if l["signal"] == "logs" for _, e in otlp.log_records(l["request"])]
def of(pipeline):
    return [s for r, s in spans if r["service.name"] == pipeline]
def sent(name):
    return open(work + "/" + name).read().strip().split("-")
for name in ("alone", "part"):
    mine = of(name)
    root = [s for s in mine if s["name"] == "RUN " + name]
    check(name + ": one root", len(root) == 1, root)
    _, trace, span, flags = sent(name)
    check(name + ": the command's environment has the root span", (root[0]["trace_id"], root[0]["span_id"]) == (trace, span), (root[0], sent(name)))
    check(name + ": all in one trace", {s["trace_id"] for s in mine} == {trace})
    check(name + ": the run's span is the parent of each process's span", all(s["parent_span_id"] == span for s in mine if s is not root[0]), mine)
check("alone: the run's span has no parent", "parent_span_id" not in [s for s in of("alone") if s["kind"] == 2][0])
part = [s for s in of("part") if s["kind"] == 2][0]
check("part: the run's span is in the caller's trace, below its span", (part["trace_id"], part["parent_span_id"]) == ("0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"), part)
check("part: the span has the caller's flags", part["flags"] & 0xff == 1 and part["flags"] & 0x300 == 0x300, part)
failed = [s for s in of("alone") if otlp.attributes(s).get("error.type") == "exit_3"]
check("the failed process has a span although it was short", len(failed) == 1, failed)
check("the failed process has an event in its span", [e["span_id"] for e in events if e["event_name"] == "skep.process.failed"] == [failed[0]["span_id"]], events)
check("the sleep has a span, the other short processes have none", sorted(s["name"] for s in of("alone") if s["kind"] == 1 and s is not failed[0]).count("sleep") == 1
      and "true" not in [s["name"] for s in of("alone")], [s["name"] for s in of("alone")])
check("each run has an event at its end", [e["event_name"] for e in events if e["event_name"].startswith("skep.run.")].count("skep.run.ended") == 2, events)
points = {m["name"] for l in lines if l["signal"] == "metrics" for m, _, _ in otlp.points(l["request"])}
check("the receiver got the metrics of processes and runs", {"process.cpu.time", "skep.process.ended", "skep.run.ended"} <= points, points)
print("%d spans, %d events, %d metrics" % (len(spans), len(events), len(points)))
sys.exit(1 if bad else 0)
END
