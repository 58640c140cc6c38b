#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""live.py - every query of every Grafana board, asked of the data source that it is for, which a real skepd has filled:
Prometheus scrapes the sink prometheus and `skep stats --prometheus`, ClickHouse gets inserts, the lake is SQLite. There
is no Grafana here: this script replaces variables and macros as Grafana and its plugins do, and compares the columns
and labels of each answer with what the panel names. Then the same of the lakes that fill_lake and fill_clickhouse
write, which have what this host does not do (requests of tasks, a month of runs).

The GPU is the stand-in of tests/gpu. Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS, abs_srcdir, abs_builddir; PROMETHEUS
and SKEP_TEST_CLICKHOUSE (an address) name other servers. 77: no root, or BPF is not possible here."""
import http.server
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import grafana

BUILD = os.environ.get("abs_builddir", ".")
SKEP, SKEPD = os.environ.get("SKEP", BUILD + "/skep"), os.environ.get("SKEPD", BUILD + "/skepd")
# Panels that a host without such events leaves empty; all others must answer with a value.
EMPTY = {
    "skep-host": {"Killed for memory, in this range", "Threads that wait for storage", "Disks"},
    "skep-gpu": {"Errors, in this range", "Clocks held down"},
    "skep-skepd": {"Last reload"},
    "skep-tools": {"Network, of ended processes"},
    "skep-run": {"Tasks"},
    "skep-pipelines": {"Tasks that ask for memory that they do not use"},
}
FILLED_EMPTY = {"skep-run": {"Busy CPUs", "Memory", "Storage, read and written"}}  # the written lakes have no samples
# In memory where there is room: ClickHouse makes a file for each column of each insert, and some disks delete slowly.
SHM = os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 1 << 30
work = tempfile.mkdtemp(prefix="skep-grafana.", dir="/dev/shm" if SHM else None)
started = []
failed = []


def ok(good, words):
    if not good:
        failed.append(words)
        print("not ok - " + words)
    return good


def skip(words):
    print("skip: " + words)
    sys.exit(77)


PATIENCE = 600 * int(os.environ.get("SKEP_TEST_PATIENCE", 1))


def port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start(name, *argv, **more):
    log = open(os.path.join(work, name + ".log"), "ab")
    p = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **more)
    started.append(p)
    return p


def until(what, true):
    """Waits for it: true() until it is. The bound ends a hang alone."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            answer = true()
        except (OSError, urllib.error.URLError, KeyError, IndexError):
            answer = None
        if answer:
            return answer
        if time.monotonic() > end:
            for log in os.listdir(work):
                if log.endswith(".log"):
                    print("# %s: %s" % (log, open(os.path.join(work, log), errors="replace").read()[-1500:]))
            sys.exit("live.py: waited too long: " + what)
        time.sleep(0.2)


def get(url, data=None):
    try:
        with urllib.request.urlopen(url, data.encode() if data is not None else None, 60) as answer:
            return answer.read().decode()
    except urllib.error.HTTPError as error:
        return "HTTP %d: %s" % (error.code, error.read().decode(errors="replace").strip())


# ---- sources: ask(query, series) gives (columns, rows) or an error's text ------------------------

def on_clickhouse(url, database):
    def ask(text):
        answer = get("%s/?database=%s" % (url, database), text + " FORMAT JSONCompact")
        if not answer.startswith("{"):
            return answer
        answer = json.loads(answer)
        # 64-bit numbers are quoted in this format
        kinds = [m["type"] for m in answer["meta"]]
        return [m["name"] for m in answer["meta"]], [
            [float(v) if v is not None and re.match(r"U?Int|Float", k) else v for v, k in zip(row, kinds)] for row in answer["data"]]
    return ask


def on_sqlite(path):
    def ask(text):
        db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
        try:
            found = db.execute(text)
            return [c[0] for c in found.description], [list(r) for r in found.fetchall()]
        except sqlite3.Error as error:
            return str(error)
        finally:
            db.close()
    return ask


def is_time(value, start, end):
    if isinstance(value, str):
        value = time.mktime(time.strptime(value, "%Y-%m-%d %H:%M:%S")) if re.match(r"\d{4}-", value) else -1
    return start - 86400 <= value <= end + 86400


