#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""net_compare.py RECORDS [--owner] [--loopback TRUTH] [--outside TRUTH]: what net_drive's processes
counted themselves against the probe's records, to the byte.

--loopback, --outside: what net_drive printed; all of it is, or none of it is loopback's
--owner: without hooks on calls: only TCP, and a connection that two processes use within an interval,
  one after the other or both, is the one's that closes it

A kernel that preempts BPF programs skips them for others meanwhile, and counts that: there a
process may have less, if as much is said to be lost."""
import argparse
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)) + "/../e2e")
import testing

arguments = argparse.ArgumentParser()
arguments.add_argument("records")
arguments.add_argument("--owner", action="store_true")
arguments.add_argument("--loopback")
arguments.add_argument("--outside")
arguments = arguments.parse_args()
facets = ["tcp_tx_bytes", "tcp_rx_bytes", "udp_tx_bytes", "udp_rx_bytes", "unix_tx_bytes", "unix_rx_bytes", "connects", "accepts",
          "connect_failures", "loopback_tx_bytes", "loopback_rx_bytes", "rx_bytes", "tx_bytes"]
processes, connections, peers, states, other, lost = {}, {}, {}, {}, 0, 0
preemptible = testing.preempts()


def add(to, pid, key, n):
    to.setdefault(pid, {})
    to[pid][key] = to[pid].get(key, 0) + n


for line in open(arguments.records):
    r = json.loads(line)
    pid = int(r["upid"].split("-")[1]) if r.get("upid") else 0
    if r["stream"] == "process.exit":
        for f in facets:
            add(processes, pid, f, r["net." + f])
    elif r["stream"] == "loss" and r["where"] == "kernel" and r["loss.stream"] in ("net.connection", "net"):
        lost += r["count"]
    elif r["stream"] in ("net.connection", "net.peer"):
        to = connections if r["stream"] == "net.connection" else peers
        add(to, pid, "conn_tx", r["tx_bytes"])
        add(to, pid, "conn_rx", r["rx_bytes"])
        if r["stream"] == "net.connection":
            states.setdefault(pid, []).append(r["state"] + (":" + r["error.type"] if r["error.type"] else ""))
        else:
            add(to, pid, "n", r["connections"])
            add(to, pid, "failures", r["connect_failures"])
            other += r["other"]


def judge(truth, where):
    """prints a line for each process; returns how many there are and how many differ"""
    bad = 0
    table = []
    wants = []
    for line in open(truth):
        word = line.split()
        if word[0] == "S":
            print("skipped:", line.strip())
            continue
        wants.append((word[1], word[2], int(word[3]), {k: int(v) for k, v in (w.split("=") for w in word[4:])}))
    if arguments.owner:
        by_role = {(scenario, role): want for scenario, role, pid, want in wants}
        for scenario, user, closer in ("shared", "child", "client"), ("handed", "client", "child"):
            for key, n in by_role.get((scenario, user), {}).items():
                by_role[scenario, closer][key] += n
                by_role[scenario, user][key] = 0
        for role in ("client", "child", "last") if ("relay", "client") in by_role else ():
            for way in ("tx", "rx"):
                by_role["relay", role]["conn_" + way] = by_role["relay", role][f"tcp_{way}_bytes"]
        for scenario, role, pid, want in wants:
            for key in facets[2:6]:
                want[key] = 0
    for scenario, role, pid, want in wants:
        got = processes.get(pid, {})
        wrong, less, nearly = [], [], []

        def same(what, wanted, is_):
            # Some hosts' kernels skip a program now and then, as they do for frees (plugins/proc/README.md): of the
            # 5,000 connections of the storm one was missing, or counted for its neighbour, on a quiet host as well.
            if wanted != is_ and scenario == "storm" and abs(wanted - is_) * 2500 <= wanted:
                nearly.append("%s %d, not %d" % (what, is_, wanted))
            elif wanted != is_:
                (less if is_ < wanted else wrong).append("%s %d, not %d" % (what, is_, wanted))

        if arguments.owner and scenario == "mptcp":
            continue
        for key in facets[:9]:
            same(key, want[key], got.get(key, 0))
        tx, rx = want["tcp_tx_bytes"] + want["udp_tx_bytes"], want["tcp_rx_bytes"] + want["udp_rx_bytes"]
        same("tx_bytes", tx, got.get("tx_bytes", 0))
        same("rx_bytes", rx, got.get("rx_bytes", 0))
        # a datagram socket without a connection has no peer
        if not (scenario.startswith("udp") and role == "server" and where != "loopback"):
            for way, n in (("tx", tx), ("rx", rx)):
                if where == "loopback":
                    same("loopback_" + way, n, got.get("loopback_%s_bytes" % way, 0))
                else:
                    same("loopback_" + way, 0, got.get("loopback_%s_bytes" % way, 0))
        for way in ("conn_tx", "conn_rx"):
            same("net.peer " + way, want[way], peers.get(pid, {}).get(way, 0))
            if scenario != "storm":
                same("net.connection " + way, want[way], connections.get(pid, {}).get(way, 0))
        if not scenario.startswith("mptcp"):
            established = want["connects"] + want["accepts"]
            same("net.peer connections", established, peers.get(pid, {}).get("n", 0))
            same("net.peer failures", want["connect_failures"], peers.get(pid, {}).get("failures", 0))
        seen = states.get(pid, [])
        if scenario == "refused" and seen != ["failed:ECONNREFUSED"]:
            wrong.append("states %s" % seen)
        if scenario == "timeout" and seen != ["failed:ETIMEDOUT"]:
            wrong.append("states %s" % seen)
        if scenario == "aborted" and seen != ["failed:aborted"]:
            wrong.append("states %s" % seen)
        if scenario == "rst" and role == "server" and seen != ["closed:ECONNRESET"]:
            wrong.append("states %s" % seen)
        if scenario == "long" and (seen.count("open") < 2 or seen[-1] != "closed"):
            wrong.append("states %s" % seen)
        if less and not wrong and preemptible and lost:
            table.append((scenario, role, "less, and said so: " + "; ".join(less)))
            continue
        wrong += less
        table.append((("FAIL - " if wrong else "") + scenario, role, "; ".join(wrong) or
                      ("two of 5,000 connections at most: " + "; ".join(nearly) if nearly else "exact")))
        bad += bool(wrong)
    for row in table:
        print("%-16s %-8s %s" % row)
    return len(table), bad


total = bad = 0
for where in "loopback", "outside":
    if getattr(arguments, where):
        print("# " + where)
        n, differ = judge(getattr(arguments, where), where)
        if not n:
            print("FAIL - no truth")
        total += n
        bad += differ or not n
if other:
    print("FAIL - overflow rows: %d" % other)
    bad += 1
if lost:
    print("calls and changes of state reported as lost: %d" % lost)
    bad += not preemptible
print("%d of %d processes differ" % (bad, total) if bad else "ok - %d processes to the byte" % total)
sys.exit(1 if bad else 0)
