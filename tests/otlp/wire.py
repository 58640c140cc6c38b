# SPDX-License-Identifier: Apache-2.0
"""wire.py FOLDER - compares the requests that bench_otlp --dump has written with the protocol and the conventions; with
python3-opentelemetry-proto installed, also with its messages."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import otlp  # noqa: E402

bad = 0


def check(what, ok, more=""):
    global bad
    if not ok:
        bad += 1
        print("not so: %s %s" % (what, more))


def check_traces(request):
    seen, roots = set(), 0
    for resource, span in otlp.spans(request):
        a = otlp.attributes(span)
        check("trace and span ids", re.fullmatch("[0-9a-f]{32}", span["trace_id"]) and re.fullmatch("[0-9a-f]{16}", span["span_id"]), span)
        check("a span once", (span["trace_id"], span["span_id"]) not in seen, span)
        seen.add((span["trace_id"], span["span_id"]))
        check("begin before end", 0 < span["start"] <= span["end"], span)
        check("the pipeline is the service", resource["service.name"] == resource["cicd.pipeline.name"], resource)
        check("the resource's own attributes", resource["host.name"] == "node1" and "cicd.pipeline.run.id" in resource, resource)
        failed = a.get("process.exit.code", 0) != 0
        check("error.type and status of failed processes", failed == ("error.type" in a) == (span.get("status", {}).get("code") == 2), span)
        if "parent_span_id" not in span:
            roots += 1
            check("root", span["kind"] == 2 and span["name"] == "RUN pipeline0" and a["cicd.pipeline.result"] == "success", span)
        else:
            check("a process is internal", span["kind"] == 1 and a["process.pid"] > 0 and a["process.executable.name"] == "samtools", span)
            check("is named by its tool", span["name"] == a["skep.tool"], span)
            # samtools's verbs are recognized tools: all of them have spans
            check("arguments", a["process.command_args"][0] in ("samtools", "bad"), a)
            if a["process.command_args"][0] == "bad":
                check("bytes that are not UTF-8", a["process.command_args"][1] == "\ufffd\ufffd", a)
    check("one run has ended", roots == 1)
    check("a span for each process", len(seen) == 500 - 10, len(seen))


def check_metrics(request):
    names, processes, hist = {}, 0, 0
    for metric, kind, p in otlp.points(request):
        names[metric["name"]] = kind
        a = otlp.attributes(p)
        check("a name by the rules", re.fullmatch("[a-z][a-z0-9_.]*", metric["name"]), metric["name"])
        check("no id among attributes", not any(k in a for k in ("process.pid", "cicd.pipeline.run.id", "skep.process.upid")), a)
        if kind != "gauge":
            check("cumulative", metric[kind]["temporality"] == 2, metric["name"])
            check("a begin", 0 < p["start"] <= p["time"], p)
        if metric["name"] == "skep.process.ended":
            processes += p["int"]
        if metric["name"] == "skep.process.duration":
            hist += p["count"]
            counts = p.get("positive", {}).get("counts", [])
            check("buckets add up", sum(counts) + p["zero_count"] == p["count"], p)
            check("no empty ones at the ends", not counts or (counts[0] and counts[-1]), p)
            check("scale", p["scale"] == 2 and metric["unit"] == "ns", p)
            # the sum lies between the buckets' bounds
            low = sum(n * 2 ** ((i + p["positive"]["offset"]) / 4) for i, n in enumerate(counts)) if counts else 0
            check("sum within bounds", low <= p["sum"] + 1 and p["sum"] <= low * 2 ** 0.25 + 1, (low, p["sum"]))
    check("processes counted", processes == 489 and hist == 489, (processes, hist))
    for name, kind in (("process.cpu.time", "sum"), ("process.memory.usage", "gauge"), ("process.disk.io", "sum"),
                       ("process.context_switches", "sum"), ("process.paging.faults", "sum"), ("skep.run.ended", "sum"),
                       ("skep.process.memory.peak", "exponential_histogram")):
        check(name, names.get(name) == kind, names.get(name))


def check_logs(request):
    failed = 0
    for resource, r in otlp.log_records(request):
        a = otlp.attributes(r)
        check("an event", r["event_name"] in ("skep.process.failed", "skep.run.ended"), r)
        check("its trace", re.fullmatch("[0-9a-f]{32}", r["trace_id"]) and r["time"] == r["observed_time"], r)
        check("the host's own service", resource["service.name"] == "skep", resource)
        if r["event_name"] == "skep.process.failed":
            failed += 1
            check("severity", r["severity"] == 13 and a["process.exit.code"] == 1, r)
            check("words", otlp.plain(r["body"]).endswith(": exit code 1"), r)
    check("events", failed == 10, failed)


def official(folder):
    try:
        from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
        from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    except ImportError:
        return "python3-opentelemetry-proto is not installed"
    for name, kind in (("traces", ExportTraceServiceRequest), ("metrics", ExportMetricsServiceRequest), ("logs", ExportLogsServiceRequest)):
        data = open(os.path.join(folder, name), "rb").read()
        message = kind()
        message.ParseFromString(data)
        again = kind()
        again.ParseFromString(message.SerializeToString())
        check("%s: the same when written by protobuf" % name, message == again and len(message.SerializeToString()) <= len(data))
        # event_name came with 1.5; what that version does not know it keeps, and nothing else is unknown
        check("%s: something in it" % name, len(message.ListFields()) == 1)
    return "and opentelemetry-proto's own classes"


for name, look in (("traces", check_traces), ("metrics", check_metrics), ("logs", check_logs)):
    try:
        look(otlp.decode(name, open(os.path.join(sys.argv[1], name), "rb").read()))
    except otlp.Wrong as wrong:
        check(name, False, wrong)
also = official(sys.argv[1])
print("%s: %s" % ("failed" if bad else "ok", also))
sys.exit(1 if bad else 0)
