# SPDX-License-Identifier: Apache-2.0
"""fleet.py SCENE BUILD EXAMPLES WORK - a scene of fleet.sh, in a network and mount namespace of its own."""
import collections
import glob
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.request
import uuid

scene, build, examples, work = sys.argv[1:5]
work = os.path.join(work, scene)
os.makedirs(work)
PROCESSES = 300  # that fail, of each host
NAME = "fleet-%s-%d" % (scene, os.getpid())  # a run beside this one has other processes
HOSTS = ("alpha", "beta")
# The question to lakes and servers: everything, by tool.
SUMS = "count(*), sum(cpu_ns), sum(minor_faults), sum(major_faults), sum(read_bytes), sum(write_bytes), sum(last), max(rss_peak_bytes)"
children = []
bad = 0


def check(what, ok, more=""):
    global bad
    bad += not ok
    print("%s - %s: %s %s" % ("ok" if ok else "not ok", scene, what, more), flush=True)


def start(argv, log, **kw):
    child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=open(os.path.join(work, log), "a"), stderr=subprocess.STDOUT, **kw)
    children.append(child)
    return child


def end(child, how=signal.SIGTERM):
    child.send_signal(how)
    return child.wait(60)


def wait_for(what, ready, seconds=30):
    last = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > last:
            return False
        time.sleep(0.2)
    return True


def need(what, ready, seconds=30):
    if not wait_for(what, ready, seconds):
        for log in glob.glob(work + "/*.log"):
            print("--", log, "\n" + open(log, errors="replace").read()[-2000:])
        raise SystemExit("fleet: %s: %s is not there after %d s" % (scene, what, seconds))


def listens(host, port):
    try:
        socket.create_connection((host, port), 1).close()
        return True
    except OSError:
        return False


# ---- hosts --------------------------------------------------------------------------------------
class Host:
    def __init__(self, name):
        self.name, self.place, self.boot = name, os.path.join(work, name), str(uuid.uuid4())
        for d in ("lib/skep", "run/skep"):
            os.makedirs(os.path.join(self.place, d))
        with open(self.place + "/boot_id", "w") as f:
            f.write(self.boot + "\n")
        script = """hostname %s && mount --bind %s/lib /var/lib && mount --bind %s/run /run && mount -t bpf bpf /sys/fs/bpf &&
mount --bind %s/boot_id /proc/sys/kernel/random/boot_id && touch %s/ready && exec sleep 1000""" % ((name,) + (self.place,) * 4)
        self.holder = start(["unshare", "--mount", "--uts", "--propagation", "private", "sh", "-c", script], name + ".log")
        need("host " + name, lambda: os.path.exists(self.place + "/ready"))
        self.start()

    def start(self):
        conf = os.path.join(examples, "skepd-%s.conf" % scene)
        log = os.path.join(work, self.name + ".log")
        before = open(log).read().count(" collects: ")
        env = dict(os.environ, SKEP_PLUGIN_DIRS=os.path.join(build, "plugins-run"))
        self.skepd = start(["nsenter", "--target", str(self.holder.pid), "--mount", "--uts", os.path.join(build, "skepd"), "-c",
                            os.path.realpath(conf)], self.name + ".log", env=env)
        need("skepd at " + self.name, lambda: open(log).read().count(" collects: ") > before)

    def kill(self):
        end(self.skepd, signal.SIGKILL)
        self.start()

    def lake(self, sql):
        found = []
        for path in glob.glob(self.place + "/lib/skep/lake/*.db"):
            db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)
            found += db.execute(sql).fetchall()
            db.close()
        return found

    def tools(self):
        return sorted(self.lake("SELECT d.s, %s FROM proc JOIN dict d ON d.id = proc.tool GROUP BY d.s" % SUMS))


class Load:
    """In a session of its own, so that it is a run; each process has a number in its arguments."""

    def __init__(self, mark):
        self.mark = mark
        self.child = start(["setsid", "--wait", "bash", "-c",
                            "for i in $(seq %d); do /bin/false %s-%s-$i; sleep 0.02; done; true" % (PROCESSES, NAME, mark)], "load.log")


def play(middle_goes, middle_comes):
    """Two loads, a skepd that is killed, and a server between that goes down and comes back."""
    time.sleep(1)
    loads = [Load("a"), Load("b")]
    time.sleep(2)
    hosts["beta"].kill()
    time.sleep(1)
    middle_goes()
    time.sleep(3)
    middle_comes()
    for load in loads:
        load.child.wait(120)


def marks():
    return {"%s-%s-%d" % (NAME, load, i) for load in "ab" for i in range(1, PROCESSES + 1)}


