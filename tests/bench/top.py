#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# top.py [--processes N] [--active PERCENT] [--seconds S] [--by GROUP]: what skep top costs. Starts a skepd (interval
# 5 s), N processes of which some wake each second and use 20 us, and skep top in a terminal of 160x50 that this program
# is. Prints the CPU time of skep top and of skepd as parts of a core, and the bytes that skep top wrote for a refresh.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, cc.
import argparse
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

SLEEPERS = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	long n = atol(argv[1]), active = atol(argv[2]);
	(void)argc;
	setpgid(0, 0);
	for (long i = 0; i < n; i++)
		if (fork() == 0) {
			while (i >= active)
				pause();
			usleep((unsigned)(i * 7919 % 1000000));
			for (;;) {
				for (volatile int k = 0; k < 20000; k++)
					;
				sleep(1);
			}
		}
	puts("ready");
	fflush(stdout);
	pause();
}
"""


def cpu(pid):
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def read_for(fd, seconds, tell=None):
    """Bytes that arrive in that time, and the number of bursts: a burst is a refresh."""
    total = bursts = 0
    until, last = time.monotonic() + seconds, 0.0
    while (left := until - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            continue
        data = os.read(fd, 1 << 16)
        total += len(data)
        bursts += time.monotonic() - last > 0.1
        last = time.monotonic()
        if tell and tell in data:
            break
    return total, bursts


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--processes", type=int, default=2000)
    parser.add_argument("--active", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--by", default="run")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="skep_bench_top.")
    started = []
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        os.mkdir(folder + "/lake", 0o700)
        os.environ["SKEP_SOCKET"] = folder + "/s"
        os.mkdir(folder + "/rules", 0o700)  # what else this machine runs does not count
        with open(folder + "/rules/top.json", "w", encoding="utf-8") as file:
            json.dump({"rules": [{"id": "load", "when": "exe suffix '/sleeper'", "verdict": "include",
                                  "inherit": True}]}, file)
        with open(folder + "/conf", "w", encoding="utf-8") as file:
            json.dump({"interval": "5s", "filters": {"dirs": [folder + "/rules"], "default": "exclude"},
                       "control": {"socket": folder + "/s"}, "spool": {"path": folder + "/spool.db"},
                       "probes": [{"plugin": p} for p in ("proc", "sched", "io", "net")],
                       "sinks": [{"plugin": "lake", "path": folder + "/lake"}]}, file)
        with open(folder + "/s.c", "w", encoding="utf-8") as file:
            file.write(SLEEPERS)
        subprocess.run(["cc", "-O1", "-static", "-o", folder + "/sleeper", folder + "/s.c"], check=True)
        skepd = subprocess.Popen([os.environ["SKEPD"], "-c", folder + "/conf"], stderr=subprocess.DEVNULL)
        started.append(skepd)
        while subprocess.run([os.environ["SKEP"], "status"], capture_output=True, check=False).returncode:
            if skepd.poll() is not None:
                sys.exit("skepd does not start")
            time.sleep(0.2)
        sleepers = subprocess.Popen([folder + "/sleeper", str(options.processes),
                                     str(options.processes * options.active // 100)], stdout=subprocess.PIPE)
        started.append(sleepers)
        sleepers.stdout.readline()
        pid, fd = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm-256color"
            time.sleep(0.5)
            os.execv(os.environ["SKEP"], ["skep", "top", "--by", options.by])
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        first, _ = read_for(fd, 20)
        begin, top_cpu, daemon_cpu = time.monotonic(), cpu(pid), cpu(skepd.pid)
        total, bursts = read_for(fd, options.seconds)
        wall = time.monotonic() - begin
        print(json.dumps({"processes": options.processes, "active_percent": options.active, "by": options.by,
                          "seconds": round(wall, 1), "top_cpu_percent": round((cpu(pid) - top_cpu) / wall * 100, 3),
                          "top_first_cpu_s": round(top_cpu, 3),
                          "skepd_cpu_percent": round((cpu(skepd.pid) - daemon_cpu) / wall * 100, 3),
                          "first_screen_bytes": first, "refreshes": bursts,
                          "bytes_per_refresh": total // max(bursts, 1), "loadavg": os.getloadavg()[0]}))
        os.write(fd, b"q")
        read_for(fd, 5, b"\x1b[?1049l")
        os.close(fd)
        os.waitpid(pid, 0)
        os.killpg(sleepers.pid, signal.SIGKILL)
    finally:
        for process in started:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


sys.exit(main())