def check_table(where, p, target, columns, rows, start, end):
    """What the panel needs of an answer in rows."""
    names, links = grafana.columns_named(p)
    if p["type"] == "table":
        ok(set(names) <= set(columns), "%s: no column %s" % (where, set(names) - set(columns)))
        for name in {n for some in links for link in some for n in re.findall(r"__data\.fields\.(\w+)", link["url"])}:
            ok(name in columns, "%s: the link names the column %s" % (where, name))
    series = target.get("queryType") in ("timeseries", "time series")
    if series:
        ok(columns[0] == "time", "%s: the first column is %s" % (where, columns[0]))
        labels = re.findall(r"__field\.labels\.(\w+)", p["fieldConfig"]["defaults"].get("displayName", ""))
        ok(set(labels) <= set(columns), "%s: no label %s" % (where, labels))
        times = [r[0] for r in rows]
        ok(times == sorted(times), "%s: the times do not ascend" % where)
    for i, name in enumerate(columns):
        if name in ("time", "started", "ended"):
            ok(all(is_time(r[i], start, end) for r in rows), "%s: %s is no moment: %s" % (where, name, rows[:1]))
        # A column must have one type: the plugin for SQLite takes the first row's type and cuts the others.
        kinds = {type(r[i]) for r in rows if r[i] is not None}
        ok(len(kinds) <= 1, "%s: %s has the types %s" % (where, name, kinds))


def sql_boards(source, ask, start, end, may_be_empty, pipeline=None):
    """All boards of a lake, of all pipelines or one. Returns {board: {panel: (columns, rows)}}."""
    expand = grafana.for_sqlite if source == "sqlite" else grafana.for_clickhouse
    answers, n = {}, 0
    for path, b in grafana.boards().items():
        if not path.startswith(source + "/"):
            continue
        values = {}
        for name, v in grafana.variables_of(b).items():
            if v["type"] != "query":
                continue
            answer = ask(grafana.query_of_variable(v))
            if not ok(not isinstance(answer, str) and answer[1], "%s: variable %s: %s" % (path, name, answer)):
                return answers
            found = [r[0] for r in answer[1]]
            values[name] = [pipeline] if pipeline else found
            if name == "run":
                values[name] = [run_to_open(ask, pipeline)]
            ok(set(values[name]) <= set(found), "%s: the variable %s does not offer %s" % (path, name, values[name]))
        kind = b["uid"].rsplit("-", 1)[0]
        answers[kind] = {}
        for p in b["panels"]:
            for target in p["targets"]:
                n += 1
                where = "%s: %s" % (b["uid"], p["title"])
                text = expand(grafana.query_of(target), values, start, end)
                answer = ask(text)
                if not ok(not isinstance(answer, str), "%s: %s\n#   %s" % (where, answer, text)):
                    continue
                columns, rows = answer
                answers[kind][p["title"]] = answer
                has_value = any(v is not None for r in rows for v in r)
                ok(has_value or p["title"] in may_be_empty.get(kind, ()), "%s: no row\n#   %s" % (where, text))
                check_table(where, p, target, columns, rows, start, end)
                nothing = ask(expand(grafana.query_of(target), {k: ["it's none"] for k in values}, start, end))
                ok(not isinstance(nothing, str), "%s: of a name that is not there: %s" % (where, nothing))
    print("ok - %s: %d queries" % (source, n))
    return answers


PIPELINE = os.path.basename(work)  # make's run is called after its folder
ENDED = "SELECT run FROM run WHERE end_ns > 0 AND exit_code > 0 AND pipeline %s ORDER BY start_ns DESC LIMIT 1"


def run_to_open(ask, pipeline=None):
    """The last run that has failed, so that each panel of its board has something to show."""
    return ask(ENDED % ("= '%s'" % pipeline if pipeline else "!= ''"))[1][0][0]


def same(one, other):
    """Both sources got the same records: equal columns everywhere, and equal figures of ended processes."""
    for kind in one:
        for title, (columns, rows) in one[kind].items():
            ok(columns == other[kind][title][0], "%s: %s: columns differ: %s, %s" % (kind, title, columns, other[kind][title][0]))
            if len(rows) == len(columns) == 1:
                ok(rows == other[kind][title][1], "%s: %s: %s, %s" % (kind, title, rows, other[kind][title][1]))


# ---- Prometheus ---------------------------------------------------------------------------------

def ask_prometheus(base, path, **query):
    return json.loads(urllib.request.urlopen(base + path + "?" + urllib.parse.urlencode(query, doseq=True), None, 60).read())["data"]


