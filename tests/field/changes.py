#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""changes.py - what skepd reads at its start and the machine changes later.

Environment: SKEP, SKEPD, SKEP_PLUGIN_DIRS. Argument: a folder to work in. Prints a line per check.
"""
import json
import os
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing
from testing import check

SKEP = os.environ["SKEP"]
WORK = sys.argv[1]
CONF, LOG, OUT = WORK + "/conf", WORK + "/log", WORK + "/out.jsonl"


def ended(name):
    """The record of the run of that name, which skepd wrote at its end."""
    def found():
        return [r for r in testing.records(OUT, "run") if r["name"] == name and r["state"] != "running"]
    return testing.until(found, "the record of the run " + name)[0]


def host_name():
    """cloud-init and DHCP name a host minutes after its boot. skepd has a UTS namespace, so that this host keeps its name."""
    json.dump({"interval": "200ms", "control": {"socket": WORK + "/ctl"}, "probes": [{"plugin": "proc", "required": True}],
               "sinks": [{"plugin": "file", "path": OUT}, {"plugin": "lake", "min_free": "0", "path": WORK + "/lake", "max_bytes": "64MiB"}]}, open(CONF, "w"))
    os.environ["SKEP_SOCKET"] = WORK + "/ctl"
    daemon = testing.start(CONF, LOG, within=["unshare", "--uts"])
    run = [SKEP, "run", "--no-report", "--no-live", "--lake", WORK + "/lake"]  # the skepd of that lake records
    subprocess.run([*run, "--name", "before", "--", "true"], check=True)
    subprocess.run(["nsenter", "-t", str(daemon.pid), "--uts", "hostname", "renamed-later"], check=True)
    testing.wait_for(daemon, LOG, 'this host is called "renamed-later" from now on')
    subprocess.run([*run, "--name", "after", "--", "true"], check=True)
    names = [ended(name)["host"] for name in ("before", "after")]
    check("a host gets another name: runs that end later have it", names == [socket.gethostname(), "renamed-later"], names)
    testing.stop(daemon, LOG)


host_name()
sys.exit(testing.failures != 0)
