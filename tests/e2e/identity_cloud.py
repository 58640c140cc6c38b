#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the metadata services, and skepd with the probe "identity" that asks it. See identity_cloud.sh."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import testing
from testing import SKEPD, check

TOKEN = "AQAEAFake-Token_123=="

AWS = {
    "/latest/meta-data/instance-id": "i-0123456789abcdef0",
    "/latest/meta-data/instance-type": "m7i.4xlarge",
    "/latest/meta-data/placement/region": "eu-central-1",
    "/latest/meta-data/placement/availability-zone": "eu-central-1b",
    "/latest/meta-data/instance-life-cycle": "spot",
}
GCP = {
    "/computeMetadata/v1/instance/id": "4520031799277581759",
    "/computeMetadata/v1/instance/machine-type": "projects/123/machineTypes/n2-standard-16",
    "/computeMetadata/v1/instance/zone": "projects/123/zones/europe-west1-b",
    "/computeMetadata/v1/instance/scheduling/preemptible": "FALSE",
    "/computeMetadata/v1/project/project-id": "genome-lab",
}
AZURE_QUERY = "?api-version=2021-02-01&format=text"
AZURE = {
    "/metadata/instance/compute/vmId" + AZURE_QUERY: "13f56399-bd52-4150-9748-7190aae1ff21",
    "/metadata/instance/compute/vmSize" + AZURE_QUERY: "Standard_D16s_v5",
    "/metadata/instance/compute/location" + AZURE_QUERY: "westeurope",
    "/metadata/instance/compute/zone" + AZURE_QUERY: "2",
    "/metadata/instance/compute/subscriptionId" + AZURE_QUERY: "8d10da13-8125-4ba9-a717-bf7490507b3d",
    "/metadata/instance/compute/priority" + AZURE_QUERY: "Regular",
}


def answer(status, body, *headers):
    lines = ["HTTP/1.1 %d x" % status, "Content-Length: %d" % len(body), *headers, "", body]
    return "\r\n".join(lines).encode()


def as_aws(method, path, headers):
    if method == "PUT" and path == "/latest/api/token":
        return answer(200, TOKEN) if "x-aws-ec2-metadata-token-ttl-seconds" in headers else answer(400, "")
    if method != "GET" or headers.get("x-aws-ec2-metadata-token") != TOKEN:
        return answer(401, "")
    return answer(200, AWS[path]) if path in AWS else answer(404, "no")


def as_old_aws(method, path, headers):
    """A service without one of the values: the probe must not take the text of its error for the value."""
    return answer(404, "missing") if path.endswith("/region") else as_aws(method, path, headers)


def as_gcp(method, path, headers):
    if headers.get("metadata-flavor") != "Google":
        return answer(403, "", "Metadata-Flavor: Google")
    if method == "GET" and path in GCP:
        return answer(200, GCP[path], "Metadata-Flavor: Google")
    return answer(404, "no", "Metadata-Flavor: Google")


def as_azure(method, path, headers):
    if headers.get("metadata") != "true":
        return answer(400, "")
    if path in AZURE:  # chunked, as a proxy would
        body = AZURE[path]
        return ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)).encode()
    return answer(404, "")


class Server:
    """Serves one request for each connection, in a thread; `how` sends the answer, or does something else."""

    def __init__(self, how):
        self.how, self.requests, self.open = how, [], []
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            self.open.append(s)
            threading.Thread(target=self.one, args=(s,), daemon=True).start()

    def one(self, s):
        try:
            data = b""
            while b"\r\n\r\n" not in data:
                more = s.recv(4096)
                if not more:
                    return
                data += more
            lines = data.decode().split("\r\n")
            method, path, _ = lines[0].split(" ")
            headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:] if ":" in line)}
            self.requests.append((method, path))
            got = self.how(method, path, headers) if self.how.__code__.co_argcount == 3 else self.how(s, self)
            if got is not None:
                s.sendall(got)
                s.close()
        except OSError:
            pass

    def close(self):
        self.listener.close()
        for s in self.open:
            s.close()