def compare(seen, twice):
    """seen: host -> list of its marks, one for each row or event after keys have been collapsed."""
    for name in HOSTS:
        found = collections.Counter(m for m in seen[name] if m.startswith(NAME + "-"))
        missing, again = marks() - set(found), sum(n - 1 for n in found.values())
        check("of %d processes at %s" % (len(marks()), name), not missing and not again and set(found) == marks(),
              "missing %d, twice %d" % (len(missing), again))
    print("     arrived more than once, with the same key: %d" % twice)


def stop_hosts():
    for h in hosts.values():
        status = end(h.skepd)
        check("skepd at %s ends" % h.name, status == 0, status)


def relay(port, to):
    """kafka1.example:9092 in front of brokers with random ports: a client only begins there, and learns the real
    addresses."""
    listener = socket.create_server(("127.0.0.1", port))

    def pump(a, b):
        try:
            while data := a.recv(65536):
                b.sendall(data)
        except OSError:
            pass
        for s in (a, b):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def serve():
        while True:
            a, _ = listener.accept()
            try:
                b = socket.create_connection(to)
            except OSError:
                a.close()
                continue
            threading.Thread(target=pump, args=(a, b), daemon=True).start()
            threading.Thread(target=pump, args=(b, a), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()


# ---- servers --------------------------------------------------------------------------------------
class ClickHouse:
    def __init__(self):
        self.dir = os.path.join(work, "clickhouse")
        os.makedirs(self.dir + "/config.d")
        shutil.copy(os.path.join(examples, "clickhouse-kafka.xml"), self.dir + "/config.d/")
        with open(self.dir + "/config.xml", "w") as f:
            f.write("""<yandex><logger><level>warning</level><log>%s/server.log</log><console>0</console></logger>
<http_port>8123</http_port><tcp_port>9000</tcp_port><interserver_http_port>9009</interserver_http_port>
<listen_host>127.0.0.1</listen_host>
<max_connections>64</max_connections><path>%s/data/</path><tmp_path>%s/tmp/</tmp_path>
<users_config>users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>
""" % (work, self.dir, self.dir))
        with open(self.dir + "/users.xml", "w") as f:
            f.write("""<yandex><profiles><default></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users>
<quotas><default><interval><duration>3600</duration></interval></default></quotas></yandex>""")
        self.start()

    def start(self):
        self.child = start(["clickhouse-server", "--config-file=" + self.dir + "/config.xml"], "clickhouse.log")
        need("ClickHouse", lambda: listens("clickhouse.example", 8123))

    def kill(self):
        end(self.child, signal.SIGKILL)

    def ask(self, sql):
        with urllib.request.urlopen("http://clickhouse.example:8123/", (sql + " FORMAT JSONCompact").encode(), 30) as answer:
            return json.load(answer)["data"]

    def tools(self, table, host):
        rows = self.ask("SELECT tool, %s FROM %s FINAL WHERE host = '%s' GROUP BY tool" % (SUMS.replace("count(*)", "count()"), table, host))
        return sorted((r[0],) + tuple(int(v) for v in r[1:]) for r in rows)

    def marks(self, table, host, final="FINAL"):
        return [r[0] for r in self.ask("SELECT argv[2] FROM %s %s WHERE host = '%s' AND tool = 'false'" % (table, final, host))]


def ask_the_same(server, table):
    for h in hosts.values():
        there, here = server.tools(table, h.name), h.tools()
        check("%s: the server answers as the host's lake" % h.name, there == here and len(here) > 2,
              "%d processes of %d tools, 8 sums each" % (sum(r[1] for r in here), len(here)) if there == here else
              "\n  %s\n  %s" % (sorted(set(there) - set(here)), sorted(set(here) - set(there))))


# ---- scenes -----------------------------------------------------------------------------------------
def through_clickhouse(table, middle_goes, middle_comes, server):
    play(middle_goes, middle_comes)
    everything = lambda: all(set(server.marks(table, h)) >= marks() for h in HOSTS)  # noqa: E731
    began = time.monotonic()
    wait_for("all rows", everything, 240)
    print("     all there %d s after the last process" % (time.monotonic() - began))
    stop_hosts()
    # what skepd still had at its end arrives now, through Kafka some seconds later
    wait_for("the rest", lambda: all(server.tools(table, h.name) == h.tools() for h in hosts.values()), 60)
    rows = sum(len(server.marks(table, h, "")) - len(server.marks(table, h)) for h in HOSTS)
    compare({h: server.marks(table, h) for h in HOSTS}, rows)
    ask_the_same(server, table)


def clickhouse():
    server = ClickHouse()
    subprocess.run([build + "/skep", "lake", "init", "--clickhouse", "http://clickhouse.example:8123"], check=True, stdout=subprocess.DEVNULL)
    hosts.update((h, Host(h)) for h in HOSTS)
    through_clickhouse("skep.proc", server.kill, server.start, server)


def kafka():
    addresses = os.path.join(work, "brokers")
    brokers = subprocess.Popen([build + "/tests/faults/kmock", "serve", addresses], stdin=subprocess.PIPE, text=True,
                               stdout=open(work + "/kmock.log", "w"), stderr=subprocess.STDOUT)
    children.append(brokers)
    need("brokers", lambda: os.path.exists(addresses) and open(addresses).read().endswith("\n"))
    host, port = open(addresses).read().split(",")[0].split(":")
    relay(9092, (host, int(port)))
    server = ClickHouse()
    with open(os.path.join(examples, "kafka.sql")) as f:
        subprocess.run(["clickhouse-client", "--multiquery"], stdin=f, check=True)
    hosts.update((h, Host(h)) for h in HOSTS)

    def tell(what):
        brokers.stdin.write("".join("%s %d\n" % (what, i) for i in (1, 2, 3)))
        brokers.stdin.flush()

    def come():
        tell("up")
        time.sleep(1)
        server.kill()
        server.start()

    through_clickhouse("fleet.process_exit", lambda: tell("down"), come, server)


def gateway():
    otelcol = os.path.join(os.environ.get("SKEP_COLLECTOR_DIR", "/var/tmp/skep-collector"), "otelcol")
    if not os.path.exists(otelcol):
        print("SKIP: gateway: no %s; tests/faults/collector.sh makes it" % otelcol)
        return
    arrived = os.path.join(work, "arrived.jsonl")
    config = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": "backend.example:4318"}}}}, "exporters": {"lines": {"path": arrived}},
              "service": {"telemetry": {"metrics": {"level": "none"}},
                          "pipelines": {s: {"receivers": ["otlp"], "exporters": ["lines"]} for s in ("traces", "metrics", "logs")}}}
    json.dump(config, open(work + "/backend.yaml", "w"))
    start([otelcol, "--config", "file:" + work + "/backend.yaml"], "backend.log")
    need("the backend", lambda: listens("backend.example", 4318))
    middle = [None]

    def come():
        middle[0] = start([otelcol, "--config", "file:" + os.path.realpath(examples) + "/gateway.yaml"], "gateway.log")
        need("the gateway", lambda: listens("gateway.example", 4318))

    def value(thing, name):
        return next((next(iter(a["value"].values())) for a in thing.get("attributes", []) if a["key"] == name), None)

    def things(resources, scopes, lists):
        for line in open(arrived):
            for r in json.loads(line).get(resources, []):
                for s in r[scopes]:
                    for t in s[lists]:
                        yield value(r["resource"], "host.name"), t

    def failures(host):
        return {value(e, "skep.process.upid") for h, e in things("resourceLogs", "scopeLogs", "logRecords")
                if h == host and e.get("eventName") == "skep.process.failed"}

    def failed(h):
        return {"%s-%d-%x" % (h.boot[:8], pid, at) for pid, at in
                h.lake("SELECT pid, start_boot_ns FROM proc WHERE last AND (exit_code > 0 OR signal > 0)")}

    def spans():
        return [(h, s) for h, s in things("resourceSpans", "scopeSpans", "spans") if value(s, "skep.process.upid")]

    come()
    hosts.update((h, Host(h)) for h in HOSTS)
    play(lambda: end(middle[0], signal.SIGKILL), come)
    wait_for("all events", lambda: all(len(failures(h)) >= len(marks()) for h in HOSTS), 120)
    time.sleep(6)  # an interval: the runs have ended
    stop_hosts()
    all_spans = spans()
    once = {(s["traceId"], s["spanId"]): (h, s) for h, s in all_spans}
    seen = collections.defaultdict(list)
    for h, s in once.values():
        words = (value(s, "process.command_args") or {}).get("values", [])
        seen[h].append(words[1].get("stringValue", "") if len(words) > 1 else "")
    compare(seen, len(all_spans) - len(once))
    for h in hosts.values():
        there, here = failures(h.name), failed(h)
        check("%s: an event for each failure that the host's lake has, and no other" % h.name, there == here and len(here) >= len(marks()), len(here))
        cpu = sum(int(value(s, "skep.process.cpu.time") or 0) for at, s in once.values() if at == h.name and s["name"] == "false")
        truth = h.lake("SELECT sum(cpu_ns) FROM proc JOIN dict d ON d.id = proc.tool WHERE d.s = 'false' AND run > 0")[0][0]
        check("%s: their CPU time is the lake's" % h.name, cpu == truth, "%d ns" % cpu)


hosts = {}
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # what it has started ends with it
try:
    {"gateway": gateway, "kafka": kafka, "clickhouse": clickhouse}[scene]()
finally:
    for c in children:
        if c.poll() is None:
            c.kill()
            c.wait()
    if bad:
        shutil.copytree(work, "/tmp/skep_fleet_failed." + scene, dirs_exist_ok=True, ignore=shutil.ignore_patterns("data"))
print("fleet: %s: %d wrong" % (scene, bad))
sys.exit(1 if bad else 0)
