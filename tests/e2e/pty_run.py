#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pty_run.py - `skep run` on a terminal, started as a shell with job control starts a job.

Environment: SKEP, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
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

from testing import PATIENCE, until

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
ROWS, COLUMNS = 24, 100
# Matches skep's own output while CMD runs, and no other: see cli/live/live.c
DRAW = re.compile(rb"(?:\x1b\[22;2t)?\x1b\]2;skep [^\x1b\x07]*\x07")
GIVEN = re.compile(rb"\x1b\]2;\x07\x1b\[23;2t")
failures = 0


def check(good, what, detail=""):
    global failures
    if good:
        print("ok -", what, flush=True)
    else:
        failures += 1
        print("FAIL -", what, detail, flush=True)
    return good


class Job:
    """A command in a process group of its own in the foreground of a new terminal. Its parent is a session leader, a
    child of the test. Like a shell the leader gives the command the terminal, waits (also for stops), and reports by a
    pipe. Without it the command's process group would be orphaned, and Ctrl-Z would have no effect."""

    def __init__(self, argv, rows=ROWS, columns=COLUMNS, env=None):
        tell, told = os.pipe()
        obey, order = os.pipe()
        self.shell, self.terminal = pty.fork()
        if self.shell == 0:
            try:
                os.close(tell)
                os.close(order)
                self._shell(argv, rows, columns, env or {}, told, obey)
            finally:
                os._exit(99)
        os.close(told)
        os.close(obey)
        self.told, self.order = os.fdopen(tell, "rb"), order
        self.output = b""
        self.pid = int(self.told.readline())

    @staticmethod
    def _shell(argv, rows, columns, env, told, obey):
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # python loses a signal that arrives while it forks
        ready, go = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.setpgid(0, 0)
            os.read(ready, 1)
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # python ignores them
                signal.signal(number, signal.SIG_DFL)
            os.execvpe(argv[0], argv, {**os.environ, "TERM": "xterm", **env})
        try:
            os.setpgid(pid, pid)
        except PermissionError:
            pass
        os.tcsetpgrp(0, pid)
        os.write(told, b"%d\n" % pid)
        os.write(go, b"x")
        while True:
            _, status = os.waitpid(pid, os.WUNTRACED)
            if os.WIFSTOPPED(status):
                os.tcsetpgrp(0, os.getpgrp())
                os.write(told, b"stopped %d\n" % os.WSTOPSIG(status))
                how = os.read(obey, 1)
                if how == b"f":  # fg
                    os.tcsetpgrp(0, pid)
                os.killpg(pid, signal.SIGCONT)
                continue
            code = os.waitstatus_to_exitcode(status)
            # a shell would now print its prompt; the test first reads the rest of the terminal's output
            os.write(told, b"ended %d\n" % code)
            os.read(obey, 1)
            os._exit(0)

    def read(self, seconds=None, until=None):
        """Reads until the time is over, or until the pattern is in the output (then returns its match)."""
        deadline = time.monotonic() + (PATIENCE if seconds is None else seconds)
        while True:
            found = until and re.search(until, self.output)
            left = deadline - time.monotonic()
            if found or left <= 0:
                return found
            ready, _, _ = select.select([self.terminal], [], [], min(left, 0.1))
            if ready:
                try:
                    self.output += os.read(self.terminal, 65536)
                except OSError:
                    return until and re.search(until, self.output)

    def event(self):
        """Reads the terminal until the job has stopped or ended: (what, number)."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.read(0.05)
            if select.select([self.told], [], [], 0)[0]:
                self.read(0.2)
                what, number = self.told.readline().split()
                return what.decode(), int(number)
        return "nothing", -1

    def draws(self, since):
        """Reads until the figures are shown, after so many bytes of output."""
        until(lambda: self.read(0.1) or DRAW.search(self.output, since), "the live figures")

    def type(self, data):
        os.write(self.terminal, data)

    def proceed(self, how):
        os.write(self.order, how)

    def children(self):
        """The processes, except those of skep itself."""
        lines = subprocess.run(["pgrep", "-l", "-P", str(self.pid)], capture_output=True, text=True).stdout.splitlines()
        return [int(line.split()[0]) for line in lines if not line.endswith((" skep: keeper", " witness: signal"))]

    def close(self):
        try:
            self.proceed(b"x")
        except OSError:
            pass
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(self.terminal)
        os.waitpid(self.shell, 0)
        self.told.close()
        os.close(self.order)


def skep(*argv, options=("--no-report",)):
    return [SKEP, "run", "--lake", WORK + "/lake", "--interval", "200ms", *options, "--", *argv]


def python(text):
    return ["python3", "-c", text]


def gate(name):
    """A file, and the shell's words that wait for it."""
    path = WORK + "/" + name
    return path, "until [ -e '%s' ]; do sleep 0.1; done" % path


def without_ours(output):
    for pattern in (DRAW, GIVEN):
        output = pattern.sub(b"", output)
    return output


