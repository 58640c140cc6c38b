#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""output.py - all that skep writes arrives whole, and skep reads all of its input, where another process has made the
stream non-blocking. Each stream is a pipe whose other end made it so, and that is full (or empty) at the start.

Environment: SKEP, SKEPD, SKEP_DEV, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tty

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing

SKEP, SKEPD, SKEP_DEV = os.environ["SKEP"], os.environ["SKEPD"], os.environ["SKEP_DEV"]
WORK = sys.argv[1]
LAKE = WORK + "/lake"
PATIENCE = 60 * int(os.environ.get("SKEP_TEST_PATIENCE", "1"))
failures = 0


def check(good, what, detail=""):
    global failures
    if not good:
        failures += 1
    print(f"ok - {what}" if good else f"FAIL - {what}: {detail}", flush=True)


def fill(writing):
    """Makes it non-blocking and writes until it is full: the number of bytes."""
    os.set_blocking(writing, False)
    filled = 0
    for size in (65536, 1):
        try:
            while True:
                filled += os.write(writing, b"x" * size)
        except BlockingIOError:
            pass
    return filled


def full_pipe():
    """A pipe that is full and non-blocking: (reading end, writing end, bytes in it)."""
    reading, writing = os.pipe()
    return reading, writing, fill(writing)


def sleeps(process):
    with open(f"/proc/{process.pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] == "S"


def waits(process):
    """Does the process sleep? Then it has met the full or empty pipe. Or it has ended."""
    if process.poll() is not None:
        return True
    with open(f"/proc/{process.pid}/wchan") as file:
        return sleeps(process) and ("poll" in (where := file.read()) or where == "0")


def settle(process):
    end = time.monotonic() + PATIENCE
    seen = 0
    while seen < 3 and time.monotonic() < end:
        seen = seen + 1 if waits(process) else 0
        time.sleep(0.02)


def drained(argv, stream):
    """What the command writes to that stream, a full pipe at first."""
    reading, writing, filled = full_pipe()
    other = "stderr" if stream == "stdout" else "stdout"
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **{stream: writing, other: subprocess.DEVNULL})
    flags = fcntl.fcntl(writing, fcntl.F_GETFL)
    settle(process)
    left_alone = fcntl.fcntl(writing, fcntl.F_GETFL) == flags
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    return process.wait(PATIENCE), text[filled:], left_alone


def plain(argv, stream):
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, getattr(done, stream)


def same(stream, argv):
    what = f"{stream}: {' '.join(argv)}".replace(f" --lake {LAKE}", "").replace(os.path.dirname(SKEP) + "/", "")
    status, want = plain(argv, stream)
    got = drained(argv, stream)
    check(want and got == (status, want, True), what,
          f"wanted status {status} and {len(want)} bytes, got status {got[0]}, {len(got[1])} bytes, flags kept: {got[2]}")


def lines(text):
    """What is the same each time in a text with figures: the first word of each line."""
    return [line.split()[:1] for line in re.sub(rb"\d+", b"N", text).splitlines()]


def alike(argv):
    """As same() for standard output, for a text with figures that change."""
    status, want = plain(argv, "stdout")
    got = drained(argv, "stdout")
    check(want and (got[0], lines(got[1]), got[2]) == (status, lines(want), True) and got[1].endswith(b"\n"),
          "stdout: " + " ".join(argv).replace(os.path.dirname(SKEP) + "/", ""), (status, want[-1000:], got))


