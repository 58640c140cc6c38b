#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal.py - an interactive bash on a terminal runs each command line twice: as it is, and behind `skep run`. The user
must see the same: what the command reads, what the keys do, which jobs stop, which status the shell gets.

Environment: SKEP, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import os
import pty
import re
import select
import signal
import sys
import time

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
PATIENCE = 60 * int(os.environ.get("SKEP_TEST_PATIENCE", "1"))
BEHIND = f"{SKEP} run --lake {WORK}/lake --no-report --no-live -- "
WAITS = WORK + "/waits.py"
with open(WAITS, "w") as script:
    script.write("import signal\nsignal.signal(2, signal.SIG_DFL)\nprint('waits', flush=True)\nsignal.pause()\n")
CATCHES = WORK + "/catches.py"
with open(CATCHES, "w") as script:
    script.write("""import os, signal, sys
def on(number, frame):
    print("caught", number, flush=True)
    sys.exit(9)
os.getpid() == os.getpgrp() or os.setpgid(0, 0)
signal.signal(signal.SIGQUIT, on)
print("catches", flush=True)
while True:
    signal.pause()
""")
SESSION = WORK + "/session.py"
with open(SESSION, "w") as script:
    script.write("""import os, signal
def on(number, frame):
    print("caught", number, flush=True)
    os._exit(9)
signal.signal(signal.SIGINT, on)
signal.signal(signal.SIGTERM, on)
print("session" if os.getsid(0) == os.getpid() else "none", flush=True)
while True:
    signal.pause()
""")
IGNORES = WORK + "/ignores.py"
with open(IGNORES, "w") as script:
    script.write("""import errno, os, signal, time
signal.signal(signal.SIGTTIN, signal.SIG_IGN)
os.getpid() == os.getpgrp() or os.setpgid(0, 0)
print("begun", flush=True)
while True:
    try:
        print("got:" + os.read(0, 100).decode().strip(), flush=True)
        break
    except OSError as error:
        if error.errno != errno.EIO:
            raise
        time.sleep(0.01)
os._exit(8)
""")
failures = 0


def check(good, what, detail=""):
    global failures
    if not good:
        failures += 1
    print(f"ok - {what}" if good else f"FAIL - {what}: {detail}", flush=True)


class Shell:
    """bash -i on a terminal of its own. `$P` begins each command line: it is empty, or skep run."""

    def __init__(self, before, word):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            for number in (signal.SIGPIPE, signal.SIGXFSZ):  # python ignores them
                signal.signal(number, signal.SIG_DFL)
            env = {**os.environ, "PS1": "READY> ", "TERM": "xterm", "P": before, "LC_ALL": "C.UTF-8",
                   "FIELD": word}
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], env)
        self.output, self.seen = "", 0

    def expect(self, pattern):
        """Reads until the pattern is in the output behind the last match."""
        end = time.monotonic() + PATIENCE
        while not (found := re.compile(pattern).search(self.output, self.seen)):
            if time.monotonic() > end:
                raise TimeoutError(f"no {pattern!r} in {self.output[self.seen:]!r}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.terminal, 65536).decode(errors="replace")
                except OSError:
                    raise TimeoutError(f"the terminal ended without {pattern!r}: {self.output[self.seen:]!r}") from None
        self.seen = found.end()
        return found

    def type(self, text):
        os.write(self.terminal, text.encode())

    def line(self, text):
        self.type(text + "\n")

    def foreground(self):
        """Waits until the shell has given the terminal to a job."""
        until(lambda: os.tcgetpgrp(self.terminal) != self.pid)

    def status(self):
        self.line("echo status:$?")
        return self.expect(r"status:(\d+)\r\n")[1]

    def close(self):
        os.close(self.terminal)
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)


def processes(name):
    """The states of all processes that have this word as an argument."""
    states = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            arguments = open(f"/proc/{pid}/cmdline", "rb").read().split(b"\0")
            state = open(f"/proc/{pid}/stat", errors="replace").read().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if name.encode() in arguments:
            states[int(pid)] = state
    return states