def values_of(base, v):
    metric, label = re.fullmatch(r"label_values\((.+), (\w+)\)", v).groups()
    return ask_prometheus(base, "/api/v1/label/%s/values" % label, **{"match[]": metric})


def prometheus_boards(base, seconds):
    now, n = time.time(), 0
    for path, b in grafana.boards().items():
        if not path.startswith("prometheus/"):
            continue
        values = {}
        for name, v in grafana.variables_of(b).items():
            if v["type"] == "query":
                values[name] = values_of(base, grafana.for_prometheus(grafana.query_of_variable(v), values))
                ok(values[name], "%s: variable %s has no value" % (path, name))
        for p in b["panels"]:
            found = 0
            for target in p["targets"]:
                n += 1
                where = "%s: %s" % (b["uid"], p["title"])
                query = grafana.for_prometheus(target["expr"], values, seconds)
                try:
                    answer = (ask_prometheus(base, "/api/v1/query", query=query, time=now) if target["instant"] else
                              ask_prometheus(base, "/api/v1/query_range", query=query, start=now - seconds, end=now, step=2))["result"]
                except urllib.error.HTTPError as error:
                    ok(False, "%s: %s\n#   %s" % (where, error.read().decode(), query))
                    continue
                found += any(v[1] != "NaN" for s in answer for v in s.get("values", [s.get("value")]))
                for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                    # Prometheus drops an empty label: the default's rule, a program without a name.
                    ok(not answer or any(label in s["metric"] for s in answer), "%s: no label %s: %s" % (where, label, answer[:1]))
            ok(found or p["title"] in EMPTY.get(b["uid"], ()), "%s: no value\n#   %s" % (where, query))
    rules = ask_prometheus(base, "/api/v1/rules")["groups"]
    broken = [(r["name"], r["lastError"]) for g in rules for r in g["rules"] if r.get("lastError")]
    ok(rules and not broken, "alerts: %s" % broken)
    print("ok - prometheus: %d queries, %d alerts" % (n, sum(len(g["rules"]) for g in rules)))


def check_names(page, stats):
    """grafana.py's names, which lint.py compares boards with, are those of the real pages."""
    live = set(re.findall(r"^# TYPE (skep_\w+)", page, re.M))
    known = grafana.metrics_of_records() | grafana.metrics_of_stats()
    ok(live and live <= known, "metrics that grafana.py does not know: %s" % sorted(live - known))
    live = set(re.findall(r"^# TYPE (skep_\w+)", stats, re.M))
    ok(live and live <= known, "metrics of skep stats that grafana.py does not know: %s" % sorted(live - known))


# ---- skepd and its load -----------------------------------------------------------------------------

class Stats(http.server.BaseHTTPRequestHandler):
    """In the place of node_exporter: `skep stats --prometheus` of this moment."""

    def do_GET(self):
        text = subprocess.run([SKEP, "stats", "--prometheus", "--socket", work + "/s"], capture_output=True).stdout
        try:
            self.send_response(200 if text else 503)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text)
        except BrokenPipeError:  # the server did not wait so long
            pass

    def log_message(self, *args):
        pass


def start_clickhouse():
    """Its address, or None."""
    if os.environ.get("SKEP_TEST_CLICKHOUSE"):
        return os.environ["SKEP_TEST_CLICKHOUSE"]
    program = shutil.which("clickhouse-server", path=os.environ["PATH"] + ":/usr/sbin")
    if not program:
        return None
    web = port()
    with open(work + "/config.xml", "w") as f:
        f.write("<yandex><logger><level>none</level><console>0</console></logger><http_port>%d</http_port><tcp_port>%d</tcp_port>"
                "<interserver_http_port>%d</interserver_http_port><listen_host>127.0.0.1</listen_host><path>%s/ch/</path>"
                "<tmp_path>%s/chtmp/</tmp_path><users_config>users.xml</users_config><default_profile>default</default_profile>"
                "<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>"
                % (web, port(), port(), work, work))
    with open(work + "/users.xml", "w") as f:
        f.write("<yandex><profiles><default></default></profiles><users><default><password></password><networks><ip>127.0.0.1</ip>"
                "</networks><profile>default</profile><quota>default</quota></default></users><quotas><default><interval>"
                "<duration>3600</duration></interval></default></quotas></yandex>")
    start("clickhouse", program, "--config-file=" + work + "/config.xml")
    url = "http://127.0.0.1:%d" % web
    until("clickhouse-server answers", lambda: get(url, "SELECT 1").strip() == "1")
    return url


