# SPDX-License-Identifier: Apache-2.0
# tests/e2e/ledger_check.py LOG [SINK=PATH...] - compares the ledger that skepd -v prints at its end
# (core/daemon/skepd_run.c) with the records that sinks stored: of every stream seen = delivered + filtered + lost +
# kept, and the sink has all records that count as delivered. PATH: the file of a file sink, or the folder of a lake;
# the script adds up several paths of one sink. For tests that run skepd to its end; other tests import it.
import collections
import glob
import os
import re
import sqlite3
import sys

LINE = re.compile(r"^skepd: (?P<sink>\S+): (?P<stream>\S+): seen (\d+): delivered (\d+), filtered (\d+), lost (\d+) "
                  r"\(kernel (\d+), queue (\d+), spool (\d+), sink (\d+)\), kept for the next start (\d+)$")


def ledgers(text):
    """The ledger of each skepd that ended in that log: {sink: {stream: numbers}}."""
    found = [{}]
    for line in text.splitlines():
        m = LINE.match(line)
        if m:
            found[-1].setdefault(m["sink"], {})[m["stream"]] = dict(zip(
                ("seen", "delivered", "filtered", "lost", "kernel", "queue", "spool", "sink", "kept"), map(int, m.groups()[2:])))
        elif line == "skepd: stopped":
            found.append({})
    return [one for one in found if one]


def stored(path):
    """Returns {stream: records}; for a lake the rows of its table of processes."""
    if not os.path.isdir(path):
        with open(path) as f:
            return collections.Counter(re.match(r'\{"stream":"([^"]+)"', line)[1] for line in f)
    rows = 0
    for name in glob.glob(path + "/lake-*.db"):
        db = sqlite3.connect(name)
        rows += db.execute("SELECT count(*) FROM proc").fetchone()[0]
        db.close()
    return {"process.exit": rows}


def problems(text, sinks=(), whole=True):
    """
    Describes what does not add up.  sinks: (name, path).  whole: a skepd whose ledger is in the log delivered every
    record of the sinks; else a killed skepd delivered some, and the sinks have more records than the ledgers.
    """
    every, wrong = ledgers(text), []
    if not every:
        return ["skepd printed no ledger at its end: is it started with -v, and not killed?"]
    wrong += ["skepd says so itself: " + line for line in text.splitlines() if "do not add up" in line]
    for one in every:
        for sink, streams in one.items():
            for stream, n in streams.items():
                if stream != "records" and n["seen"] != n["delivered"] + n["filtered"] + n["lost"] + n["kept"]:
                    wrong.append("%s: %s: %s" % (sink, stream, n))
    there = {}
    for sink, path in sinks:
        there.setdefault(sink, collections.Counter()).update(stored(path))
    for sink, streams in there.items():
        for stream, n in streams.items():
            said = sum(one.get(sink, {}).get(stream, {}).get("delivered", 0) for one in every)
            if said > n or (whole and said < n):
                wrong.append("%s: %s: %d delivered by the ledger, %d stored" % (sink, stream, said, n))
    return wrong


def main():
    with open(sys.argv[1]) as f:
        text = f.read()
    wrong = problems(text, [arg.split("=", 1) for arg in sys.argv[2:]])
    for line in wrong:
        print("not ok - ledger:", line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
