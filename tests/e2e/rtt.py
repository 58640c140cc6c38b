# SPDX-License-Identifier: Apache-2.0
"""rtt.py CGROUP DELAYED NEAR FAR RECORDS - the programs of rtt.sh, its attachments, and the comparison.

    serve ADDRESS PORTS            accepts on so many ports, one connection at a time, and sends back what it gets
    talk ADDRESS PORT... -- N...   connects to each; so many round trips on each for each step, then closes
"""
import os, socket, struct, sys, time

sys.dont_write_bytecode = True
import attached
from attached import Attached, Worker, check, until_attached, until_known

ME = [sys.executable, os.path.abspath(__file__)]


def family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def info(sock):
    """Of struct tcp_info: the smoothed and the smallest round trip time in us."""
    raw = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return struct.unpack_from("I", raw, 68)[0], struct.unpack_from("I", raw, 148)[0]


def serve(address, ports):
    listening = []
    for _ in range(ports):
        s = socket.socket(family(address))
        s.bind((address, 0))
        s.listen(1)
        listening.append(s)
    print("ready", *(s.getsockname()[1] for s in listening), flush=True)
    for s in listening:
        c = s.accept()[0]
        c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := c.recv(1):
            c.send(data)
        c.close()
    sys.stdin.readline()


def talk(address, ports, rounds):
    print("ready", flush=True)
    c = None
    for port in ports:
        for n in rounds:
            sys.stdin.readline()
            if not c:
                c = socket.socket(family(address))
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                c.connect((address, port))
            for _ in range(n):
                c.send(b"x")
                c.recv(1)
            srtt, least = info(c)
            if n == rounds[-1]:
                c.close()
                c = None
                time.sleep(0.1)  # the other side's FIN
            print("done", srtt, least, flush=True)
    sys.stdin.readline()


def pair(address, ports=1, rounds=(200,), cgroup=None, netns=None):
    there = Worker((["ip", "netns", "exec", netns[1]] if netns else []) + ME + ["serve", address, str(ports)])
    argv = ME + ["talk", address] + there.ready[1:] + ["--"] + [str(n) for n in rounds]
    here = Worker((["ip", "netns", "exec", netns[0]] if netns else []) + argv, cgroup)
    return here, there


def rtt(*scope):
    return Attached("rtt", "net.rtt", *scope)


def count(records, peers, direction=None, port=None):
    return sum(r["count"] for r in records if r["peers"] == peers and direction in (None, r["direction"])
               and port in (None, r["service_port"]))


def adds_up(records):
    return all(r["rtt"]["zero_count"] + sum(r["rtt"]["counts"]) == r["count"] and r["rtt"]["sum"] == r["sum_ns"] for r in records)


missing = 0


def exactly(what, got, expected):
    """A segment that the kernel sends twice has no round trip time: on a host that stands still at times a few may be
    missing."""
    global missing
    check(expected * 0.95 <= got <= expected, f"{what}: {got} of {expected}")
    missing += expected - got


def loopback(address, cgroup):
    here, there = pair(address, cgroup=cgroup or None)
    until_known(here, there)
    ours, theirs, host = rtt("--pid", str(here.pid)), rtt("--pid", str(there.pid)), rtt()
    group = rtt("--cgroup", str(os.stat(cgroup).st_ino)) if cgroup else None
    until_attached(4 if cgroup else 3)
    here.step()
    time.sleep(0.7)  # an interval: records before and at the detach add up
    port = int(there.ready[1])
    # the connecting side: SYN and FIN, and each round; the other side: each round and FIN
    records = ours.records()
    exactly(f"{address}: who connected", count(records, "one", "out", port), 202)
    check(count(records, "all") == count(records, "one") and adds_up(records), f"{address}: all are the sum of each, and histograms add up")
    check(all(int(r["upid"].split("-")[1]) == here.pid for r in records), f"{address}: its records are the process's")
    check(all(r["network.peer.address"] == (address if r["peers"] == "one" else "") for r in records), f"{address}: the peer's address")
    exactly(f"{address}: who accepted", count(theirs.records(), "one", "in", port), 201)
    if group:
        exactly(f"{address}: a cgroup", count(group.records(), "one", "out", port), 202)
    records = host.records()
    exactly(f"{address}: the host, out", count(records, "one", "out", port), 202)
    exactly(f"{address}: the host, in", count(records, "one", "in", port), 201)
    here.end(), there.end()


def before(cgroup):
    """A connection that exists before the attach: counts from then on."""
    here, there = pair("127.0.0.1", rounds=(100, 50), cgroup=cgroup or None)
    here.step()
    until_known(here, there)
    ours = rtt("--pid", str(here.pid))
    group = rtt("--cgroup", str(os.stat(cgroup).st_ino)) if cgroup else None
    until_attached(2 if cgroup else 1)
    here.step()
    exactly("a connection from before", count(ours.records(), "all"), 51)
    if group:
        exactly("a connection from before, by cgroup", count(group.records(), "all"), 51)
    here.end(), there.end()


def many():
    """More peers than rows: the others share one row."""
    here, there = pair("127.0.0.1", ports=30, rounds=(10,))
    until_known(here, there)
    ours = rtt("--pid", str(here.pid))
    until_attached(1)
    for _ in range(30):
        here.step()
    records = ours.records()
    ones = {r["service_port"] for r in records if r["peers"] == "one"}
    exactly("30 peers, 16 rows: all", count(records, "all"), 30 * 12)
    check(len(ones) == 16 and count(records, "others") > 0, f"30 peers: {len(ones)} have a row")
    check(count(records, "one") + count(records, "others") == count(records, "all"), "30 peers: none is missing")
    here.end(), there.end()


def delayed(near, far):
    """10 ms one way: no sample is below, and all of them took no longer than the process."""
    here, there = pair("10.91.8.2", rounds=(100,), netns=(near, far))
    until_known(here, there)
    ours = rtt("--pid", str(here.pid))
    until_attached(1)
    began = time.monotonic()
    _, least = map(int, here.step())
    took = time.monotonic() - began
    records = [r for r in ours.records() if r["peers"] == "all"]
    n, total = sum(r["count"] for r in records), sum(r["sum_ns"] for r in records) / 1e3
    exactly("10 ms away", n, 102)
    # bucket k of scale 2 ends at 2^((k + 1) / 4) ns: the buckets that end below 10 ms
    below = sum(c for r in records for k, c in enumerate(r["rtt"]["counts"]) if 2 ** ((r["rtt"]["offset"] + k + 1) / 4) < 10e6)
    check(below == 0, f"10 ms away: {below} samples below")
    # one round trip after the other
    check(least >= 10000 and n * least * 0.99 <= total <= took * 1e6,
          f"10 ms away: {n} samples of {total:.0f} us in {took * 1e6:.0f} us; the kernel's least {least} us")
    here.end(), there.end()


def main(cgroup, with_delay, near, far, out):
    for address in "127.0.0.1", "::1":
        loopback(address, cgroup)
    before(cgroup)
    many()
    if with_delay == "yes":
        delayed(near, far)
    print(f"# {missing} missing in all, {attached.lost(out, 'net.rtt')} reported as lost")
    return attached.bad > 0


if sys.argv[1] == "serve":
    serve(sys.argv[2], int(sys.argv[3]))
elif sys.argv[1] == "talk":
    at = sys.argv.index("--")
    talk(sys.argv[2], [int(p) for p in sys.argv[3:at]], [int(n) for n in sys.argv[at + 1:]])
else:
    sys.exit(main(*sys.argv[1:6]))
