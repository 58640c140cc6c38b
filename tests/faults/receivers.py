# SPDX-License-Identifier: Apache-2.0
# tests/faults/receivers.py - the receivers of the scenes: the configuration of skepd for each, the ways in which each
# fails, and its records. Each has ids(): the key of a process (pid, start) -> its number of images, repeated batches
# counted once; rows(): the number of process.exit records, repetitions included; once(): the same without repetitions;
# None where the receiver cannot know.
import collections
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

import harness

HERE = os.path.dirname(os.path.abspath(__file__))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def http(url, data=None, seconds=20):
    with urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=seconds) as answer:
        return answer.read().decode()


class Http:
    """The sink http and faultd, which logs each record before it answers."""
    name = "http"
    text = "http → faultd"

    def __init__(self, **options):
        self.options, self.port, self.child = options, None, None

    def title(self):
        return self.text

    def url(self):
        return "http://127.0.0.1:%d/in" % self.port

    def config(self, work):
        self.port = self.port or free_port()
        return dict({"plugin": "http", "name": self.name, "url": self.url(), "streams": ["process.exit"]}, **self.options)

    def up(self, work):
        self.work, self.taken = work, os.path.join(work, "taken")
        open(self.taken, "a").close()
        self.begin()

    def begin(self):
        self.child = harness.start([os.path.join(HERE, "faultd"), "--port", str(self.port), "--log", self.taken],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.child.stdout.readline()

    def script(self, steps):
        http("http://127.0.0.1:%d/-/script" % self.port, ("/in " + steps).encode())

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.child.send_signal(signal.SIGCONT)

    def lines(self):
        return [r for r in map(json.loads, (line for line in open(self.taken) if line.endswith("\n"))) if r["taken"]]

    def ids(self):
        seen, ids = set(), collections.Counter()
        for r in self.lines():
            if r["key"] not in seen:
                seen.add(r["key"])
                ids.update(harness.process(upid) for upid in r["ids"])
        return ids

    def rows(self):
        return sum(r["records"] for r in self.lines()) if os.path.exists(getattr(self, "taken", "")) else 0

    def once(self):
        return sum({r["key"]: r["records"] for r in self.lines()}.values())

    def down(self):
        if self.child:
            harness.end(self.child)


class Nginx(Http):
    """The same behind nginx, which demands a user and a password."""
    text = "http → nginx → faultd"

    def config(self, work):
        self.port, self.front = free_port(), free_port()
        self.password = os.path.join(work, "password")
        self.secret("first", skep=True)
        return {"plugin": "http", "name": self.name, "url": "http://127.0.0.1:%d/in" % self.front, "streams": ["process.exit"],
                "username": "skep", "password_file": self.password}

    def secret(self, word, skep=False, server=False):
        """Changes the password: in skepd's file, or in nginx's."""
        if skep:
            open(self.password, "w").write(word + "\n")
        if server:
            hashed = subprocess.run(["openssl", "passwd", "-apr1", word], capture_output=True, text=True, check=True).stdout.strip()
            open(os.path.join(self.work, "users"), "w").write("skep:%s\n" % hashed)  # nginx reads it at each request

    def up(self, work):
        super().up(work)
        os.chmod(work, 0o755)  # for nginx' worker
        self.secret("first", server=True)
        conf = os.path.join(work, "nginx.conf")
        open(conf, "w").write("""daemon off; pid %s/nginx.pid; error_log %s/nginx.log;
events {}
http { access_log off; client_body_temp_path %s/body; proxy_temp_path %s/proxy; fastcgi_temp_path %s/f;
  uwsgi_temp_path %s/u; scgi_temp_path %s/s;
  server { listen 127.0.0.1:%d; client_max_body_size 16m; auth_basic "skep"; auth_basic_user_file %s/users;
    location / { proxy_pass http://127.0.0.1:%d; } } }
""" % ((work,) * 7 + (self.front, work, self.port)))
        self.nginx = harness.start([shutil.which("nginx") or "/usr/sbin/nginx", "-c", conf, "-e", work + "/nginx.log"])
        if not harness.within(10, lambda: answers(self.front)):
            raise SystemExit("nginx does not answer: " + open(work + "/nginx.log").read()[-1000:])

    def down(self):
        harness.end(self.nginx)
        super().down()


def answers(port):
    try:
        http("http://127.0.0.1:%d/" % port, seconds=1)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


class ClickHouse:
    """The sink clickhouse, and Debian 12's server (18.16)."""
    name = "clickhouse"

    def __init__(self, password=None, **options):
        self.options, self.password, self.port, self.child, self.version = options, password, None, None, "?"

    def title(self):
        return "clickhouse → " + self.version

    def config(self, work):
        self.port = free_port()
        more = {}
        if self.password:
            self.file = os.path.join(work, "password")
            open(self.file, "w").write(self.password + "\n")
            more = {"username": "default", "password_file": self.file}
        return dict({"plugin": "clickhouse", "url": "http://127.0.0.1:%d" % self.port, "streams": ["process.exit"]}, **more, **self.options)

    def users(self, password):
        """The server itself reads the file again when it has changed."""
        path = os.path.join(self.work, "users.xml")
        open(path + ".new", "w").write("""<yandex><profiles><default></default></profiles>
<users><default><password>%s</password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users>
<quotas><default><interval><duration>3600</duration></interval></default></quotas></yandex>
""" % password)
        os.rename(path + ".new", path)

    def up(self, work):
        self.work = work
        self.users(self.password or "")
        open(os.path.join(work, "config.xml"), "w").write("""<yandex><logger><level>none</level><console>0</console></logger>
<http_port>%d</http_port><tcp_port>%d</tcp_port><interserver_http_port>%d</interserver_http_port>
<listen_host>127.0.0.1</listen_host><max_connections>64</max_connections>
<path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size>
<merge_tree><old_parts_lifetime>5</old_parts_lifetime></merge_tree></yandex>
""" % (self.port, free_port(), free_port(), work, work))
        self.begin()
        env = dict(os.environ)
        words = [harness.BIN["skep"], "lake", "init", "--clickhouse", "http://127.0.0.1:%d" % self.port]
        if self.password:
            words += ["--user", "default", "--password-file", self.file]
        made = subprocess.run(words, capture_output=True, text=True, env=env)
        if made.returncode:
            raise SystemExit("skep lake init: " + made.stderr)
        self.version = made.stdout.split(":")[0]

    def begin(self):
        self.child = harness.start(["clickhouse-server", "--config-file=" + self.work + "/config.xml"],
                                   stdout=open(self.work + "/server.log", "a"), stderr=subprocess.STDOUT)
        if not harness.within(30, lambda: self.ask("SELECT 1") == "1\n"):
            raise SystemExit("clickhouse-server does not answer: " + open(self.work + "/server.log").read()[-1000:])

    def ask(self, sql):
        user = "?user=default&password=" + self.password if self.password else ""
        try:
            return http("http://127.0.0.1:%d/%s" % (self.port, user), sql.encode())
        except OSError:
            return ""

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)

    def go_on(self):
        self.child.send_signal(signal.SIGCONT)

    def ids(self):
        ids = collections.Counter()
        rows = self.ask("SELECT pid, start_boot_ns, count() FROM skep.proc FINAL GROUP BY pid, start_boot_ns")
        for line in rows.splitlines():
            pid, start, n = line.split("\t")
            ids["%d-%x" % (int(pid), int(start))] = int(n)
        return ids

    def rows(self):
        return int(self.ask("SELECT count() FROM skep.proc") or 0) if self.child else 0

    def once(self):
        return int(self.ask("SELECT count() FROM skep.proc FINAL") or -1)

    def down(self):
        if self.child:
            harness.end(self.child)
