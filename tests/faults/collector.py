# SPDX-License-Identifier: Apache-2.0
"""collector.py BUILD PLACE [SCENE...] - the scenes of collector.sh."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

build, place = sys.argv[1:3]
PROCESSES = 500
work = tempfile.mkdtemp(prefix="skep-collector.")
children = []
bad = []


def check(what, ok, more=""):
    print("%s - %s %s" % ("ok" if ok else "not ok", what, more))
    if not ok:
        bad.append(what)


def start(argv, **kw):
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **kw)
    children.append(child)
    return child


def stop(child):
    if child.poll() is None:
        child.send_signal(signal.SIGTERM)
    try:
        child.wait(30)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


class Collector:
    """A collector that writes the received records to a file; tls: the names of its certificates."""

    def __init__(self, name, port, tls=None):
        self.port, self.out, self.config = port, os.path.join(work, name + ".jsonl"), os.path.join(work, name + ".yaml")
        http = {"endpoint": "127.0.0.1:%d" % port}
        if tls:
            http["tls"] = {"cert_file": tls["server"] + ".pem", "key_file": tls["server"] + ".key", "client_ca_file": tls["ca"] + ".pem"}
        pipe = {"receivers": ["otlp"], "exporters": ["lines"]}
        json.dump({"receivers": {"otlp": {"protocols": {"http": http}}}, "exporters": {"lines": {"path": self.out}},
                   "service": {"telemetry": {"metrics": {"level": "none"}}, "pipelines": {"traces": pipe, "metrics": pipe, "logs": pipe}}},
                  open(self.config, "w"))
        self.child = None

    def start(self):
        self.child = start([os.path.join(place, "otelcol"), "--config", "file:" + self.config],
                           stdout=subprocess.DEVNULL, stderr=open(self.config + ".log", "a"))
        for _ in range(100):
            try:
                urllib.request.urlopen("http://127.0.0.1:%d/" % self.port, timeout=1)
            except urllib.error.HTTPError:
                return self
            except urllib.error.URLError as e:
                if "refused" not in str(e):
                    return self  # TLS is spoken there
            except OSError:
                return self
            time.sleep(0.1)
        sys.exit("the collector does not start: " + open(self.config + ".log").read()[-2000:])

    def stop(self):
        stop(self.child)

    def lines(self):
        return [json.loads(line) for line in open(self.out)] if os.path.exists(self.out) else []

    def spans(self):
        for line in self.lines():
            for r in line.get("resourceSpans", []):
                for s in r["scopeSpans"]:
                    yield from s["spans"]

    def events(self):
        for line in self.lines():
            for r in line.get("resourceLogs", []):
                for s in r["scopeLogs"]:
                    yield from s["logRecords"]

    def sums(self):
        """metric -> the newest value of each series"""
        found = {}
        for line in self.lines():
            for r in line.get("resourceMetrics", []):
                for s in r["scopeMetrics"]:
                    for m in s["metrics"]:
                        for p in m.get("sum", {}).get("dataPoints", []):
                            key = (m["name"], json.dumps(p.get("attributes", []), sort_keys=True))
                            value = float(p.get("asInt", p.get("asDouble", 0)))
                            if key not in found or int(p["timeUnixNano"]) > found[key][0]:
                                found[key] = (int(p["timeUnixNano"]), value)
        return found


def attribute(thing, name):
    for a in thing.get("attributes", []):
        if a["key"] == name:
            return next(iter(a["value"].values()))
    return None


class Daemon:
    def __init__(self, name, **otlp):
        self.file, self.log = os.path.join(work, name + ".ndjson"), os.path.join(work, name + ".log")
        self.socket = os.path.join(work, name + ".sock")
        conf = os.path.join(work, name + ".conf")
        json.dump({"interval": "500ms", "control": {"socket": self.socket},
                   "spool": {"path": os.path.join(work, name + ".spool")},
                   "probes": [{"plugin": "proc"}],
                   "sinks": [{"plugin": "file", "path": self.file}, dict({"plugin": "otlp", "span_threshold": "0s"}, **otlp)]}, open(conf, "w"))
        env = dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(build, "plugins-run"))
        self.child = start([os.path.join(build, "skepd"), "-c", conf], stdout=open(self.log, "a"), stderr=subprocess.STDOUT, env=env)
        for _ in range(100):
            if os.path.exists(self.socket) or self.child.poll() is not None:
                break
            time.sleep(0.1)
        time.sleep(1)
        if self.child.poll() is not None:
            sys.exit("skepd has ended: " + open(self.log).read()[-2000:])

    def ask(self, what):
        out = subprocess.run([os.path.join(build, "skep"), what, "--socket", self.socket, "--json"], capture_output=True, text=True)
        return json.loads(out.stdout) if out.returncode == 0 else out.stderr

    def stop(self):
        stop(self.child)

    def records(self, stream):
        return [r for r in map(json.loads, open(self.file)) if r["stream"] == stream]


def load(n=PROCESSES, fail=20):
    """A session of its own with n processes, every fail-th of which fails; its leader's words are its argument 0."""
    subprocess.run(["setsid", "--wait", "bash", "-c",
                    "for i in $(seq %d); do if [ $((i %% %d)) = 0 ]; then /bin/sh -c 'exit 3'; else /bin/true; fi; done; true" % (n, fail)],
                   stdin=subprocess.DEVNULL, check=True)


