#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/delivery_peers.py - the same records by others, beside delivery.py's figures.

  delivery_peers.py [--rounds N] [--records N] [--fluent-bit PATH] [--collector PATH]

Records as the sink file writes them (NDJSON), to nginx that answers 204, gzip; the program on CPU 0, nginx on CPU 1:

  skep        emit to acknowledged, the sink http, with the spool (a durable batch before anything is sent)
  Fluent Bit  tail reads the file, http sends it ("json_lines"); "parsed": each line as a record, as filters need it; "lines": as a
              string in one; "disk": parsed, with its buffer on disk (storage.type filesystem) and its offsets in a database
  Collector   takes skep's own OTLP from the sink otlp (on CPU 1) and sends it on, without a queue: it answers when it has
              been answered

CPU is the program's own: wait4's, or /proc/PID/stat of the Collector.  Wall time has its start and its end, too, but for the Collector.

Environment: SKEP_PLUGIN_DIRS; run it in the build folder.
"""
import argparse
import atexit
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PORT = 18908
OTLP = 18909
TICK = os.sysconf("SC_CLK_TCK")
NGINX = f"""
worker_processes 1; daemon off; pid WORK/pid; error_log WORK/error.log; events {{}}
http {{ access_log off; client_max_body_size 0; client_body_buffer_size 8m; client_body_temp_path WORK/body;
  server {{ listen 127.0.0.1:{PORT}; keepalive_requests 1000000000; location / {{ return 204; }} }} }}
"""
FLUENT = f"""
[SERVICE]
    flush 1
    grace 60
    log_level error
    parsers_file WORK/parsers.conf
    @SERVICE@
[INPUT]
    name tail
    path WORK/in.ndjson
    read_from_head on
    exit_on_eof on
    buffer_chunk_size 1M
    buffer_max_size 4M
    mem_buf_limit 50MB
    @INPUT@
[OUTPUT]
    name http
    match *
    host 127.0.0.1
    port {PORT}
    format json_lines
    compress gzip
    retry_limit no_limits
"""
COLLECTOR = f"""
receivers: {{ otlp: {{ protocols: {{ http: {{ endpoint: "127.0.0.1:{OTLP}" }} }} }} }}
exporters: {{ otlphttp: {{ endpoint: "http://127.0.0.1:{PORT}", compression: gzip, sending_queue: {{ enabled: false }} }} }}
service:
  telemetry: {{ metrics: {{ level: none }}, logs: {{ level: error }} }}
  pipelines:
    traces: {{ receivers: [otlp], exporters: [otlphttp] }}
    metrics: {{ receivers: [otlp], exporters: [otlphttp] }}
    logs: {{ receivers: [otlp], exporters: [otlphttp] }}
"""


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def start(cpu, command):
    p = subprocess.Popen(["taskset", "-c", str(cpu), *command], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(lambda: (p.send_signal(signal.SIGTERM), p.wait()))
    return p


def deliver(cpu, records, config):
    done = subprocess.run(["taskset", "-c", str(cpu), "tests/bench/bench_delivery", str(records), json.dumps(config)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{config}: {done.stderr}")
    return json.loads(done.stdout)


def skep(work, records):
    shutil.rmtree(f"{work}/spool", ignore_errors=True)
    os.mkdir(f"{work}/spool")
    r = deliver(0, records, {"sinks": [{"plugin": "http", "url": f"http://127.0.0.1:{PORT}"}], "spool": {"path": f"{work}/spool/s.db"}})
    return r["records_s"], r["cpu_us"], r["peak_rss_mb"]


def fluent(work, records, program, how):
    shutil.rmtree(f"{work}/storage", ignore_errors=True)
    lines = [] if how == "lines" else ["parser record"]
    if how == "disk":
        lines += ["storage.type filesystem", f"db {work}/storage/offsets.db"]
        os.mkdir(f"{work}/storage")
    conf = FLUENT.replace("@SERVICE@", f"storage.path {work}/storage" if how == "disk" else "")
    write(f"{work}/fluent.conf", conf.replace("@INPUT@", "\n    ".join(lines)).replace("WORK", work))
    begin = time.monotonic()
    p = subprocess.Popen(["taskset", "-c", "0", program, "-q", "-c", f"{work}/fluent.conf"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(p.pid, 0)
    p.returncode = status
    if status != 0:
        sys.exit(f"{program}: wait status {status}")
    return records / (time.monotonic() - begin), (used.ru_utime + used.ru_stime) * 1e6 / records, used.ru_maxrss / 1024


def cpu_of(pid):
    return sum(int(x) for x in open(f"/proc/{pid}/stat", encoding="ascii").read().rsplit(")", 1)[1].split()[11:13]) / TICK


def collector(pid, records):
    before = cpu_of(pid)
    r = deliver(1, records, {"sinks": [{"plugin": "otlp", "endpoint": f"http://127.0.0.1:{OTLP}", "compression": "none"}]})
    peak = [int(line.split()[1]) for line in open(f"/proc/{pid}/status", encoding="ascii") if line.startswith("VmHWM")][0]
    return r["records_s"], (cpu_of(pid) - before) * 1e6 / records, peak / 1024


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--records", type=int, default=200000)
    a.add_argument("--fluent-bit")
    a.add_argument("--collector")
    args = a.parse_args()
    work = tempfile.mkdtemp(prefix="skep-peers.", dir="/var/tmp")
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    os.chmod(work, 0o755)
    write(f"{work}/nginx.conf", NGINX.replace("WORK", work))
    write(f"{work}/parsers.conf", "[PARSER]\n    name record\n    format json\n")
    write(f"{work}/collector.yaml", COLLECTOR)
    start(1, ["nginx", "-c", f"{work}/nginx.conf", "-e", f"{work}/error.log"])
    time.sleep(0.5)
    rows = {"skep, http, gzip, with the spool": lambda: skep(work, args.records)}
    if args.fluent_bit:
        deliver(0, args.records, {"sinks": [{"plugin": "file", "path": f"{work}/in.ndjson"}]})
        for how in "parsed", "lines", "disk":
            rows[f"Fluent Bit, {how}"] = lambda how=how: fluent(work, args.records, args.fluent_bit, how)
    if args.collector:
        pid = start(0, [args.collector, "--config", f"{work}/collector.yaml"]).pid
        time.sleep(3)
        rows["OpenTelemetry Collector, otlp to otlp"] = lambda: collector(pid, args.records)
    runs = {name: [] for name in rows}
    for _ in range(args.rounds):
        for name, run in rows.items():
            runs[name].append(run())
    print(f"Load {os.getloadavg()[0]:.1f} at the end; medians of {args.rounds} rounds of {args.records} records.\n")
    print("| | records/s | CPU a record | most memory |\n| --- | --: | --: | --: |")
    for name, all_of in runs.items():
        rate, cpu, peak = (statistics.median(r[i] for r in all_of) for i in range(3))
        print(f"| {name} | {rate:,.0f} | {cpu:.1f} µs | {peak:.0f} MB |")


main()
