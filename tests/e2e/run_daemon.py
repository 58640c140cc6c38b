# SPDX-License-Identifier: Apache-2.0
# tests/e2e/run_daemon.py - the questions of run_daemon.sh to the lake, in all its files, and to the control socket.
import glob, json, os, socket, sqlite3, sys

lake, what, *args = sys.argv[1:]


def rows(sql, *values):
    return [row for path in sorted(glob.glob(lake + "/lake-*.db")) for row in sqlite3.connect(path).execute(sql, values)]


def same(wanted, got):
    if wanted != got:
        sys.exit(f"wanted {wanted!r}, got {got!r}")


def processes(name):
    return sorted(t for t, in rows("SELECT t.s FROM proc p JOIN run r ON r.id = p.run JOIN dict t ON t.id = p.tool WHERE r.name = ? AND p.last", name))


def run(name, state, code, signal):
    same([(state, int(code), int(signal))], rows("SELECT state, exit_code, signal FROM run WHERE name = ?", name))


def report(path, name, code, tool):
    r = json.load(open(path))
    same((name, int(code)), (r["run"]["name"], r["run"]["exit_code"]))
    if tool not in [p["tool"] for p in r["processes"]]:
        sys.exit(f"no {tool} in {r['processes']}")


def id(name, wanted):
    same([(wanted,)], rows("SELECT run FROM run WHERE name = ?", name))


def long(name, n):
    [(argv, total)] = rows("SELECT argv, argv_total FROM run WHERE name = ?", name)
    same(len("sh") + len("-c") + len(":") + int(n) + 1 + 5, total)
    if not argv.startswith(b"sh\0-c\0:\0yyyy") or len(argv) >= 8192:
        sys.exit(f"{len(argv)} bytes, {argv[:20]}")


def argv(name, wanted):
    [(found,)] = rows("SELECT argv FROM run WHERE name = ?", name)
    same(wanted, b" ".join(found.split(b"\0")[:2]).decode())


def uid(name, wanted):
    same([(int(wanted),)], rows("SELECT DISTINCT p.uid FROM proc p JOIN run r ON r.id = p.run WHERE r.name = ?", name))


def tools(name, wanted):
    same(sorted(wanted.split(",")), processes(name))


def tasks(name, wanted):
    same(wanted.split(","), [t for t, in rows("SELECT t.task FROM task t JOIN run r ON r.id = t.run WHERE r.name = ? ORDER BY t.start_ns", name)])


def parent(name, engine):
    same([(engine,)], rows("SELECT p.engine FROM run r JOIN run p ON p.run = r.parent_run WHERE r.name = ?", name))


def once():
    seen = rows("SELECT b.s, pid, start_boot_ns, image FROM proc p JOIN dict b ON b.id = p.boot JOIN dict s ON s.id = p.state WHERE s.s <> 'excluded'")
    same(len(set(seen)), len(seen))


def refused(path, *pids):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    lines = s.makefile("rw")
    for pid in [*pids, os.getpid(), 2**22 - 1]:
        print(json.dumps({"request": "run_begin", "pid": int(pid), "argv": ["x"]}), file=lines, flush=True)
        answer = json.loads(lines.readline())
        if answer["ok"] or answer["code"] not in ("permission", "not_found"):
            sys.exit(f"pid {pid}: {answer}")
    for request in ({"request": "run_end", "run": "r", "status": 0}, {"request": "run_resume", "run": "r", "pid": 1}):
        print(json.dumps(request), file=lines, flush=True)
        same("not_found", json.loads(lines.readline()).get("code"))


globals()[what](*args)
