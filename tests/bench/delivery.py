#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tests/bench/delivery.py - measures the cost of delivery for every sink: the table in docs/inside/measurements.md.

  delivery.py [--rounds N] [--records N] [--only WORD,...] [--real SINK=URL ...] [--disk FOLDER]

Process records (58 columns, 200 bytes of argv) from emit through batches, the spool and the sink's queue until the sink
has answered for the last one (tests/bench/bench_delivery).  This side has CPU 0 for itself as far as the machine
has one, the receiver CPU 1.  Receivers that cost little: nginx that answers 200 (204 when the figures were measured)
and throws away what it reads, and librdkafka's mock brokers (tests/faults/kmock); --real
clickhouse=http://127.0.0.1:8123 adds a row against a real one.

Each row is run once in each round, first without and then with a spool; medians are printed.

Environment: SKEP_PLUGIN_DIRS (where the plugins are); run it in the build folder.
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

PORT = 18907
NGINX = f"""
worker_processes 1; daemon off; pid WORK/pid; error_log WORK/error.log; events {{}}
http {{ access_log off; client_max_body_size 0; client_body_buffer_size 8m; client_body_temp_path WORK/body;
  server {{ listen 127.0.0.1:{PORT}; keepalive_requests 1000000000; location / {{ return 200; }} }} }}
"""
URL = f"http://127.0.0.1:{PORT}"


def rows(folder, brokers, real):
    yield "none: up to the sink", None
    yield "file", {"plugin": "file", "path": f"{folder}/out.ndjson"}
    for sink, address in ("http", "url"), ("otlp", "endpoint"), ("clickhouse", "url"):
        for how in "none", "gzip", "zstd":
            yield f"{sink}, {how}", {"plugin": sink, address: URL, "compression": how}
    yield "remote_write", {"plugin": "remote_write", "url": URL}
    if brokers:
        for how in "record", "batch":
            yield f"kafka, one message a {how}, zstd", {"plugin": "kafka", "brokers": brokers, "topic": f"bench-{how}", "format": how}
    yield "prometheus (scraped)", {"plugin": "prometheus", "listen": "127.0.0.1:0"}
    yield "lake", {"plugin": "lake", "path": f"{folder}/lake"}
    for sink, url in real:
        yield f"{sink}, gzip, a real server", {"plugin": sink, "endpoint" if sink == "otlp" else "url": url} | ({} if sink == "remote_write" else {"compression": "gzip"})


def once(records, sink, spool, folder):
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    config = {}
    if sink:
        config["sinks"] = [sink]
    if spool:
        config["spool"] = {"path": f"{folder}/spool.db"}
    done = subprocess.run(["taskset", "-c", "0", "tests/bench/bench_delivery", str(records), json.dumps(config)], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"{config}: {done.stderr}")
    return json.loads(done.stdout)


def start(command, **how):
    p = subprocess.Popen(["taskset", "-c", "1", *command], **how)
    atexit.register(lambda: (p.send_signal(signal.SIGTERM), p.wait()))
    return p


def receivers(work):
    with open(f"{work}/nginx.conf", "w", encoding="ascii") as f:
        f.write(NGINX.replace("WORK", work))
    start(["nginx", "-c", f"{work}/nginx.conf", "-e", f"{work}/error.log"])
    brokers = ""
    if os.access("tests/faults/kmock", os.X_OK):
        start(["tests/faults/kmock", "serve", f"{work}/brokers", "1"], stdin=subprocess.DEVNULL)
        for _ in range(100):
            brokers = open(f"{work}/brokers", encoding="ascii").read().strip() if os.path.exists(f"{work}/brokers") else ""
            if brokers:
                break
            time.sleep(0.1)
    time.sleep(0.5)
    return brokers


def cell(runs, key, form):
    return form.format(statistics.median(r[key] for r in runs)) if runs else ""


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--records", type=int, default=200000)
    a.add_argument("--only", default="")
    a.add_argument("--real", action="append", default=[], metavar="SINK=URL")
    a.add_argument("--disk", default="/var/tmp")
    args = a.parse_args()
    work = tempfile.mkdtemp(prefix="skep-delivery.", dir=args.disk)
    atexit.register(shutil.rmtree, work, ignore_errors=True)
    folder = f"{work}/run"
    os.mkdir(folder)
    os.chmod(work, 0o755)
    brokers = receivers(work)
    table = [r for r in rows(folder, brokers, [x.split("=", 1) for x in args.real]) if not args.only or any(w in r[0] for w in args.only.split(","))]
    runs = {(name, spool): [] for name, _ in table for spool in (False, True)}
    for _ in range(args.rounds):
        for name, sink in table:
            for spool in False, True:
                runs[name, spool].append(once(args.records, sink, spool, folder))
    print(f"Load {os.getloadavg()[0]:.1f} at the end; medians of {args.rounds} rounds of {args.records} records.\n")
    print("| sink | records/s | CPU a record | bytes on the wire | with the spool: records/s | CPU a record | most memory |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for name, _ in table:
        memory, spool = runs[name, False], runs[name, True]
        wire = cell(memory, "wire_bytes", "{:.0f}") if statistics.median(r["wire_bytes"] for r in memory) else ""
        print(f"| {name} | {cell(memory, 'records_s', '{:,.0f}')} | {cell(memory, 'cpu_us', '{:.1f} µs')} | {wire} | "
              f"{cell(spool, 'records_s', '{:,.0f}')} | {cell(spool, 'cpu_us', '{:.1f} µs')} | {cell(spool, 'peak_rss_mb', '{:.0f} MB')} |")


main()
