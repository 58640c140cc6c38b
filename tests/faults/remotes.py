# SPDX-License-Identifier: Apache-2.0
# tests/faults/remotes.py - the receivers of backlog.sh: the configuration of skepd for each, and the records of each.
import json
import os
import subprocess
import sys
import urllib.parse

from harness import end, start, within
from receivers import ClickHouse, free_port, http


class Remote:
    """Prometheus or VictoriaMetrics; the sink remote_write writes to it."""
    name = "remote_write"

    def __init__(self, binary, window=None, **options):
        # "PATH=VERSION": Debian's build of VictoriaMetrics does not print its version.
        self.binary, _, self.version = binary.partition("=")
        self.window, self.options, self.port = window, options, free_port()
        self.victoria = "victoria" in os.path.basename(self.binary)

    def title(self):
        if self.victoria:
            return "remote_write → VictoriaMetrics " + self.version
        text = subprocess.run([self.binary, "--version"], capture_output=True, text=True)
        text = text.stdout + text.stderr
        return "remote_write → Prometheus %s, %s" % (text.split()[2].split("+")[0], "window " + self.window if self.window else "no window")

    def config(self, work):
        return dict({"plugin": "remote_write", "url": "http://127.0.0.1:%d/api/v1/write" % self.port, "host": "h"}, **self.options)

    def up(self, work):
        log = open(os.path.join(work, "server.log"), "a")
        if self.victoria:
            argv = [self.binary, "-storageDataPath=" + work + "/vm", "-httpListenAddr=127.0.0.1:%d" % self.port, "-retentionPeriod=1y"]
        else:
            conf = {"global": {"scrape_interval": "60s"}}
            if self.window:
                conf["storage"] = {"tsdb": {"out_of_order_time_window": self.window}}
            json.dump(conf, open(work + "/prometheus.yml", "w"))
            argv = [self.binary, "--config.file=" + work + "/prometheus.yml", "--storage.tsdb.path=" + work + "/tsdb",
                    "--web.listen-address=127.0.0.1:%d" % self.port, "--web.enable-remote-write-receiver"]
        self.child = start(argv, stdout=log, stderr=log)
        if not within(30, lambda: self.ready()):
            sys.exit("the server does not answer: " + open(log.name).read()[-1000:])

    def ready(self):
        try:
            return http("http://127.0.0.1:%d/%s" % (self.port, "health" if self.victoria else "-/ready"), seconds=1)
        except OSError:
            return False

    def samples(self, now):
        """Of one series that has a value at each time: how many of the last 25 hours arrived, and the age of the
        oldest."""
        times = self.times('skep_system_uptime_seconds{host="h"}')
        return len(times), (now - min(times)) / 3600 if times else 0

    def times(self, series):
        words = {"match[]": series}
        if self.victoria:
            http("http://127.0.0.1:%d/internal/force_flush" % self.port)
            lines = http("http://127.0.0.1:%d/api/v1/export?%s" % (self.port, urllib.parse.urlencode(words))).splitlines()
            times = [t / 1000 for line in lines for t in json.loads(line)["timestamps"]]
        else:
            query = urllib.parse.urlencode({"query": words["match[]"] + "[25h]"})
            got = json.loads(http("http://127.0.0.1:%d/api/v1/query?%s" % (self.port, query)))
            times = [float(t) for series in got["data"]["result"] for t, _ in series["values"]]
        return times

    def down(self):
        end(self.child)


class Rows(ClickHouse):
    def config(self, work):
        made = super().config(work)
        del made["streams"]
        return made

    def samples(self, now):
        got = self.ask("SELECT count(), min(time_ns) FROM skep.record FINAL WHERE stream = 'host.load'").split()
        return int(got[0]), (now - int(got[1]) / 1e9) / 3600 if int(got[0]) else 0