def output_is_untouched():
    text = b"".join(b"%05d some text \x1b[31mred\x1b[0m \xc3\xa4\n" % i for i in range(3000))
    with open(WORK + "/text", "wb") as file:
        file.write(text)
    drawn, wait = gate("drawn")
    script = f"for i in 1 2 3 4 5 6; do cat {WORK}/text; sleep 0.15; done; {wait}; printf 'no newline'"
    want = (text * 6).replace(b"\n", b"\r\n") + b"no newline"
    open(drawn, "w").close()
    job = Job(skep("sh", "-c", script, options=("--no-report", "--no-live")))
    check(job.event() == ("ended", 0), "terminal: a command ends")
    check(job.output == want, "--no-live: output is exactly CMD's", f"{len(job.output)} bytes, wanted {len(want)}")
    job.close()
    os.unlink(drawn)
    job = Job(skep("sh", "-c", script))
    job.read(until=DRAW)
    open(drawn, "w").close()
    check(job.event() == ("ended", 0), "live: a command ends")
    drawn = len(DRAW.findall(job.output))
    check(drawn >= 1, "live: the figures were shown", f"{drawn} times")
    check(without_ours(job.output) == want, "live: beside the title, output is exactly CMD's, in order")
    title_given_back(job, "live: at the end")
    job.close()


def title_given_back(job, what):
    drawn = [m.end() for m in DRAW.finditer(job.output)]
    given = [m.end() for m in GIVEN.finditer(job.output)]
    check(drawn and given and max(given) > max(drawn), f"{what}: the title is given back")


def no_title_where_it_would_disturb():
    for what, rows, env, options in (("TERM=dumb", ROWS, {"TERM": "dumb"}, ()), ("TERM=linux", ROWS, {"TERM": "linux"}, ()),
                                     ("--no-live", ROWS, {}, ("--no-live",))):
        job = Job(skep("sh", "-c", "sleep 1; echo done", options=("--no-report", *options)), rows=rows, env=env)
        job.event()
        check(job.output == b"done\r\n", f"no live figures: {what}", repr(job.output))
        job.close()


def interrupt():
    job = Job(skep("sh", "-c", "echo ready; exec sleep 600", options=("--json", WORK + "/int.json")))
    job.read(until=rb"ready")
    job.read(0.5)
    job.type(b"\x03")
    check(job.event() == ("ended", -2), "Ctrl-C: skep dies of SIGINT, as CMD did")
    run = json.load(open(WORK + "/int.json"))["run"]
    check((run["exit_code"], run["signal"]) == (None, 2), "Ctrl-C: the report says SIGINT", repr(run))
    check(b"SIGINT" in job.output, "Ctrl-C: in words", repr(job.output[-2000:]))
    check(b"once more" not in job.output, "Ctrl-C: no word about hurry")
    title_given_back(job, "Ctrl-C")
    job.close()
    job = Job(skep("sh", "-c", "trap 'echo caught; exit 9' QUIT; echo ready; while :; do sleep 0.1; done"))
    job.read(until=rb"ready")
    job.type(b"\x1c")
    check(job.event() == ("ended", 9), "Ctrl-\\: CMD catches SIGQUIT and decides")
    check(job.output.count(b"caught") == 1, "Ctrl-\\: CMD gets it once")
    job.close()
    count = ("import signal, time\nn = 0\ndef on(*a):\n  global n; n += 1\nsignal.signal(signal.SIGINT, on)\n"
             "print('ready', flush=True)\nwhile not n: time.sleep(0.05)\ntime.sleep(1)\nprint('got', n)")
    job = Job(skep(*python(count)))
    job.read(until=rb"ready")
    job.type(b"\x03")
    check(job.event() == ("ended", 0), "Ctrl-C: skep waits for a CMD that goes on")
    check(b"got 1\r\n" in job.output, "Ctrl-C: CMD gets it once, not twice", repr(job.output))
    job.close()


def interrupt_before_it_starts():
    odd = []
    for delay in (0, 0.01, 0.03, 0.06, 0.1, 0.13, 0.16, 0.2, 0.25):
        # Not a shell: dash loses a Ctrl-C between its vfork and the child's exec, and waits for the child.
        job = Job(skep("sleep", "60"))
        time.sleep(delay)
        job.type(b"\x03")
        what = job.event()
        if what != ("ended", -2):
            odd.append((delay, what, job.output[-300:]))
        job.close()
    check(not odd, "Ctrl-C at any moment of the start ends both", repr(odd))