def compare(name, daemon, collector, at_most_twice=False):
    """The records of the file sink beside it, and the arrived ones."""
    sent = [r for r in daemon.records("process.exit") if r.get("run") and r["execed"]]
    got = list(collector.spans())
    ids = [attribute(s, "skep.process.upid") for s in got if attribute(s, "skep.process.upid")]
    keys = [s["spanId"] for s in got]
    check(name + ": a span for each process of a run", set(r["upid"] for r in sent) == set(ids) and len(sent) >= PROCESSES,
          "%d processes, %d spans" % (len(sent), len(set(keys))))
    if not at_most_twice:
        check(name + ": none twice", len(keys) == len(set(keys)), len(keys) - len(set(keys)))
    else:
        print("     %d spans arrived twice, with the same ids" % (len(keys) - len(set(keys))))
    runs = [r for r in daemon.records("run") if r["state"] == "ended"]
    roots = {s["spanId"] for s in got if not s.get("parentSpanId")}
    check(name + ": a root span for each run that has ended", len(runs) == len(roots) and len(runs) > 0, (len(runs), len(roots)))
    failed = [r for r in daemon.records("process.exit") if r["last"] and (r["exit_code"] > 0 or r["signal"])]
    events = {attribute(e, "skep.process.upid") for e in collector.events() if e["eventName"] == "skep.process.failed"}
    check(name + ": an event for each failure", events == {r["upid"] for r in failed} and len(failed) >= PROCESSES // 20, len(events))
    sums = collector.sums()
    ended = sum(v for (m, _), (_, v) in sums.items() if m == "skep.process.ended")
    check(name + ": all processes are in the sums", ended == len(daemon.records("process.exit")), ended)
    faults = sum(v for (m, _), (_, v) in sums.items() if m == "process.paging.faults")
    truth = sum(r["minor_faults"] + r["major_faults"] for r in daemon.records("process.exit"))
    check(name + ": page faults add up", faults == truth, "%d" % faults)


def plain():
    collector = Collector("plain", 24318).start()
    daemon = Daemon("plain", endpoint="http://127.0.0.1:24318")
    load()
    time.sleep(3)
    daemon.stop()
    collector.stop()
    compare("plain", daemon, collector)


def gone():
    collector = Collector("gone", 24319).start()
    daemon = Daemon("gone", endpoint="http://127.0.0.1:24319")
    load(PROCESSES // 2)
    collector.stop()
    load(PROCESSES // 2)
    time.sleep(2)
    collector.start()
    time.sleep(15)  # the host offers again after a backoff
    load(PROCESSES // 2)
    time.sleep(5)
    daemon.stop()
    collector.stop()
    compare("gone", daemon, collector, at_most_twice=True)


def killed():
    """kill -9, twice, while processes run: nothing is missing; batches in flight arrive again, with the same ids."""
    collector = Collector("killed", 24323).start()
    processes = subprocess.Popen(["setsid", "bash", "-c", "for i in $(seq 400); do /bin/true; sleep 0.02; done"], stdin=subprocess.DEVNULL)
    children.append(processes)
    for life in range(3):
        daemon = Daemon("killed", endpoint="http://127.0.0.1:24323")
        time.sleep(3)
        if life < 2:
            daemon.child.kill()
            daemon.child.wait()
    processes.wait(60)
    time.sleep(3)
    daemon.stop()
    collector.stop()
    sent = {r["upid"] for r in daemon.records("process.exit") if r.get("run") and r["execed"]}
    spans = [s for s in collector.spans() if attribute(s, "skep.process.upid")]
    got = {attribute(s, "skep.process.upid") for s in spans}
    check("killed: no span is missing", sent <= got and len(sent) > 300, "%d processes, %d spans" % (len(sent), len(spans)))
    twice = len(spans) - len({(s["traceId"], s["spanId"]) for s in spans})
    print("     %d spans arrived twice, with the same ids" % twice)


def certificates():
    names = {}
    openssl = lambda *a: subprocess.run(("openssl",) + a, check=True, capture_output=True, cwd=work)  # noqa: E731
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=skep-test-ca")
    open(os.path.join(work, "san"), "w").write("subjectAltName=IP:127.0.0.1\n")
    for who in ("server", "client"):
        openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", who + ".key", "-out", who + ".csr", "-subj", "/CN=skep-" + who)
        openssl("x509", "-req", "-in", who + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", who + ".pem", "-days", "2",
                "-extfile", "san")
        names[who] = os.path.join(work, who)
    names["ca"] = os.path.join(work, "ca")
    return names


def mtls():
    names = certificates()
    collector = Collector("mtls", 24320, names).start()
    daemon = Daemon("mtls", endpoint="https://127.0.0.1:24320", ca_file=names["ca"] + ".pem", cert_file=names["client"] + ".pem",
                    key_file=names["client"] + ".key")
    load()
    time.sleep(3)
    daemon.stop()
    compare("mtls", daemon, collector)
    before = len(collector.lines())
    stranger = Daemon("stranger", endpoint="https://127.0.0.1:24320", ca_file=names["ca"] + ".pem")
    load(20)
    time.sleep(4)
    stranger.stop()
    collector.stop()
    said = [line for line in open(stranger.log) if "otlp" in line and "certificate required" in line]
    check("mtls: without a certificate nothing arrives, and skepd says so", len(collector.lines()) == before and said,
          said[0].strip() if said else "silence")


def garbage():
    collector = Collector("garbage", 24321).start()
    request = urllib.request.Request("http://127.0.0.1:24321/v1/traces", data=b"\x0a\xff\xff\xff\xff\x0f", method="POST",
                                     headers={"Content-Type": "application/x-protobuf"})
    try:
        urllib.request.urlopen(request, timeout=5)
        check("garbage: refused", False)
    except urllib.error.HTTPError as e:
        body = e.read()
        check("garbage: 400 with a Status in protobuf", e.code == 400 and "protobuf" in e.headers["Content-Type"] and b"\x12" in body, body)
    collector.stop()


def classes():
    wire = os.path.join(place, "root", "wire")
    os.makedirs(wire, exist_ok=True)
    here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "otlp")
    subprocess.run([os.path.join(build, "tests/bench/bench_otlp"), "--dump", wire], check=True)
    subprocess.run(["cp", os.path.join(here, "otlp.py"), os.path.join(here, "wire.py"), wire], check=True)
    out = subprocess.run(["chroot", os.path.join(place, "root"), "python3", "/wire/wire.py", "/wire"], capture_output=True, text=True).stdout
    check("classes: opentelemetry-proto reads and writes the same", out.startswith("ok: and"), out.strip())


def victoria():
    port = 24322
    start([os.path.join(place, "root/usr/bin/victoria-metrics"), "-httpListenAddr=127.0.0.1:%d" % port, "-retentionPeriod=1d",
           "-storageDataPath=" + os.path.join(work, "vm")], stdout=open(os.path.join(work, "vm.log"), "w"), stderr=subprocess.STDOUT)
    for _ in range(100):
        try:
            urllib.request.urlopen("http://127.0.0.1:%d/health" % port, timeout=1)
            break
        except OSError:
            time.sleep(0.1)
    daemon = Daemon("victoria", signals=["metrics"], metrics_endpoint="http://127.0.0.1:%d/opentelemetry/v1/metrics" % port)
    load()
    time.sleep(3)
    daemon.stop()
    urllib.request.urlopen("http://127.0.0.1:%d/internal/force_flush" % port).read()
    ended = daemon.records("process.exit")
    faults = sum(r["minor_faults"] + r["major_faults"] for r in ended)
    query = "http://127.0.0.1:%d/api/v1/export?match%%5B%%5D=%%7B__name__!=%%22%%22%%7D" % port
    for _ in range(20):  # the last written samples can be read a moment later
        sums, shrunk = {}, []
        for line in urllib.request.urlopen(query):
            series = json.loads(line)
            name = series["metric"]["__name__"]
            if name in ("skep.process.ended", "process.paging.faults"):
                shrunk += [a for a, b in zip(series["values"], series["values"][1:]) if b < a]
                sums[name] = sums.get(name, 0) + series["values"][-1]
        if sums.get("skep.process.ended") == len(ended):
            break
        time.sleep(0.5)
    check("victoria: all processes are in its sums", sums.get("skep.process.ended") == len(ended) >= PROCESSES, len(ended))
    check("victoria: page faults add up", sums.get("process.paging.faults") == faults, faults)
    check("victoria: no sum shrinks", not shrunk, len(shrunk))


SCENES = (plain, gone, killed, mtls, garbage, classes, victoria)
wanted = sys.argv[3:] or [scene.__name__ for scene in SCENES]
try:
    for scene in SCENES:
        if scene.__name__ in wanted:
            scene()
finally:
    for child in children:
        stop(child)
if bad:
    print("collector.sh: %d failed; the files are in %s" % (len(bad), work))
    sys.exit(1)
subprocess.run(["rm", "-rf", work])
print("collector.sh: ok, %d processes in each scene" % PROCESSES)