def frames(full):
    """All that skep top draws for a moment of the lake, on a terminal that is full at first or not. None: it did not
    sleep while it was full."""
    terminal, line = pty.openpty()
    tty.setraw(line)
    fcntl.ioctl(line, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    filled, text, slept, refused = 0, b"", 0, 0
    while full and refused < 5:  # the kernel moves what is written on, and then there is room again
        more = fill(line)
        filled, refused = filled + more, 0 if more else refused + 1
        time.sleep(0.05)
    top = subprocess.Popen([SKEP, "top", "--lake", LAKE, "--at", MOMENT, "--interval", "1h"], stdin=line, stdout=line, stderr=subprocess.DEVNULL,
                           env={**os.environ, "TERM": "xterm"}, start_new_session=True)
    end = time.monotonic() + PATIENCE
    while full and slept < 25 and top.poll() is None and time.monotonic() < end:
        slept = slept + 1 if sleeps(top) else 0
        time.sleep(0.02)
    os.close(line)
    over = False
    while time.monotonic() < end + PATIENCE:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            text += os.read(terminal, 65536)
        except OSError:  # top has closed the last descriptor of the line
            break
        if not over and text.rfind(b"big") > text.rfind(b"reading the lake") > 0 and b"Quit" in text:
            os.write(terminal, b"q")
            over = True
    os.close(terminal)
    status = top.wait(PATIENCE)
    return (status, text[filled:]) if not full or slept == 25 else None


def top_on_a_terminal():
    want, got = frames(False), frames(True)
    check(want[0] == 0 and b"big" in want[1] and got == want,
          "skep top: its frames are whole on a full terminal, and it sleeps meanwhile", (want, got))


def whole_json():
    """The reader of issue 27: a pipe that it made non-blocking, and a report of several times its size."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = subprocess.Popen([SKEP, "show", "--lake", LAKE, "--json"], stdout=writing)
    os.close(writing)
    settle(process)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    check(process.wait() == 0 and len(text) > 200000 and json.loads(text)["run"]["state"], "a report of several pipes is whole",
          f"{len(text)} bytes")


def feed(argv, data):
    """The command's answer when its input is an empty, non-blocking pipe at first, and comes in two halves."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    process = subprocess.Popen(argv, stdin=reading, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    for part in (data[:len(data) // 2], data[len(data) // 2:]):
        settle(process)
        try:
            with_all = memoryview(part)
            while with_all:
                with_all = with_all[os.write(writing, with_all):]
        except BrokenPipeError:
            break
    os.close(writing)
    os.close(reading)
    out = process.stdout.read()
    return process.wait(PATIENCE), out


def same_input(what, argv, data):
    done = subprocess.run(argv, input=data, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    got = feed(argv, data)
    check(got == (done.returncode, done.stdout) and done.returncode == 0, f"stdin: {what}", (done.returncode, done.stdout, got))


subprocess.run([SKEP, "run", "--lake", LAKE, "--no-report", "--name", "big", "--", "sh", "-c",
                "i=0; while [ $i -lt 400 ]; do /bin/true $i; i=$((i+1)); done"], check=True)
whole_json()
MOMENT = json.loads(subprocess.run([SKEP, "show", "--lake", LAKE, "--json", "--summary"], capture_output=True,
                                   check=True).stdout)["run"]["end"]
top_on_a_terminal()
PRICES = WORK + "/prices.json"
with open(PRICES, "w") as file:
    json.dump({"currency": "EUR", "prices": [{"name": "all", "machine_hour": 36, "split": {"cpu": 100}}]}, file)
subprocess.run([SKEP, "run", "--lake", LAKE, "--no-report", "--name", "small", "--", "sh", "-c", "/bin/true 1"], check=True)
show, at = [SKEP, "show", "--lake", LAKE], ["--lake", LAKE]
moment = ["--at", MOMENT, "--interval", "1h", *at]
for command in ([*show, "--json"], [*show, "--json", "--columns"], [*show, "--processes"], [*show, "--trace", "-"],
                [*show, "--flame", "-"], [SKEP, "runs", *at], [SKEP, "runs", "--json", *at],
                [SKEP, "lake", "export", *at], [SKEP, "lake", "export", "--format", "csv", *at],
                [SKEP, "lake", "export", "--format", "parquet", *at], [SKEP, "lake", "status", *at], [SKEP, "tune", *at],
                [SKEP, "tune", "--json", *at], [SKEP, "audit", *at], [SKEP, "help"], [SKEP, "help", "run"],
                [SKEP, "help", "concepts"], [SKEP, "--version"], [SKEPD, "--help"], [*show, "--html", "-", "big"],
                [SKEP, "top", "--once", *moment], [SKEP, "top", "--json", *moment],
                [SKEP, "diff", *at, "big", "small"], [SKEP, "diff", "--json", *at, "big", "small"],
                [SKEP, "cost", "--prices", PRICES, *at, "big"], [SKEP, "cost", "--json", "--prices", PRICES, *at, "big"],
                [SKEP, "sweep", "--list"], [SKEP, "recognize", "--list"], [SKEP_DEV, "help"], [SKEP_DEV, "help", "check"],
                [SKEP_DEV, "--version"]):
    same("stdout", command)
for command in ([SKEP, "sweep", *at], [SKEP, "sweep", "--json", *at]):
    alike(command)
for command in ([SKEP, "nonsense"], [SKEP_DEV, "nonsense"], [SKEP_DEV, "check", "/nonsense"],
                [SKEP, "show", "--lake", LAKE, "nonsense"], [SKEP, "show", "--nonsense"], [SKEPD, "--nonsense"], [SKEPD, "-t", "-c", "/nonsense"]):
    same("stderr", command)
status, text, _ = drained([SKEP, "run", "--lake", LAKE, "--", "sh", "-c", "exit 3"], "stderr")
check(status == 3 and re.search(rb"exit(ed)? .*3", text) and text.endswith(b"\n"), "stderr: the report of skep run", text)
status, text, _ = drained([SKEP, "run", "--lake", LAKE, "--no-report", "--json", "-", "--", "sh", "-c", "exit 3"], "stdout")
check(status == 3 and text.endswith(b"}\n") and json.loads(text)["run"]["exit_code"] == 3, "stdout: skep run --json -", text)

chain = subprocess.run([SKEP, "audit", "big", "--json", *at], capture_output=True, check=True).stdout
same_input("skep audit --verify -", [SKEP, "audit", "--verify", "-"], chain)
rows = subprocess.run([SKEP, "lake", "export", "--what", "all", *at], capture_output=True, check=True).stdout
status, said = feed([SKEP, "lake", "import", "--lake", WORK + "/copy", "-"], rows)
copied = subprocess.run([SKEP, "lake", "export", "--what", "all", "--lake", WORK + "/copy"], capture_output=True).stdout
check(status == 0 and copied == rows, "stdin: skep lake import -", (status, said, len(copied), len(rows)))
with open(os.path.dirname(os.path.abspath(__file__)) + "/../rules/day.ndjson", "rb") as file:
    same_input("skep filter test -", [SKEP, "filter", "test", "uid == 0", "-"], file.read())

def log_that_nobody_reads():
    """skepd's stderr is a pipe that is full: skepd records all the same, and says later how many lines were lost."""
    reading, writing = os.pipe()
    daemon = subprocess.Popen([SKEPD, "-vv", "-c", CONF], stdout=subprocess.DEVNULL, stderr=writing)
    said = b""
    while b" collects: " not in said:
        said += os.read(reading, 65536)
    fill(writing)
    os.set_blocking(writing, True)  # as a shell's pipe: a write(2) would wait
    os.close(writing)
    os.kill(daemon.pid, signal.SIGHUP)
    testing.recorded(RECORDS)
    status = subprocess.run([SKEP, "status"], capture_output=True)
    said, end = b"", time.monotonic() + PATIENCE
    while b" lost: standard error" not in said and time.monotonic() < end:
        if select.select([reading], [], [], 0.1)[0]:
            said += os.read(reading, 65536)
        else:
            os.kill(daemon.pid, signal.SIGUSR1)  # has skepd say something
    daemon.terminate()
    with os.fdopen(reading, "rb") as file:
        file.read()
    check(daemon.wait(PATIENCE) == 0 and status.returncode == 0 and
          re.search(rb"xskepd: warning: [0-9]+ earlier lines? (is|are) lost: standard error did not accept (it|them)", said),
          "skepd's log that nobody reads: records arrive, and the log says what it lost", (status, said[-1000:]))


# What a skepd answers.
CONF, LOG = WORK + "/conf", WORK + "/log"
with open(CONF, "w") as file:
    json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"}, "probes": [{"plugin": "proc", "required": True}],
               "sinks": [{"plugin": "file", "path": "/dev/null"}], "filters": {"packs": ["build"]}}, file)
os.environ["SKEP_SOCKET"] = WORK + "/ctl"
daemon = testing.start(CONF, LOG)
NONE = "tool = 'none'"
for command in (["status"], ["status", "--json"], ["plugins"], ["plugins", "--json"], ["rules"], ["rules", "--json"],
                ["stats"], ["stats", "--json"], ["stats", "--prometheus"], ["doctor"], ["doctor", "--json"],
                ["recognize", str(os.getpid())], ["recognize", "--json", str(os.getpid())], ["top", "--once", "--filter", NONE],
                ["top", "--json", "--filter", NONE], ["loglevel"]):
    alike([SKEP, *command])
same("stderr", [SKEP, "recognize", "0"])
testing.stop(daemon, LOG)

RECORDS = WORK + "/records"
with open(CONF) as file:
    conf = json.load(file)
conf["sinks"], conf["filters"] = [{"plugin": "file", "path": RECORDS}], {}
with open(CONF, "w") as file:
    json.dump(conf, file)
log_that_nobody_reads()
sys.exit(failures != 0)
