#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long questions to a lake take, from the command to its end: to SQLite files, or to a ClickHouse server.

    tests/bench/questions.py [--runs 1000] [--processes 100000] [--days 30] [--large 1000] [--lake FOLDER]
    tests/bench/questions.py --clickhouse [PORT] [--copies 1] [--runs ...]

Makes a lake with tests/bench/fill_lake in a folder of /var/tmp, which it removes at the end, or asks the lake FOLDER,
which must be one of fill_lake.  Cold: the kernel has none of the lake's pages in its cache (POSIX_FADV_DONTNEED); the
program itself is warm.  Warm: the median of five, with its CPU time, which says more on a busy machine.  The large
lake, 5.2 GB:

    tests/bench/questions.py --runs 100000 --processes 10000000 --large 10000

--clickhouse starts Debian's clickhouse-server (18.16) in such a folder, and the sink fills it, by fill_clickhouse.  The
server takes some thousand rows a second from a sink, so --copies has the server itself copy what the sink wrote: each
copy has run ids of its own, and times before those of the one before.  As many rows as in the large lake:

    tests/bench/questions.py --clickhouse --runs 10000 --processes 1000000 --days 3 --large 10000 --copies 10

With a PORT it asks the server that listens there on 127.0.0.1 and has no database skep, which the script removes at
the end; "cold" then says nothing, as the script does not know that server's files.  The engine of a current ClickHouse:

    NODE_PATH=$SKEP_CHDB_DIR/node_modules node tests/faults/chdb_http.js FOLDER PORT    # clickhouse.sh installs it

