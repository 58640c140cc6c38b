# SPDX-License-Identifier: Apache-2.0
"""attached.py - shared by the tests of details: skep attach in the background, and the verdict."""
import json, os, signal, subprocess

from testing import PATIENCE, until

SKEP = os.environ.get("SKEP", "skep")
bad = 0


def check(good, text):
    global bad
    print("ok -" if good else "not ok -", text, flush=True)
    bad += not good


class Attached:
    """skep attach with all of its arguments; records() detaches and returns every record."""

    def __init__(self, detail, stream, *scope):
        self.stream = stream
        self.p = subprocess.Popen([SKEP, "attach", detail, "--for", "10m", "--json", *scope],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def records(self):
        self.p.send_signal(signal.SIGINT)
        out, err = self.p.communicate(timeout=PATIENCE)
        lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
        if not lines:
            print(f"# {' '.join(self.p.args)}: status {self.p.returncode}: {err}")
        return [r for r in lines if r.get("stream") == self.stream]


def until_attached(n):
    until(lambda: subprocess.run([SKEP, "status", "--json"], capture_output=True, text=True).stdout.count('"detail"') >= n, f"{n} attachments")


def until_known(*workers):
    """Until skepd knows the processes and their starts."""
    until(lambda: all(subprocess.run([SKEP, "recognize", str(w.pid)], capture_output=True).returncode == 0 for w in workers), "skep recognize")


def lost(out, stream):
    """The losses of a stream that skepd reported in its sink's file."""
    losses = [json.loads(line) for line in open(out) if '"loss"' in line and f'"{stream}"' in line]
    return sum(r["count"] for r in losses)


class Worker:
    """A process that prints "ready", does a step for each line that it reads, and prints "done" after each."""

    def __init__(self, argv, cgroup=None):
        if cgroup:
            argv = ["sh", "-c", 'echo $$ >"$0/cgroup.procs"; exec "$@"', cgroup] + argv
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.ready = self.p.stdout.readline().split()
        assert self.ready[:1] == ["ready"], self.ready

    @property
    def pid(self):
        return self.p.pid

    def tell(self):
        self.p.stdin.write("\n")
        self.p.stdin.flush()

    def finish(self):
        answer = self.p.stdout.readline().split()
        assert answer[:1] == ["done"], answer
        return answer[1:]

    def step(self):
        self.tell()
        return self.finish()

    def end(self):
        self.p.stdin.close()
        self.p.wait()