def hang(_s, _server):
    return None


def drip(s, _server):
    s.sendall(b"HTTP/1.1 200 OK\r\nX: ")
    for _ in range(100):
        s.sendall(b"y")
        time.sleep(0.1)


def huge(s, _server):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\n")
    for _ in range(100):
        s.sendall(b"A" * 1000000)


def redirect(_s, server):
    return answer(302, "", "Location: http://127.0.0.1:%d/stolen" % server.port)


def tree():
    """Makes a root folder with files, so that nothing depends on the machine of the test."""
    root = tempfile.mkdtemp(prefix="skep-cloud.")
    files = {
        "proc/stat": "cpu  1 0 1 1000 1 0 0 0 0 0\ncpu0 1 0 1 1000 1 0 0 0 0 0\nintr 1\nctxt 1\nprocesses 1\nprocs_running 1\nprocs_blocked 0\n",
        "proc/loadavg": "0.00 0.00 0.00 1/2 3\n",
        "proc/sys/kernel/hostname": "node7\n",
        "etc/machine-id": "3d1219c7c4c5404aaa1f6d2a48adfda4\n",
    }
    for path, text in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as f:
            f.write(text)
    return root


ROOT = tree()


def run(cloud, port, done, vendor=None, product=None):
    """Runs skepd until done(records so far) is true. Returns its identity records, its number of samples, the
    seconds until it stopped, and its messages."""
    work = tempfile.mkdtemp(prefix="skep-cloud.")
    dmi = os.path.join(ROOT, "sys/class/dmi/id")
    shutil.rmtree(dmi, ignore_errors=True)
    if vendor:
        os.makedirs(dmi)
        for name, text in (("sys_vendor", vendor), ("product_name", product)):
            with open(os.path.join(dmi, name), "w") as f:
                f.write(text + "\n")
    config = {
        "interval": "100ms",
        "spool": {"path": work + "/spool.db"},
        "control": {"socket": work + "/skepd.sock"},
        "probes": [
            {"plugin": "identity", "required": True, "root": ROOT, "cloud": cloud, "cloud_endpoint": "127.0.0.1:%d" % port},
            {"plugin": "host", "required": True, "root": ROOT},
        ],
        "sinks": [{"plugin": "file", "path": work + "/out.jsonl"}],
    }
    with open(work + "/conf", "w") as f:
        json.dump(config, f)
    out = work + "/out.jsonl"
    with open(work + "/err", "w") as err:
        p = subprocess.Popen([SKEPD, "-c", work + "/conf"], stderr=err)
        testing.until(lambda: p.poll() is not None or done(testing.records(out)))
        p.send_signal(signal.SIGTERM)
        try:
            status = p.wait(testing.PATIENCE)
        except subprocess.TimeoutExpired:
            p.kill()
            status = "killed"
    with open(work + "/err") as f:
        said = f.read()
    records = testing.records(out)
    if status != 0:
        print("# skepd: status %s\n%s" % (status, said))
    shutil.rmtree(work)
    identity = [r for r in records if r["stream"] == "host.identity"]
    samples = sum(r["stream"] == "host.load" for r in records)
    return identity, samples, status == 0


def known(what, how, cloud, wanted, last, **dmi):
    server = Server(how)

    def of(records):
        newest = [{}] + [r for r in records if r["stream"] == "host.identity"]
        return {k: newest[-1].get(k) for k in wanted}

    identity, _, _ = run(cloud, server.port, lambda records: of(records) == wanted and ("GET", last) in server.requests, **dmi)
    got = of(identity)
    check(what, got == wanted, "wanted %s, got %s" % (wanted, got))
    allowed = set(AWS) | set(GCP) | set(AZURE) | {"/latest/api/token"}
    beyond = {path for _, path in server.requests} - allowed
    check(what + ": nothing else is asked for", server.requests and not beyond, beyond)
    server.close()