def stop_and_continue():
    over, wait = gate("over")
    script = f"echo ready; {wait}; echo done; exit 6"
    job = Job(skep("sh", "-c", script))
    job.read(until=DRAW)
    job.type(b"\x1a")
    check(job.event() == ("stopped", signal.SIGTSTP), "Ctrl-Z: the job stops")
    title_given_back(job, "Ctrl-Z")
    before = len(job.output)
    job.read(0.6)
    check(len(job.output) == before, "Ctrl-Z: nothing is written meanwhile")
    states = [open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[0] for p in [job.pid, *job.children()]]
    check(states and set(states) == {"T"}, "Ctrl-Z: skep and CMD have both stopped", repr(states))
    job.proceed(b"f")
    job.draws(before)
    open(over, "w").close()
    check(job.event() == ("ended", 6), "fg: goes on to its end")
    check(len(DRAW.findall(job.output[before:])) >= 1, "fg: the figures come back")
    title_given_back(job, "fg")
    job.close()
    os.unlink(over)
    job = Job(skep("sh", "-c", script))
    job.read(until=DRAW)
    job.type(b"\x1a")
    job.event()
    before = len(job.output)
    job.proceed(b"b")
    job.read(1)
    open(over, "w").close()
    check(job.event() == ("ended", 6), "bg: goes on to its end")
    check(not DRAW.findall(job.output[before:]), "bg: no live figures while another process group has the foreground")
    job.close()


def command_alone_stops():
    job = Job(skep("sh", "-c", "echo ready; read go; exit 5"))
    job.read(until=rb"ready")
    (child,) = job.children()
    os.kill(child, signal.SIGSTOP)
    job.read(1.0)
    check(job.children() == [child], "CMD alone stopped: skep keeps waiting")
    os.kill(child, signal.SIGCONT)
    job.type(b"go\n")
    check(job.event() == ("ended", 5), "CMD continued: its status")
    job.close()


EDITOR = """
import sys, termios, time, tty
out = sys.stdout.buffer
def say(x): out.write(x); out.flush()
say(b'before\\n'); sys.stdin.readline()
old = termios.tcgetattr(0); tty.setraw(0)
say(b'\\x1b[?1049hEDITING'); time.sleep(1.2); key = sys.stdin.buffer.read(1); say(b'KEY=' + key + b'LEAVING\\x1b[?1049l')
termios.tcsetattr(0, termios.TCSADRAIN, old); sys.stdin.readline(); say(b'after\\n')
"""


def editor():
    job = Job(skep(*python(EDITOR)))
    job.read(until=rb"before[^$]*" + DRAW.pattern)
    job.type(b"\n")
    job.read(until=rb"EDITING")
    job.read(1.4)
    job.type(b"\x03")  # raw: a key like any other
    job.read(until=rb"LEAVING[^$]*" + DRAW.pattern)
    job.type(b"\n")
    check(job.event() == ("ended", 0), "raw mode: the program gets every key", repr(job.output[-300:]))
    check(b"KEY=\x03" in job.output, "raw mode: Ctrl-C is a key")
    before, rest = job.output.split(b"EDITING", 1)
    during, after = rest.split(b"LEAVING", 1)
    check(DRAW.search(before), "raw mode: the figures stand before")
    check(not DRAW.search(during), "raw mode: no figures while it is on")
    check(GIVEN.search(during), "raw mode: the title is given back")
    check(without_ours(during) == b"KEY=\x03", "raw mode: nothing else is written", repr(during))
    check(DRAW.search(after), "raw mode: the figures come back after")
    title_given_back(job, "raw mode")
    job.close()


def terminal_is_its_own():
    ask = ("import os\nprint(os.getsid(0) == os.getsid(os.getppid()), os.getpgrp() == os.getpgid(os.getppid()),"
           " os.tcgetpgrp(0) == os.getpgrp(), os.ttyname(0) == os.ttyname(2))\nprint('said', input('name? '))")
    job = Job(skep(*python(ask)))
    job.read(until=rb"name\? ")
    job.type(b"skep\n")
    check(job.event() == ("ended", 0), "terminal: CMD reads from it")
    check(b"True True True True" in job.output, "terminal: session, process group and foreground are CMD's", repr(job.output))
    check(b"said skep\r\n" in job.output, "terminal: CMD reads the typed line")
    job.close()


def shell_inside():
    if not os.path.exists("/bin/bash"):
        return
    job = Job(skep("bash", "--norc", "-i"), env={"PS1": "PROMPT> "})
    job.read(until=rb"PROMPT> ")
    job.type(b"sleep 600\n")
    until(lambda: job.read(0.1) or subprocess.run(["pgrep", "-P", str(job.children()[0]), "-x", "sleep"], stdout=subprocess.DEVNULL).returncode == 0, "sleep")
    job.type(b"\x03")
    job.read(0.5)
    job.type(b"echo status $?\n")
    check(job.read(until=rb"status 130\r\n"), "a shell inside: its job control works", repr(job.output))
    job.type(b"exit 4\n")
    check(job.event() == ("ended", 4), "a shell inside: its status")
    job.close()


for test in (output_is_untouched, no_title_where_it_would_disturb, interrupt, interrupt_before_it_starts,
             stop_and_continue, command_alone_stops, editor, terminal_is_its_own, shell_inside):
    test()
sys.exit(failures != 0)
