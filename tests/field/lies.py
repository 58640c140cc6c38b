#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lies.py WORK FAULTD - the program of lies.sh: a skepd whose sinks send to one server that lies, then mends."""
import json
import os
import signal
import subprocess
import sys
import urllib.request

import testing
from testing import check, until

work, faultd = sys.argv[1:3]
SKEP = os.environ.get("SKEP", "skep")
conf, err = work + "/skepd.conf", work + "/err"
receiver = subprocess.Popen([faultd, "--log", work + "/requests"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
port = json.loads(receiver.stdout.readline())["http"]
url = "http://127.0.0.1:%d" % port
OTLP = ["/otlp/v1/" + s for s in ("traces", "metrics", "logs")]
# sink: its option, the paths of its requests, the lies, and what skep says to each
SINKS = {
    "clickhouse": ("url", "/ch/", ["/ch/"], [("code:209", "exception code 209"), ("code:60", "skep lake init"),
                                             ("says:Code: 241. DB::Exception: Memory limit exceeded", "Memory limit exceeded"),
                                             ("page", "Your session has ended."), ("says:Ok.", "is url ClickHouse's HTTP interface?")]),
    "otlp": ("endpoint", "/otlp", OTLP, [("page", "Your session has ended."), ("says:no healthy upstream", "no healthy upstream")]),
    "remote_write": ("url", "/rw", ["/rw"], [("page", "Your session has ended.")]),
    "http": ("url", "/own", ["/own"], [("page", "Your session has ended.")]),
}


def script(path, steps):
    urllib.request.urlopen(url + "/-/script", data=(path + " " + steps).encode(), timeout=60).read()


def requests(sink, taken=None):
    found = [json.loads(line) for line in testing.text(work + "/requests").splitlines(True) if line.endswith("\n")]
    return [r for r in found if r["path"].split("?")[0] in SINKS[sink][2] and taken in (None, r["taken"])]


def instance(sink):
    got = subprocess.run([SKEP, "status", "--json", "--socket", work + "/sock"], capture_output=True, text=True)
    found = [i for i in json.loads(got.stdout)["instances"] if i["name"] == sink] if got.returncode == 0 else []
    return found[0] if found else {}


def waits(sink, words):
    delivery = instance(sink).get("delivery", {})
    return delivery.get("lag_records", 0) > 0 and words in delivery["why"]


json.dump({"interval": "1s", "control": {"socket": work + "/sock"}, "spool": {"path": work + "/spool.db", "reserve": 0},
           "probes": [{"plugin": "proc"}],
           "sinks": [{"plugin": name, option: url + path, "timeout": "10s"} for name, (option, path, _, _) in SINKS.items()]}, open(conf, "w"))
open(work + "/requests", "w").close()
for sink, (_, _, paths, lies) in SINKS.items():
    for path in paths:
        script(path, lies[0][0])
daemon = testing.start(conf, err)
for i in range(20):
    subprocess.run(["/bin/true", str(i)], check=True)
for sink, (_, _, paths, lies) in SINKS.items():
    for lie, words in lies:
        for path in paths:
            script(path, lie)
        daemon.send_signal(signal.SIGHUP)  # the sink's backoff begins anew
        check("%s, %s: skep keeps the records and says why" % (sink, lie), until(lambda: waits(sink, words)), instance(sink).get("delivery"))
        check("%s, %s: the log has the server's words" % (sink, lie), until(lambda: words in testing.text(err)), testing.text(err)[-2000:])
for sink in SINKS:
    check("%s: nothing counts as taken" % sink, not requests(sink, True) and requests(sink), requests(sink)[-3:])
for sink, (_, _, paths, _) in SINKS.items():
    for path in paths:
        script(path, "empty")
daemon.send_signal(signal.SIGHUP)
for sink, (_, _, paths, _) in SINKS.items():
    check("%s: the server mends, and the records arrive" % sink,
          until(lambda: requests(sink, True) and not instance(sink).get("delivery", {}).get("why", "?")), instance(sink).get("delivery"))
    stats = json.loads(subprocess.run([SKEP, "stats", "--json", "--socket", work + "/sock"], capture_output=True, text=True, check=True).stdout)
    lost = [i["lost"] for i in stats["instances"] if i["name"] == sink]
    check("%s: nothing is lost" % sink, len(lost) == 1 and not any(lost[0].values()), lost)
testing.stop(daemon, err)

for lie, words in ("code:241", "Exception-Code: 241"), ("page", "Your session has ended."), ("says:Ok.", "is that ClickHouse's HTTP interface?"), \
        ("empty", "is that ClickHouse's HTTP interface?"), ("says:Code: 241. DB::Exception: Memory limit exceeded", "max_memory_usage"):
    script("/", lie)
    got = subprocess.run([SKEP, "runs", "--lake", "clickhouse://127.0.0.1:%d/x" % port], capture_output=True, text=True)
    check("skep runs, %s: no answer, and why" % lie, got.returncode != 0 and not got.stdout and words in got.stderr, got)
receiver.stdin.close()
sys.exit(testing.failures > 0)