def unknown(what, how, cloud="aws", n=5, port=None):
    server = Server(how)
    identity, samples, ended = run(cloud, port or server.port, lambda records: sum(r["stream"] == "host.load" for r in records) >= n)
    check(what + ": no cloud", identity and all(r["cloud.provider"] == "" for r in identity), identity)
    check(what + ": the machine's own identity", identity and identity[-1]["host.id"] == "f61a9894479d4acabed4afb8f1c3f47a", identity)
    check(what + ": samples go on, and skepd stops", samples >= n and ended, samples)
    server.close()
    return server


IS_AWS = {"cloud.provider": "aws", "cloud.platform": "aws_ec2", "cloud.region": "eu-central-1", "cloud.availability_zone": "eu-central-1b",
          "host.id": "i-0123456789abcdef0", "host.type": "m7i.4xlarge", "cloud.instance.lifecycle": "spot",
          "host.machine_id": "f61a9894479d4acabed4afb8f1c3f47a"}
IS_GCP = {"cloud.provider": "gcp", "cloud.platform": "gcp_compute_engine", "cloud.region": "europe-west1",
          "cloud.availability_zone": "europe-west1-b", "host.id": "4520031799277581759", "host.type": "n2-standard-16",
          "cloud.account.id": "genome-lab", "cloud.instance.lifecycle": "on-demand"}
IS_AZURE = {"cloud.provider": "azure", "cloud.platform": "azure.vm", "cloud.region": "westeurope", "cloud.availability_zone": "2",
            "host.id": "13f56399-bd52-4150-9748-7190aae1ff21", "host.type": "Standard_D16s_v5",
            "cloud.account.id": "8d10da13-8125-4ba9-a717-bf7490507b3d", "cloud.instance.lifecycle": "on-demand"}

LAST_AWS, LAST_GCP, LAST_AZURE = list(AWS)[-1], list(GCP)[-1], list(AZURE)[-1]

try:
    known("aws", as_aws, "aws", IS_AWS, LAST_AWS)
    known("aws, a value is missing", as_old_aws, "aws", dict(IS_AWS, **{"cloud.region": ""}), LAST_AWS)
    known("gcp", as_gcp, "gcp", IS_GCP, LAST_GCP)
    known("azure", as_azure, "azure", IS_AZURE, LAST_AZURE)
    known("auto, by trying: aws", as_aws, "auto", IS_AWS, LAST_AWS)
    known("auto, by trying: gcp", as_gcp, "auto", IS_GCP, LAST_GCP)
    known("auto, by trying: azure", as_azure, "auto", IS_AZURE, LAST_AZURE)
    known("auto, by the firmware", as_gcp, "auto", IS_GCP, LAST_GCP, vendor="Google", product="Google Compute Engine")
    unknown("it hangs", hang, n=14)
    unknown("it drips", drip, n=14)
    unknown("it hangs, auto", hang, "auto", n=14)
    unknown("nonsense", lambda s, server: b"\x00\x01\x02 nonsense\r\n\r\n")
    unknown("nothing", lambda s, server: b"")
    unknown("404", lambda method, path, headers: answer(404, "not here"), "auto")
    unknown("a refusal that looks like a value", lambda method, path, headers: answer(403, "i-0123456789abcdef0"))
    unknown("500", lambda method, path, headers: answer(500, ""))
    unknown("a web page", lambda method, path, headers: answer(200, "<html>\n<body>login</body></html>"), "azure")
    unknown("gcp without its header", lambda method, path, headers: answer(200, "123"), "gcp")
    unknown("huge", huge)
    moved = unknown("a redirect", redirect)
    check("a redirect is not followed", all(path != "/stolen" for _, path in moved.requests), moved.requests)
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))  # bound, not listening: refused
    unknown("refused", hang, "auto", port=closed.getsockname()[1])
    quiet = Server(as_aws)
    run("off", quiet.port, lambda records: sum(r["stream"] == "host.load" for r in records) >= 4)
    check("off: the probe sends no request", not quiet.requests, quiet.requests)
    quiet.close()
finally:
    shutil.rmtree(ROOT, ignore_errors=True)
sys.exit(testing.failures > 0)
