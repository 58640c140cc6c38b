# SPDX-License-Identifier: Apache-2.0
# tests/e2e/spool.py WORK FAULTD - the program of spool.sh.
import collections
import json
import os
import signal
import re
import shutil
import sqlite3
import subprocess
import sys
import time
import urllib.request

import testing
from testing import check, until

work, faultd = sys.argv[1:3]
skep, exact = os.environ.get("SKEP", "skep"), os.environ["EXACT_BIN"]
tiny = os.path.realpath(shutil.copy(exact + "/tiny", work + "/tiny"))  # other tests run the original beside this one
spool, disk, out, err = work + "/disk/spool.db", work + "/disk", work + "/out.jsonl", work + "/err"


receiver = subprocess.Popen([faultd, "--log", work + "/taken"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
port = json.loads(receiver.stdout.readline())["http"]


def script(steps):
    urllib.request.urlopen("http://127.0.0.1:%d/-/script" % port, data=("/hq " + steps).encode(), timeout=10).read()


conf = work + "/skepd.conf"
json.dump({"interval": "1s", "pin_dir": work + "/bpf/skep", "control": {"socket": work + "/sock"},
           "spool": {"path": spool, "max_bytes": "16MiB", "reserve": 0}, "probes": [{"plugin": "proc"}],
           "sinks": [{"plugin": "file", "path": out, "streams": ["process.exit"]},
                     {"plugin": "http", "name": "hq", "url": "http://127.0.0.1:%d/hq" % port, "streams": ["process.exit"]}]}, open(conf, "w"))


def ours(r):
    return r["stream"] == "process.exit" and r["exe"] == tiny


def in_file():
    return collections.Counter(r["upid"] for r in map(json.loads, (line for line in open(out) if line.endswith("\n"))) if ours(r))


def at_receiver():
    """Each key once: a batch that arrived twice counts once."""
    seen, ids = set(), collections.Counter()
    for line in open(work + "/taken"):
        r = json.loads(line) if line.endswith("\n") else {}
        if r.get("taken") and r["key"] not in seen:
            seen.add(r["key"])
            ids.update(r["ids"])
    return ids


def storm(n):
    """Starts n processes and waits for their records, not for records of earlier processes."""
    before = set(in_file())
    storm = subprocess.run([exact + "/storm", tiny, str(n), "1"], stdout=subprocess.PIPE, text=True, check=True)
    return before, json.loads(storm.stdout)["processes"]


def new_in_file(before):
    return set(in_file()) - before


def lag():
    got = subprocess.run([skep, "status", "--json", "--socket", work + "/sock"], capture_output=True, text=True)
    one = [i for i in json.loads(got.stdout)["instances"] if i["name"] == "hq"] if got.returncode == 0 else []
    return one[0]["delivery"] if one else {}


open(out, "w").close()
open(work + "/taken", "a").close()
d = testing.start(conf, err)

script("503")
before, n = storm(300)
check("a receiver that is away: the other sink gets all records at once", until(lambda: len(new_in_file(before)) == n), "%d of %d" % (len(new_in_file(before)), n))
check("and skep status reports how far the first is behind, and why", until(lambda: lag().get("lag_records", 0) > 0 and "503" in lag()["why"]), lag())
first = new_in_file(before)
d.send_signal(signal.SIGKILL)
d.wait()
d = testing.start(conf, err)
before, n = storm(200)
check("skepd was killed: the next one continues, and the other sink gets all records", until(lambda: len(new_in_file(before)) == n), "%d of %d" % (len(new_in_file(before)), n))
first |= new_in_file(before)
script("200")
d.send_signal(signal.SIGHUP)  # the sink's backoff starts anew
check("the receiver is back: it gets all records of both skepds", until(lambda: first <= set(at_receiver())), "%d missing" % len(first - set(at_receiver())))
images = collections.defaultdict(set)
for r in map(json.loads, (line for line in open(out) if line.endswith("\n"))):
    images[r["upid"]].add(r["image"])
check("the receiver has each image of a process once", not [u for u in first if at_receiver()[u] != len(images[u])],
      [(u, at_receiver()[u], len(images[u])) for u in first if at_receiver()[u] != len(images[u])][:5])

script("401")
before, n = storm(100)
check("a refused token: skepd logs it and holds the sink", until(lambda: lag().get("held")) and "keeps its records until this is mended" in testing.text(err), lag())
until(lambda: len(new_in_file(before)) == n)
script("200")
d.send_signal(signal.SIGHUP)
check("a new token and a reload: the sink gets all records", until(lambda: new_in_file(before) <= set(at_receiver()) and len(new_in_file(before)) == n),
      "%d missing" % len(new_in_file(before) - set(at_receiver())))

def ask(*words, status=0):
    got = subprocess.run([skep, "spool", *words], capture_output=True, text=True)
    if got.returncode != status:
        check("skep spool %s: status %d" % (" ".join(words), status), False, "%d: %s%s" % (got.returncode, got.stdout, got.stderr))
    return got.stdout + got.stderr


check("a spool elsewhere: skep spool names the option", all("none.db does not exist" in t and "--spool PATH" in t for t in (
    ask(*words, "--spool", work + "/none.db", status=1) for words in (["status"], ["dead"], ["check"], ["drop", "hq"]))))
script("400")
before, n = storm(50)
until(lambda: len(new_in_file(before)) == n)
until(lambda: sum(b["records"] for b in json.loads(ask("dead", "--spool", spool, "--json"))) >= n)  # maybe in two batches
dead = json.loads(ask("dead", "--spool", spool, "--json"))
check("the spool stores a batch refused for good, with the receiver's message", dead and all(b["sink"] == "hq" and b["status"] == 400 and b["why"] for b in dead) and
      sum(b["records"] for b in dead) >= n, dead[:2])
check("skep spool recover and drop demand a stopped skepd", "stop it first" in ask("recover", spool, "--spool", spool, status=1) and
      "stop it first" in ask("drop", "--dead", "--spool", spool, status=1))
script("200")

filler = open(disk + "/filler", "wb")
try:
    while True:
        filler.write(bytes(65536))
        filler.flush()
except OSError:
    pass
before, n = storm(200)
check("a full disk: both sinks get all records from memory",
      until(lambda: len(new_in_file(before)) == n and new_in_file(before) <= set(at_receiver())),
      "%d of %d, %d missing at hq" % (len(new_in_file(before)), n, len(new_in_file(before) - set(at_receiver()))))
full = until(lambda: "cannot write to the spool" in testing.text(err))
unwritable = "spool      " + spool + " cannot be written: "
check("skep status says that the spool cannot be written",
      until(lambda: unwritable in subprocess.run([skep, "status", "--socket", work + "/sock"], capture_output=True, text=True).stdout))
try:
    filler.close()
except OSError:
    pass
os.unlink(disk + "/filler")
check("skepd logs the full disk, and when it has room again", full and until(lambda: "the spool is writable again" in testing.text(err)), testing.text(err)[-500:])

script("503")
before, n = storm(200)
until(lambda: len(new_in_file(before)) == n)
testing.stop(d, err)
waiting = json.loads(ask("status", "--spool", spool, "--json"))["records"]
said_so = ask("recover", spool, "--spool", work + "/other.db")
check("skep spool recover copies the waiting batches into another spool", waiting > 0 and
      json.loads(ask("status", "--spool", work + "/other.db", "--json"))["records"] == waiting, (waiting, said_so))


def first_leaf(file, root):
    """Number and size of the leftmost leaf of a table of SQLite's (its file format, 1.6)."""
    file.seek(16)
    size = int.from_bytes(file.read(2), "big")
    while True:
        file.seek((root - 1) * size)
        page = file.read(size)
        if page[0] != 5:
            return root, size
        cell = int.from_bytes(page[12:14], "big")
        root = int.from_bytes(page[cell:cell + 4], "big")


# Ids grow for ever, and skepd removes acknowledged batches: the first page may begin at any id.
shutil.copy(spool, work + "/late.db")
db = sqlite3.connect(work + "/late.db", isolation_level=None)
db.execute("CREATE TEMP TABLE one AS SELECT * FROM batch LIMIT 1")
columns = [c[1] for c in db.execute("PRAGMA table_info(batch)") if c[1] != "id"]
db.execute("DELETE FROM batch")
db.execute("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 2000) INSERT INTO batch (id, %s) "
           "SELECT 500000 + x, %s FROM c, one" % (", ".join(columns), ", ".join(columns)))
root = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'batch'").fetchone()[0]
db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
db.close()
with open(work + "/late.db", "r+b") as f:
    leaf, size = first_leaf(f, root)
    f.seek((leaf - 1) * size)
    f.write(bytes([0xa5]) * size)
late = ask("check", "--spool", work + "/late.db", status=1)
found = re.search(r"(\d+) batches of \d+ records can be read", late.replace(",", ""))
check("the first page is damaged: skep reads all others, with any ids", found and 1800 < int(found.group(1)) < 2000, late[-300:])
check("drop --dead removes the dead letters", "batches that receivers had refused" in ask("drop", "--dead", "--spool", spool) and
      json.loads(ask("dead", "--spool", spool, "--json")) == [])
with open(spool, "r+b") as f:  # every page but the first is bad
    size = f.seek(0, os.SEEK_END)
    for at in range(8192, size, 1024):
        f.seek(at)
        f.write(bytes([0xa5]) * 64)
status = subprocess.run([skep, "spool", "check", "--spool", spool], capture_output=True, text=True)
check("a damaged spool: skep spool check reports it", status.returncode == 1, status)
d = testing.start(conf, err)
script("200")
before, n = storm(100)
check("skepd runs with a damaged spool, and both sinks get new records",
      until(lambda: len(new_in_file(before)) == n and new_in_file(before) <= set(at_receiver())),
      "%d of %d, %d missing at hq" % (len(new_in_file(before)), n, len(new_in_file(before) - set(at_receiver()))))
check("skepd logs the damage and puts the file aside", "began a new one" in testing.text(err) and [x for x in os.listdir(disk) if ".corrupt-" in x], os.listdir(disk))
testing.stop(d, err)
subprocess.run([testing.SKEPD, "--unpin", "-c", conf], capture_output=True)
receiver.stdin.close()
receiver.wait(20)
sys.exit(testing.failures > 0)