def started_by(word):
    """All processes that the scenario's shell has started, directly or not."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if b"FIELD=" + word.encode() in open(f"/proc/{pid}/environ", "rb").read().split(b"\0"):
                found.append(int(pid))
        except OSError:
            continue
    return found


def until(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what the test waits for does not happen")
        time.sleep(0.05)


# Each scenario gets a shell and a word that no other process has as an argument, and returns what the user saw.

def interrupt_timeout(shell, word):
    shell.line(f"$P timeout 600 sh -c 'echo begun; exec tail -f /dev/null' {word}")
    shell.expect("\r\nbegun\r\n")
    shell.type("\x03")
    shell.expect("READY> ")
    return shell.status()


def catches_quit(shell, word):
    shell.line(f"$P python3 {CATCHES} {word}")
    shell.expect("\r\ncatches\r\n")
    shell.type("\x1c")
    shell.expect("caught 3\r\n")
    shell.expect("READY> ")
    return shell.status()


def read_by_timeout(shell, word):
    shell.line(f"$P timeout 600 sh -c 'read x; echo got:$x; exit 5' {word}")
    until(lambda: len(processes(word)) > 0)
    shell.line("typed")
    shell.expect("got:typed\r\n")
    return shell.status()


def modes_by_timeout(shell, word):
    shell.line(f"$P timeout 600 sh -c 'stty -echo && stty echo && echo set; exit 6' {word}")
    shell.expect("\r\nset\r\n")
    return shell.status()


def stop_timeout(shell, word):
    shell.line(f"$P timeout 600 sh -c 'echo begun; read x; echo got:$x; exit 7' {word}")
    shell.expect("\r\nbegun\r\n")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.expect("READY> ")
    until(lambda: set(processes(word).values()) == {"T"})
    shell.line("fg")
    shell.expect("timeout 600 .*\r\n")
    shell.line("typed")
    shell.expect("got:typed\r\n")
    return shell.status()


def stop_and_background(shell, word):
    shell.line(f"$P timeout 600 sh -c 'echo begun; exec tail -f /dev/null' {word}")
    shell.expect("\r\nbegun\r\n")
    shell.type("\x1a")
    shell.expect("Stopped")
    shell.line("bg")
    until(lambda: set(processes(word).values()) <= {"S", "R"})
    shell.line("kill %1; wait %1; echo waited:$?")
    return shell.expect(r"waited:(\d+)\r\n")[1]


LEAVES = "import os, sys; os.getpid() == os.getpgrp() or os.setpgid(0, 0); print(\"begun\", flush=True); "


def background_reads(shell, word):
    shell.line(f"$P python3 -c '{LEAVES}print(\"got:\" + input())' {word} &")
    shell.expect("begun\r\n")
    until(lambda: "T" in processes(word).values())
    until(lambda: said(shell, "jobs", "Stopped"))
    shell.line("fg")
    shell.expect("python3 .*\r\n")
    shell.line("typed")
    shell.expect("got:typed\r\n")
    return shell.status()


def said(shell, line, pattern):
    shell.line(line + "; echo asked")
    shell.expect("echo asked\r\n")
    start = shell.seen
    shell.expect("asked\r\n")
    return re.search(pattern, shell.output[start:])


def background_to_foreground(shell, word):
    shell.line(f"$P timeout 600 sh -c 'echo begun; exec tail -f /dev/null' {word} &")
    shell.expect("begun\r\n")
    shell.line("fg")
    shell.expect("\r\n.*timeout 600 .*\r\n")
    shell.foreground()
    shell.type("\x03")
    shell.expect("READY> ")
    return shell.status()


def loop(shell, word):
    shell.line(f"for i in 1 2 3; do echo turn:$i; $P python3 {WAITS} {word}; done; echo over")
    shell.expect("\r\nturn:1\r\n")
    shell.expect("waits\r\n")
    shell.type("\x03")
    shell.expect("READY> ")
    status = shell.status()
    return status, "turn:2" in shell.output


def loop_of_script(shell, word):
    shell.line(f"bash -c 'for i in 1 2 3; do echo turn:$i; $P python3 {WAITS} {word}; done; echo over'")
    shell.expect("\r\nturn:1\r\n")
    shell.expect("waits\r\n")
    shell.type("\x03")
    shell.expect("READY> ")
    status = shell.status()
    return status, "turn:2\r\n" in shell.output


def pager(shell, word):
    shell.line(f"$P timeout 600 sh -c 'echo one; tail -f /dev/null' {word} | sh -c 'read a; read b </dev/tty; echo $a:$b' {word}")
    until(lambda: len(processes(word)) >= 3)
    shell.line("typed")
    shell.expect("one:typed\r\n")
    shell.type("\x03")
    shell.expect("READY> ")
    until(lambda: not processes(word))
    return "ended"


def stops_itself(shell, word):
    shell.line("$P python3 -c 'import os, signal; os.kill(os.getpid(), signal.SIGTSTP); print(\"on\")' " + word)
    shell.expect("Stopped")
    shell.line("fg")
    shell.expect("\r\non\r\n")
    return shell.status()


def catches_the_stop(shell, word):
    # a signal can end dash's read before the line comes
    shell.line("$P sh -c 'trap \"echo caught\" TSTP; echo begun; until read x; do :; done; echo got:$x' " + word)
    shell.expect("\r\nbegun\r\n")
    shell.type("\x1a")
    shell.line("typed")  # the shell would get it if the job had stopped
    shell.expect("got:typed\r\n")
    return shell.status()


def shell_suspends(shell, word):
    shell.line(f"PS1='INNER> ' $P bash --norc --noprofile --noediting -i -s {word}")
    shell.expect("INNER> ")
    shell.line("suspend -f")
    shell.expect("Stopped")
    shell.expect("READY> ")
    shell.line("fg")
    shell.expect("bash .*\r\n")
    shell.line("echo in:$((40+2))")
    shell.expect("in:42\r\n")
    shell.line("exit 4")
    shell.expect("READY> ")
    return shell.status()


def killed_job(shell, word):
    shell.line(f"$P timeout 600 sh -c 'echo begun; exec tail -f /dev/null' {word} &")
    shell.expect("begun\r\n")
    shell.line("kill -HUP %1; wait %1; echo waited:$?")
    return shell.expect(r"waited:(\d+)\r\n")[1]


def tostop(shell, word):
    shell.line(f"stty tostop; $P timeout 600 sh -c 'echo begun; exit 3' {word}; stty -tostop")
    shell.expect("\r\nbegun\r\n")
    return shell.status()


def typed_ahead(shell, word):
    """After a command that had the terminal, the shell has it again."""
    shell.line(f"$P timeout 600 sh -c 'read x; kill -9 $PPID' {word}")
    until(lambda: len(processes(word)) > 0)
    shell.line("typed")
    shell.expect("READY> ")
    shell.line("read y; echo shell:$y")
    shell.line("again")
    shell.expect("shell:again\r\n")
    return "read"


def own_session(shell, word):
    """CMD has left the terminal: Ctrl-C is not for it. A later signal to skep alone is."""
    shell.line(f"bash -c '$P setsid python3 {SESSION} {word}; echo over:$?'")
    shell.expect("\r\n(session|none)\r\n")
    shell.type("\x03")
    shell.expect(r"\^C")
    found = processes(word)
    behind = [pid for pid in found if os.getsid(pid) != pid]  # skep, if there is one
    os.kill((behind or list(found))[0], signal.SIGTERM)
    return shell.expect(r"caught (\d+)\r\n")[1], shell.expect(r"over:(\d+)\r\n")[1]


def ignores_ttin(shell, word):
    """Behind skep, the first reads may fail with EIO: skep does not see at once that CMD has made a group of its own."""
    shell.line(f"$P python3 {IGNORES} {word}")
    shell.expect("\r\nbegun\r\n")
    shell.line("typed")
    shell.expect("got:typed\r\n")
    return shell.status()


def outcome(scenario, before, word):
    shell = Shell(before, word)
    try:
        shell.expect("READY> ")
        seen = scenario(shell, word)
        until(lambda: set(started_by(word)) <= {shell.pid})  # no process outlives its job
        return seen
    except TimeoutError as error:
        return f"hangs: {error}"
    finally:
        left = started_by(word)
        shell.close()
        for pid in set(left) - {shell.pid}:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def hangup():
    """A terminal's session leader alone gets the SIGHUP: `ssh -t HOST skep run -- CMD`, and the line breaks."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(SKEP, [*BEHIND.split(), "sh", "-c", f"trap 'echo hup >{WORK}/hup; exit' HUP; echo begun; "
                         "while :; do sleep 0.1; done"])
    output = b""
    while b"begun" not in output:
        output += os.read(terminal, 1000)
    os.close(terminal)
    until(lambda: os.path.exists(WORK + "/hup"))
    os.waitpid(pid, 0)
    check(True, "a terminal hangs up: CMD gets SIGHUP, and skep ends")


SCENARIOS = [interrupt_timeout, catches_quit, read_by_timeout, modes_by_timeout, stop_timeout, stop_and_background,
             background_reads, background_to_foreground, loop, loop_of_script, pager, stops_itself, catches_the_stop,
             shell_suspends, killed_job, tostop, typed_ahead, own_session, ignores_ttin]
chosen = sys.argv[2:]
for number, scenario in enumerate(SCENARIOS):
    if chosen and scenario.__name__ not in chosen:
        continue
    want = outcome(scenario, "", f"field-{os.getpid()}-{number}-alone")
    got = outcome(scenario, BEHIND, f"field-{os.getpid()}-{number}-behind")
    good = want == got and not str(want).startswith("hangs")
    check(good, f"{scenario.__name__}: as without skep ({want})", f"without: {want}; behind skep run: {got}")
if not chosen:
    try:
        hangup()
    except TimeoutError as error:
        check(False, "a terminal hangs up", str(error))
sys.exit(failures != 0)