Environment: SKEP (the program), BENCH_BIN (the folder of fill_lake and fill_clickhouse).
"""
import argparse
import glob
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SKEP = os.environ.get("SKEP", "./skep")
BIN = os.environ.get("BENCH_BIN", "tests/bench")
ROLLUP, OTHER, TUNE = 200, 2000, 1000  # aims in ms
WARM = 5
SLOW = 10000  # ms: such a question is asked once more


class Folder:
    """A lake of SQLite files."""
    days = "SELECT day, t.s, sum(cpu_ns), sum(images) FROM rollup_day r JOIN dict t ON t.id = r.tool GROUP BY 1, 2"
    pipelines = ("SELECT p.s, sum(cpu_ns) FROM rollup_day r JOIN dict p ON p.id = r.pipeline GROUP BY 1 "
                 "ORDER BY 2 DESC")

    def __init__(self, path):
        self.path = self.address = path

    def files(self):
        return sorted(glob.glob(os.path.join(self.path, "lake-*.db")))

    def rows(self, sql):
        """The same query in each file: of roll-ups, a day has a row in more than one."""
        for name in self.files():
            db = sqlite3.connect("file:%s?mode=ro" % name, uri=True)
            yield from db.execute(sql)
            db.close()

    def some_run(self):
        return next(self.rows("SELECT run, pipeline, uid, job, host, strftime('%Y-%m-%dT%H:%M:%SZ', start_ns / "
                              "1000000000, 'unixepoch') FROM run ORDER BY start_ns LIMIT 1 OFFSET "
                              "(SELECT count(*) / 2 FROM run)"))


class Server:
    """A database of a ClickHouse server that the script has started, or that listens on a port."""
    days = "SELECT day, tool, sum(cpu_ns), sum(images) FROM rollup_day GROUP BY day, tool"
    pipelines = "SELECT pipeline, sum(cpu_ns) AS cpu FROM rollup_day GROUP BY pipeline ORDER BY cpu DESC"

    def __init__(self, folder, port):
        sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
        import receivers
        receivers.harness.BIN["skep"] = SKEP
        self.server, self.folder = receivers.ClickHouse(), folder
        self.port = port
        if port:
            self.server.port = port
            if self.server.ask("SELECT name FROM system.databases WHERE name = 'skep'"):
                raise SystemExit("questions.py: the server has a database skep: drop it, or give another port")
            subprocess.run([SKEP, "lake", "init", "--clickhouse", "http://127.0.0.1:%d" % port], check=True)
        else:
            self.server.config(folder)  # takes a port
            self.server.up(folder)
        self.address = "clickhouse://127.0.0.1:%d/skep" % self.server.port

    def files(self):
        return [name for name in glob.glob(self.folder + "/data/**", recursive=True) if os.path.isfile(name)]

    def rows(self, sql):
        return [line.split("\t") for line in self.server.ask(sql.replace("FROM ", "FROM skep.", 1)).splitlines()]

    def some_run(self):
        return self.rows("SELECT run, pipeline, uid_user, job, host, concat(replaceOne(toString(toDateTime(intDiv(start_ns, "
                         "1000000000), 'UTC')), ' ', 'T'), 'Z') FROM run ORDER BY start_ns LIMIT 1 OFFSET %d" %
                         (int(self.rows("SELECT count() FROM run FINAL")[0][0]) // 2))[0]

    def down(self):
        if self.port:
            self.server.ask("DROP DATABASE skep")
        else:
            self.server.down()

    def fill(self, runs, processes, days, large, copies):
        words = [str(n) for n in (runs, processes, days, large)]
        subprocess.run([os.path.join(BIN, "fill_clickhouse"), *words, "url=http://127.0.0.1:%d" % self.server.port,
                        "database=skep"], check=True)
        for table in "proc", "task", "run":
            columns = self.server.ask("SELECT name FROM system.columns WHERE database = 'skep' AND table = '%s' AND "
                                      "default_kind != 'ALIAS'" % table).split()
            rows = int(self.rows("SELECT count() FROM %s FINAL" % table)[0][0])
            for copy in range(1, copies):
                back = copy * days * 86400 * 10**9
                new = {"start_ns": "toUInt64(start_ns - %d)" % back, "end_ns": "toUInt64(end_ns - %d)" % back,
                       "run": "concat('%c', substring(run, 2))" % (ord("a") + copy - 1), "uid": "generateUUIDv4()"}
                # fill_clickhouse's own runs begin with a digit
                self.server.ask("INSERT INTO skep.%s (%s) SELECT %s FROM skep.%s FINAL WHERE run < 'a'" % (
                    table, ", ".join(columns), ", ".join(new.get(c, c) for c in columns), table))
            now = int(self.rows("SELECT count() FROM %s FINAL" % table)[0][0])
            if now != rows * copies:
                raise SystemExit("questions.py: the server has %d rows in %s, not %d" % (now, table, rows * copies))


def forget(lake):
    for name in lake.files():
        try:
            fd = os.open(name, os.O_RDONLY)
        except FileNotFoundError:  # a server merges parts at any time
            continue
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def command(lake, *args):
    def ask():
        done = subprocess.run([SKEP, *args, "--lake", lake.address], stdout=subprocess.PIPE, check=True)
        return len(done.stdout)
    return ask


def query(lake, sql):
    def ask():
        return sum(len(str(row)) for row in lake.rows(sql))
    return ask


def questions(lake, some):
    """(what, aim in ms, function); some: a run from the middle of the lake."""
    yield "runs: the newest 20", ROLLUP, command(lake, "runs")
    yield "runs --pipeline P", ROLLUP, command(lake, "runs", "--pipeline", some["pipeline"])
    yield "runs --engine E --state failed", ROLLUP, command(lake, "runs", "--engine", "snakemake", "--state", "failed")
    yield "runs --user U --since T", ROLLUP, command(lake, "runs", "--user", str(some["uid"]), "--since",
                                                     some["start"])
    yield "runs --job ID", ROLLUP, command(lake, "runs", "--job", some["job"])
    yield "runs --host H", ROLLUP, command(lake, "runs", "--host", some["host"])
    yield "runs: no match", ROLLUP, command(lake, "runs", "--pipeline", "none-such")
    yield "runs -n 1000 --json", OTHER, command(lake, "runs", "-n", "1000", "--json")
    yield "runs -n 0 --json: all of them", OTHER, command(lake, "runs", "-n", "0", "--json")
    yield "SQL: day roll-ups, CPU by day and tool", ROLLUP, query(lake, lake.days)
    yield "SQL: day roll-ups, CPU by pipeline", ROLLUP, query(lake, lake.pipelines)
    yield "show ID", OTHER, command(lake, "show", some["run"])
    yield "show, the beginning of an id", OTHER, command(lake, "show", some["run"][:10])
    yield "show NAME", OTHER, command(lake, "show", "large")
    yield "tune ID", OTHER, command(lake, "tune", some["run"])
    yield "tune NAME, a large run", TUNE, command(lake, "tune", "large")
    if isinstance(lake, Folder):
        yield "lake status", OTHER, command(lake, "lake", "status")


def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def timed(ask):
    """Wall and CPU time in ms."""
    began, used = time.monotonic(), cpu()
    ask()
    return (time.monotonic() - began) * 1000, (cpu() - used) * 1000


def measure(lake, as_json, leave_out):
    rows = []
    some = dict(zip(("run", "pipeline", "uid", "job", "host", "start"), lake.some_run()))
    for what, aim, ask in questions(lake, some):
        if leave_out and leave_out in what:
            continue
        forget(lake)
        cold = timed(ask)[0]
        warm = sorted(timed(ask) for _ in range(WARM if cold < SLOW else 1))
        wall, used = warm[len(warm) // 2]
        rows.append({"question": what, "aim_ms": aim, "cold_ms": round(cold), "warm_ms": round(wall),
                     "warm_cpu_ms": round(used)})
    if as_json:
        json.dump(rows, sys.stdout, indent=2)
        print()
        return
    size = sum(os.stat(name).st_size for name in lake.files() if os.path.exists(name))
    print("%d files, %.2f GB" % (len(lake.files()), size / 1e9))
    print("| question | aim | cold | warm | CPU, warm |\n|---|---|---|---|---|")
    for row in rows:
        print("| %s | %d ms | %d ms | %d ms | %d ms |" % tuple(row.values()))


def main():
    parser = argparse.ArgumentParser(description="How long questions to a lake take.")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=100000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--large", type=int, default=1000, help="tasks of the run 'large'")
    parser.add_argument("--lake", help="ask this lake, which fill_lake made")
    parser.add_argument("--clickhouse", nargs="?", type=int, const=0, metavar="PORT",
                        help="ask a ClickHouse server, which is started for it if no port is given")
    parser.add_argument("--copies", type=int, default=1, help="of the rows that the sink sends to the server")
    parser.add_argument("--leave-out", help="questions with this text")
    parser.add_argument("--json", action="store_true")
    o = parser.parse_args()
    if o.lake:
        measure(Folder(o.lake), o.json, o.leave_out)
        return
    folder = tempfile.mkdtemp(prefix="skep-questions.", dir="/var/tmp")
    lake = None
    try:
        began = time.monotonic()
        if o.clickhouse is not None:
            lake = Server(folder, o.clickhouse)
            lake.fill(o.runs, o.processes, o.days, o.large, o.copies)
        else:
            lake = Folder(os.path.join(folder, "lake"))
            subprocess.run([os.path.join(BIN, "fill_lake"), str(o.runs), str(o.processes), str(o.days), str(o.large),
                            "path=" + lake.path], check=True)
        print("filled in %.0f s" % (time.monotonic() - began), file=sys.stderr)
        measure(lake, o.json, o.leave_out)
    finally:
        if o.clickhouse is not None and lake:
            lake.down()
        shutil.rmtree(folder, ignore_errors=True)


main()