MAKEFILE = """all: a b c
a: ; SKEP_TASK=align sh -c 'i=0; while [ $$i -lt 100000 ]; do i=$$((i + 1)); done; sleep 3'
b: ; SKEP_TASK=index sh -c 'seq 300000 | sort -r >out; dd if=out of=copy conv=fsync 2>&1; sleep 3'
c: ; sh -c '/bin/false; exit 3'
"""


def script_gpu(*lines):
    with open(work + "/gpu.new", "w") as f:
        f.write("\n".join(("device GPU-A", "set mem_total 80000", "set mem_used 2000", "set power_mw 300000", "set temp 40") + lines) + "\n")
    os.rename(work + "/gpu.new", work + "/gpu")


def live(clickhouse):
    metrics, web = port(), port()
    gpu = os.path.join(BUILD, "tests/gpu/standin_nvml.so")
    script_gpu("set util 0", "set energy_mj 0")
    sinks = [{"plugin": "prometheus", "listen": "127.0.0.1:%d" % metrics, "host": "h1"}, {"plugin": "lake", "min_free": "0", "path": work + "/lake"}]
    if clickhouse:
        sinks.append({"plugin": "clickhouse", "url": clickhouse, "database": "skep_boards",
                      "streams": ["process.exit", "run", "task", "tool.sample"]})  # what the boards ask for
        subprocess.run([SKEP, "lake", "init", "--clickhouse", clickhouse, "--database", "skep_boards"], check=True, stdout=subprocess.DEVNULL)
    os.makedirs(work + "/rules")
    with open(work + "/rules/10.json", "w") as f:
        f.write('{ "rules": [ { "id": "no-true", "when": "comm = \\"true\\"", "verdict": "exclude" } ] }')
    with open(work + "/skepd.conf", "w") as f:
        json.dump({"interval": "1s", "control": {"socket": work + "/s"}, "spool": {"path": work + "/spool.db"},
                   "filters": {"dirs": [work + "/rules"]},
                   "probes": [{"plugin": "identity"}, {"plugin": "host"}, {"plugin": "proc", "required": True, "environ": ["SKEP_TASK"]},
                              {"plugin": "cgroup"}, {"plugin": "sched"}, {"plugin": "net"}, {"plugin": "io"},
                              {"plugin": "gpu", "nvml_library": gpu, "cuda_library": "none"}], "sinks": sinks}, f)
    # make, as a child of init that is older than skepd: else it is a part of the run of a "make check" around
    # this script.
    with open(work + "/Makefile", "w") as f:
        f.write(MAKEFILE)
    subprocess.run(["sh", "-c", "setsid sh -c 'while [ ! -e go ]; do [ -e gpu ] || exit; sleep 0.2; done; make -s -k -j3; touch done' "
                    ">make.log 2>&1 </dev/null &"], cwd=work, env={"PATH": os.environ["PATH"]}, check=True)
    daemon = start("skepd", SKEPD, "-c", work + "/skepd.conf", env={**os.environ, "STANDIN_NVML": work + "/gpu"})

    def collects():
        if daemon.poll() is not None:
            print(open(work + "/skepd.log").read())
            if daemon.returncode == 4:
                skip("collecting is not possible here")
            sys.exit("live.py: skepd has ended with %d" % daemon.returncode)
        return subprocess.run([SKEP, "status", "--socket", work + "/s"], capture_output=True).returncode == 0
    until("skepd answers", collects)

    stats = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stats)
    threading.Thread(target=stats.serve_forever, daemon=True).start()
    with open(work + "/prometheus.yml", "w") as f:
        json.dump({"global": {"scrape_interval": "2s", "evaluation_interval": "2s"}, "rule_files": [grafana.RULES], "scrape_configs": [
            {"job_name": "skep", "static_configs": [{"targets": ["127.0.0.1:%d" % metrics]}]},
            {"job_name": "node", "static_configs": [{"targets": ["127.0.0.1:%d" % stats.server_port]}]}]}, f)
    prometheus = os.environ.get("PROMETHEUS") or shutil.which("prometheus")
    base = "http://127.0.0.1:%d" % web
    if prometheus:
        start("prometheus", prometheus, "--config.file=" + work + "/prometheus.yml", "--storage.tsdb.path=" + work + "/tsdb",
              "--web.listen-address=127.0.0.1:%d" % web)

    # A device that is held, idle at first and then busy; a process that holds it has its GPU time when it ends.
    holder = start("holder", "sleep", "3600")
    script_gpu("set util 0", "set energy_mj 1000", "holder %d 4096" % holder.pid)
    begin = time.time()
    open(work + "/go", "w").close()
    until("make ends", lambda: os.path.exists(work + "/done"))
    script_gpu("set util 60", "set energy_mj 50000", "holder %d 4096" % holder.pid)
    until("the device was busy", lambda: "skep_gpu_device_busy_seconds_total{" in get("http://127.0.0.1:%d/metrics" % metrics))
    holder.kill()
    holder.wait()
    script_gpu("set util 0", "set energy_mj 60000")
    subprocess.run(["true"])
    page = until("the page has the pipeline and the GPU time", lambda: (lambda text: text if re.search(
        r'skep_process_cpu_seconds_total{.*pipeline="[^"]', text) and "skep_process_gpu_busy" in text else None)(
            get("http://127.0.0.1:%d/metrics" % metrics)))
    check_names(page, urllib.request.urlopen("http://127.0.0.1:%d/" % stats.server_port).read().decode())
    if prometheus:
        until("Prometheus has both pages", lambda: float(ask_prometheus(base, "/api/v1/query",
              query="min(count_over_time(skep_process_gpu_busy_seconds_total[1m])) and count(skep_build_info)")["result"][0]["value"][1]) > 4)
        prometheus_boards(base, int(time.time() - begin) + 5)
    else:
        print("# no prometheus here: its boards are not tested")
    lakes = lambda: [os.path.join(work, "lake", n) for n in os.listdir(work + "/lake") if n.endswith(".db")]
    lake = until("the lake has the run's end", lambda: next((p for p in lakes() if on_sqlite(p)(ENDED % "= '%s'" % PIPELINE)[1]), None))
    span = int(begin) - 60, int(time.time()) + 60
    ours = sql_boards("sqlite", on_sqlite(lake), *span, EMPTY, PIPELINE)
    if clickhouse:
        ask = on_clickhouse(clickhouse, "skep_boards")
        until("ClickHouse has it", lambda: ask(ENDED % "= '%s'" % PIPELINE)[1])
        same(ours, sql_boards("clickhouse", ask, *span, EMPTY, PIPELINE))


