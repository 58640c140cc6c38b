#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for a service manager: notify.py SKEPD PLUGIN_DIR LAKE_DIR starts skepd as systemd would, with a socket and
a watchdog of 1 s, and compares its messages with its actions."""
import os
import signal
import socket
import subprocess
import sys
import time

skepd, test_plugins, folder = sys.argv[1:]
conf, name = f"{folder}/skepd.conf", f"{folder}/notify"
child = None


def fail(text):
    sys.exit(f"not ok - {text}\n" + "".join(f"# {line}" for line in open(f"{folder}/err")))


def write(text):
    with open(conf, "w") as f:
        f.write(text)


def start():
    global child
    program = [skepd, "-f", "-c", conf]
    environment = dict(os.environ, NOTIFY_SOCKET=name, WATCHDOG_USEC="1000000")
    with open(f"{folder}/err", "w") as err:
        child = subprocess.Popen(program, stdin=subprocess.DEVNULL, stdout=err, stderr=err, env=environment)


def hear(seconds=120):
    """The next message other than a ping: {name: value}; None after the timeout."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        manager.settimeout(left)
        try:
            said = dict(line.split("=", 1) for line in manager.recv(8192).decode("ascii").split("\n"))
        except TimeoutError:
            return None
        if "WATCHDOG" not in said:
            return said
    return None


def pings(seconds):
    n, until = 0, time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        manager.settimeout(left)
        try:
            n += manager.recv(8192) == b"WATCHDOG=1"
        except TimeoutError:
            break
    return n


def pinged(n):
    manager.settimeout(120)
    try:
        while n > 0:
            n -= manager.recv(8192) == b"WATCHDOG=1"
    except TimeoutError:
        return False
    return True


def expect(what, said, state, *words):
    if said is None or state not in said or any(w not in said.get("STATUS", "") for w in words):
        fail(f"{what}: expected {state} with {words}, heard {said}")
    print(f"ok - {what}: {said['STATUS'].replace(folder, 'DIR')}")


def end(status):
    child.terminate()
    expect("SIGTERM", hear(), "STOPPING")
    if child.wait(120) != status:
        fail(f"exit {child.returncode}, not {status}")


manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(name)
lake = f'"sinks": [ {{ "plugin": "lake", "min_free": "0", "path": "{folder}/lake" }} ], "control": {{ "socket": false }}'
try:
    write(f"{{ {lake} }}")
    start()
    expect("start", hear(), "READY", "0 probes, 1 sinks")
    if not pinged(6):
        fail("no pings")
    print("ok - pings")

    child.send_signal(signal.SIGHUP)
    said = hear()
    expect("SIGHUP", said, "RELOADING")
    if abs(int(said["MONOTONIC_USEC"]) / 1e6 - time.monotonic()) > 100:
        fail(f"MONOTONIC_USEC={said['MONOTONIC_USEC']} is not now")
    expect("a valid configuration", hear(), "READY", "reloaded: 0 probes, 1 sinks")

    write("{ \"intervall\": \"1s\" }")
    child.send_signal(signal.SIGHUP)
    expect("SIGHUP", hear(), "RELOADING")
    expect("refused", hear(), "READY", "reload refused", f"{conf}:1: ", 'unknown key "intervall"')
    if not pinged(2):
        fail("no pings after a reload")

    child.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
    pings(0.2)  # reads the pings sent before the stop
    if n := pings(2):
        fail(f"{n} pings of a process that is stopped")
    child.send_signal(signal.SIGCONT)
    if not pinged(2):
        fail("no pings after SIGCONT")
    print("ok - a loop that hangs does not ping")
    end(0)

    # skepd is ready although a probe fails, and the status names the probe; it is not ready if a required probe fails.
    for required in "false", "true":
        probe = f'{{ "plugin": "fake", "script": "{folder}/script", "fail_while": "{conf}", "required": {required} }}'
        write(f'{{ "plugin_dirs": [ "{test_plugins}" ], "probes": [ {probe} ], "control": {{ "socket": false }} }}')
        with open(f"{folder}/script", "w") as f:
            f.write("0 event text=hello\n")
        start()
        if required == "false":
            expect("a probe that does not start", hear(), "READY", "1 probes", "1 of them failed: fake")
            end(0)
            continue
        said = hear(5)
        if said and "READY" in said:
            fail(f"ready without a probe that is required: {said}")
        if child.wait(120) == 0:
            fail("exit 0 without a probe that is required")
        print("ok - not ready without a probe that is required")
finally:
    if child and child.poll() is None:
        child.kill()
        child.wait()