def filled(clickhouse):
    """Of the lakes that the sinks' own code writes from made-up records; fill_lake ends on 2026-11-10."""
    span = [int(time.mktime((2026, 10, 1, 0, 0, 0, 0, 0, 0))), int(time.mktime((2026, 11, 12, 0, 0, 0, 0, 0, 0)))]
    counts = ["100", "10000", "30", "0"]
    subprocess.run([BUILD + "/tests/bench/fill_lake", *counts, "path=" + work + "/filled"], check=True, stdout=subprocess.DEVNULL)
    sql_boards("sqlite", on_sqlite(work + "/filled/lake-2026-10.db"), *span, FILLED_EMPTY)
    if clickhouse:
        subprocess.run([SKEP, "lake", "init", "--clickhouse", clickhouse, "--database", "skep_filled"], check=True, stdout=subprocess.DEVNULL)
        subprocess.run([BUILD + "/tests/bench/fill_clickhouse", *counts, "url=" + clickhouse, "database=skep_filled"], check=True,
                       stdout=subprocess.DEVNULL)
        sql_boards("clickhouse", on_clickhouse(clickhouse, "skep_filled"), *span, FILLED_EMPTY)


def main():
    if os.geteuid() != 0:
        skip("needs root (BPF)")
    os.environ["TZ"] = "UTC"
    time.tzset()
    clickhouse = start_clickhouse()
    if not clickhouse:
        print("# no clickhouse-server here: its boards are not tested")
    filled(clickhouse)
    live(clickhouse)
    print("live.py: %d errors" % len(failed))
    return 1 if failed else 0


signal.signal(signal.SIGTERM, lambda *_: sys.exit("live.py: terminated"))
try:
    sys.exit(main())
finally:
    for p in started:
        if p.poll() is None:
            p.terminate()
    for p in started:
        try:
            p.wait(20)
        except subprocess.TimeoutExpired:
            p.kill()
    shutil.rmtree(work, ignore_errors=True)
