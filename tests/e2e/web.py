#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""web.py - what skep web refuses, and that slow and many clients stay within bounds: no token, other origins and hosts,
paths out of its answers, writes, heads without end, clients that never finish, 10,000 requests, a browser that leaves;
and that a stream sends an answer when it is another one, and only then.
Environment: SKEP, abs_builddir."""
import ctypes
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time

SKEP, BUILD = os.environ["SKEP"], os.environ["abs_builddir"]
FILL = os.path.join(BUILD, "tests/bench/fill_lake")
FILL_FLEET = os.path.join(BUILD, "tests/bench/fill_fleet")
REQUESTS = int(os.environ.get("WEB_REQUESTS", "10000"))
PATIENCE = 600 * int(os.environ.get("SKEP_TEST_PATIENCE", "1"))  # ends a hang
RSS_LIMIT_KIB = 40 * 1024
failures = checks = 0


def check(ok, what):
    global failures, checks
    checks += 1
    if not ok:
        failures += 1
        print("FAIL:", what, flush=True)


class Server:
    def __init__(self, lake, *options, **popen):
        self.errors = tempfile.TemporaryFile()
        named = ["--lake", lake] if lake else []
        self.process = subprocess.Popen([SKEP, "web", *named, *options], stderr=self.errors,
                                        **{"stdout": subprocess.PIPE, **popen})
        self.url = self.read_address(popen.get("stdout"))
        if not self.url:
            self.errors.seek(0)
            sys.exit("skep web does not start: " + self.errors.read().decode())
        where, rest = self.url.split("/?token=")
        self.token = rest.split("#")[0]
        self.host = where.split("://")[1]
        self.address = (self.host.rsplit(":", 1)[0], int(self.host.rsplit(":", 1)[1]))

    def read_address(self, output):
        if output is None:
            return self.process.stdout.readline().decode().strip()
        eventually("skep web writes its address", lambda: os.fstat(output.fileno()).st_size or self.process.poll() is not None)
        output.seek(0)
        return output.readline().decode().strip()

    def connect(self):
        s = socket.create_connection(self.address, timeout=PATIENCE)
        return s

    def raw(self, data, wait=60):
        """The whole answer to these bytes; b"" if the server closes."""
        got = b""
        with self.connect() as s:
            s.settimeout(wait)
            try:
                s.sendall(data)
                while piece := s.recv(65536):
                    got += piece
            except (ConnectionError, socket.timeout):
                pass
        return got

    def ask(self, path, method="GET", token=True, host=None, **headers):
        """(status, headers, body)"""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or self.host}"]
        if token:
            lines.append(f"Authorization: Bearer {self.token}")
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in headers.items()]
        answer = self.raw("\r\n".join(lines + ["", ""]).encode())
        head, _, body = answer.partition(b"\r\n\r\n")
        status = int(head.split()[1]) if head else 0
        pairs = [line.split(": ", 1) for line in head.decode().split("\r\n")[1:]]
        return status, {k.lower(): v for k, v in pairs}, body

    def stream(self, path, **headers):
        """Yields (event, id, data) of a stream of server-sent events, and ("", "", "") for a sign of life."""
        connection = http.client.HTTPConnection(*self.address, timeout=PATIENCE)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}", **headers})
        answer = connection.getresponse()
        check(answer.status == 200 and answer.headers["content-type"] == "text/event-stream", f"{path}: {answer.status}")
        event = {}
        while line := answer.readline().decode().rstrip("\n"):
            while line:
                key, _, value = line.partition(":")
                event[key] = value.strip()
                line = answer.readline().decode().rstrip("\n")
            if "data" in event or "" in event:
                yield event.get("event", "answer") if "data" in event else "", event.get("id", ""), event.get("data", "")
            event = {}

    def rss_kib(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))

    def children(self):
        """Pids: a thread for each connection starts its own."""
        pids = []
        for path in glob.glob(f"/proc/{self.process.pid}/task/*/children"):
            try:
                with open(path) as f:
                    pids += map(int, f.read().split())
            except (FileNotFoundError, ProcessLookupError):
                pass  # the thread has ended
        return pids

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(timeout=PATIENCE)
        check(status == 0, f"skep web ended with {status}")


def eventually(what, condition):
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        if condition():
            return
        time.sleep(0.05)
    check(False, what)


def tokens(w):
    for path in ("/", "/app.js", "/api/runs", "/api/run/last", "/etc/passwd"):
        check(w.ask(path, token=False)[0] == 403, f"{path} without a token")
    wrong = ("0" if w.token[0] != "0" else "1") + w.token[1:]
    check(w.ask("/", token=False, Authorization=f"Bearer {wrong}")[0] == 403, "a wrong token")
    check(w.ask(f"/?token={wrong}", token=False)[0] == 403, "a wrong token in the address")
    check(w.ask(f"/api/runs?token={w.token}", token=False)[0] == 403, "only the page takes the token from the address")
    status, headers, _ = w.ask(f"/?token={w.token}", token=False)
    cookie, folder = headers.get("set-cookie", ""), headers.get("location", "")
    check(status == 303 and re.fullmatch("/[0-9a-f]{32}/", folder), f"the address leads to the folder of the pages: {status} {folder}")
    check(w.token not in folder and "HttpOnly" in cookie and "SameSite=" in cookie, f"the cookie: {cookie}")
    # A browser sends a cookie to all ports of a host: its path is what other servers do not know.
    check(f"; Path={folder};" in cookie, f"the path of the cookie: {cookie}")
    for query in (f"token={w.token}&to=//evil.example", f"to=//evil.example&token={w.token}"):
        check(w.ask(f"/?{query}", token=False)[1].get("location") == folder, "a request chooses where the redirect leads")
    has = {"token": False, "Cookie": cookie.split(";")[0]}
    for path in ("", "app.js", "app.css", "api/runs"):
        check(w.ask(folder + path, **has)[0] == 200, f"the cookie counts for {path} below the folder")
        check(w.ask(folder + path)[0] == 200, f"Bearer counts for {path} below the folder")
        check(w.ask("/" + path, **has)[0] == 403, f"the cookie alone counts for /{path}, outside of the folder")
        status, headers, _ = w.ask(folder + path, token=False)
        check(status == 403 and "set-cookie" not in headers, f"{path} below the folder without a token: {status}")
    other = "/" + ("0" if folder[1] != "0" else "1") + folder[2:]
    for path in (other, other + "api/runs", folder[:-1], "/" + folder):
        status, headers, _ = w.ask(path, **has)
        check(status == 403 and "set-cookie" not in headers, f"{path} with the cookie: {status}")
    status, headers, _ = w.ask(f"{other}?token={w.token}", token=False)
    check(status == 403 and "set-cookie" not in headers, f"the token below another folder: {status}")
    for path in ("/", "/app.js", "/api/runs"):
        check("set-cookie" not in w.ask(path)[1], f"{path} gives a cookie to a program")
    check(w.token not in open(f"/proc/{w.process.pid}/cmdline").read(), "ps shows the token")


def policy(w):
    status, headers, _ = w.ask("/")
    csp = headers.get("content-security-policy", "")
    check(status == 200 and "default-src 'self'" in csp and "unsafe" not in csp and "frame-ancestors 'none'" in csp, f"the policy: {csp}")
    check(headers.get("x-content-type-options") == "nosniff" and headers.get("referrer-policy") == "no-referrer", "headers")
    check("access-control-allow-origin" not in headers, "other sites may read")


def others(w):
    check(w.ask("/api/runs", host="evil.example")[0] == 421, "DNS rebinding: a foreign host")
    check(w.ask("/api/runs", host=f"evil.example:{w.address[1]}")[0] == 421, "a foreign host with our port")
    check(w.raw(f"GET /api/runs HTTP/1.1\r\nAuthorization: Bearer {w.token}\r\n\r\n".encode()).split()[1:2] in ([b"421"], [b"400"]), "no host")
    check(w.ask("/api/runs", Origin="http://evil.example")[0] == 403, "another origin")
    check(w.ask("/api/runs", Origin=f"http://{w.address[0]}:1")[0] == 403, "another port of this host")
    check(w.ask("/api/runs", Sec_Fetch_Site="cross-site")[0] == 403, "a page of another site")
    check(w.ask("/api/runs", Sec_Fetch_Site="same-origin", Origin=f"http://{w.host}")[0] == 200, "our own page")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        check(w.ask("/api/runs", method=method)[0] in (400, 405, 501), f"{method} is refused")


def paths(w):
    secret = b"root:"
    for path in ("/../../../../etc/passwd", "/..%2f..%2f..%2fetc%2fpasswd", "/api/run/..%2f..%2f..%2fetc%2fpasswd",
                 "/api/run/%2fetc%2fpasswd", "//etc/passwd", "/app.js/../../etc/passwd", "/api/run/%00", "/api/run/a%0ab",
                 "/api/run/--lake=%2fetc", "/api/run/--html=x", "/api/runs?lake=/etc", "/api/runs?limit=1;id",
                 "/api/runs?since=%24(id)", "/api/diff?a=--json&b=--lake", "/api/status?x=1" + "&y=1" * 30):
        status, _, body = w.ask(path)
        check(status >= 400 and secret not in body, f"{path}: {status}")
    check(w.ask("/api/run/" + "a" * 5000)[0] in (400, 404, 414, 431, 0), "a long id")
    check(w.ask("/api/runs?limit=2")[0] == 200, "an answer, after all that")


def unpacked(data):
    """What a zstd frame has, as far as it has come; b"" if it is none."""
    zstd, room, source = ctypes.CDLL("libzstd.so.1"), ctypes.create_string_buffer(1 << 24), ctypes.create_string_buffer(data)
    zstd.ZSTD_createDStream.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(zstd.ZSTD_createDStream())
    out, given = ((ctypes.c_size_t * 3)(ctypes.addressof(b), n, 0) for b, n in ((room, len(room)), (source, len(data))))
    zstd.ZSTD_decompressStream(stream, out, given)
    zstd.ZSTD_freeDStream(stream)
    return room[:out[2]]


def packed(w):
    """A browser that takes zstd gets a stream by far fewer bytes, and each event as soon as it is there."""
    want = json.loads(w.ask("/api/run/large")[2])
    for accept, how in (("gzip, deflate, br, zstd", "zstd"), ("zstd, br", "zstd"), ("gzip, br", None), ("zstd;q=0", None)):
        connection, got, text = http.client.HTTPConnection(*w.address, timeout=PATIENCE), b"", b""
        connection.request("GET", "/api/run/large?live=3600", headers={"Authorization": f"Bearer {w.token}", "Accept-Encoding": accept})
        answer = connection.getresponse()
        check(answer.headers["content-encoding"] == how, f"{accept}: {answer.headers['content-encoding']}")
        while not re.search(rb"data: .*\n\n$", text) and (piece := answer.read1()):
            got += piece
            text = unpacked(got) if how else got
        check(json.loads(text.split(b"data: ")[-1]) == want, f"{accept}: {text[:200]}")
        check(not how or len(got) < len(text) / 8, f"{accept}: {len(got)} bytes of {len(text)}")
        connection.close()


def truths(w, lake):
    """The answers are those of the commands."""
    def skep(*line):
        return json.loads(subprocess.run([SKEP, *line, "--json", "--lake", lake], capture_output=True, check=True).stdout)
    check(json.loads(w.ask("/api/runs")[2]) == skep("runs", "--limit=200"), "runs")
    check(json.loads(w.ask("/api/run/large")[2]) == skep("show", "--columns", "large"), "a run")
    check(json.loads(w.ask("/api/tune/large")[2]) == skep("tune", "large"), "findings")
    runs = skep("runs")
    a, b = runs[1]["id"], runs[0]["id"]
    check(json.loads(w.ask(f"/api/diff?a={a}&b={b}")[2]) == skep("diff", a, b), "a comparison")
    status, headers, _ = w.ask("/api/runs")
    again = w.ask("/api/runs", If_None_Match=headers["etag"])
    check(status == 200 and again[0] == 304 and again[2] == b"", "an answer that the browser has is not sent again")
    status, _, body = w.ask("/api/run/nothing-like-it")
    check(status == 404 and "no run" in json.loads(body)["error"], f"no such run: {status} {body[:200]}")
    check(w.ask("/api/runs?state=strange")[0] == 400, "a wrong filter")


def heads(w):
    check(b" 200 " not in w.raw(b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\n\r\n"), "a path of 100,000 bytes")
    check(b" 200 " not in w.raw(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n"), "20,000 headers")
    check(b" 200 " not in w.raw(b"\x16\x03\x01\x02\x00\x01\x00" + bytes(range(256)) * 8), "TLS where none is")


def slow(w):
    """Clients that send a byte now and then: others are served, and they end."""
    clients = [w.connect() for _ in range(20)]
    for c in clients:
        c.sendall(b"GET / HTTP/1.1\r\nHost:")
    check(w.ask("/api/runs")[0] == 200, "an answer beside 20 slow clients")
    more = [w.connect() for _ in range(60)]
    closed = 0
    for c in more:
        c.settimeout(20)
        try:
            closed += c.recv(1) == b""
        except (ConnectionError, socket.timeout):
            closed += 1
    check(closed >= 40, f"further connections are closed: {closed}")
    for c in more:
        c.close()
    clients[0].settimeout(60)
    try:
        ended = clients[0].recv(4096)
    except ConnectionError:
        ended = b""
    check(b" 200 " not in ended, "a silent client ends after 10 s")
    for c in clients:
        c.close()
    eventually("an answer after them", lambda: w.ask("/api/runs?limit=1")[0] == 200)


def leaving(w):
    """A browser that leaves ends its question."""
    c = w.connect()
    c.sendall(f"GET /api/tune/large HTTP/1.1\r\nHost: {w.host}\r\nAuthorization: Bearer {w.token}\r\n\r\n".encode())
    c.shutdown(socket.SHUT_RDWR)
    c.close()
    eventually("the command of a browser that left", lambda: not w.children())


def change(lake, exit_code):
    """Another process writes to the lake."""
    file = max(glob.glob(os.path.join(lake, "*.db")))
    with sqlite3.connect(file) as db:
        changed = db.execute("UPDATE run SET exit_code = ? WHERE id = (SELECT id FROM run ORDER BY start_ns DESC LIMIT 1)", (exit_code,)).rowcount
    db.close()
    check(changed == 1, f"the test changes {changed} runs")


def streams(w, lake):
    path = "/api/runs?limit=1&live=1"
    plain, headers = w.ask("/api/runs?limit=1")[2], w.ask("/api/runs?limit=1")[1]
    events = w.stream(path)
    event, tag, data = next(events)
    check(event == "answer" and json.loads(data) == json.loads(plain), f"a stream begins with the answer: {event} {data[:100]}")
    check(tag == headers["etag"], "its id is the answer's tag")
    check(next(events)[0] == "", "an unchanged lake: signs of life alone")
    change(lake, 77)
    event, tag, data = next(e for e in events if e[0])
    check(event == "answer" and json.loads(data)[0]["exit_code"] == 77, f"a changed lake: the new answer: {data[:200]}")
    again = w.stream(path + "&had=" + tag.replace('"', "%22"))
    check(next(again)[0] == "", "a page that has the answer does not get it again")
    again = w.stream(path, **{"Last-Event-ID": tag})
    check(next(again)[0] == "", "nor a browser that begins a new stream")
    event, _, data = next(w.stream("/api/run/nothing-like-it?live=1"))
    check(event == "failure" and "no run" in data, f"no such run: {event} {data}")
    for wrong in ("", "0", "-1", "x", "2x", "3601", "99999999999999999999"):
        check(w.ask(f"/api/runs?live={wrong}")[0] == 400, f"live={wrong}")
    check(w.ask("/api/nothing?live=1")[0] == 404, "no such answer")
    check(w.ask("/api/runs?live=1&limit=x")[0] == 400, "a wrong value")
    check(w.ask("/api/runs?live=1", token=False)[0] == 403, "a stream without a token")
    return [events, again]  # skep web ends with these open


def many(w):
    """Requests from 8 clients at once: each has an answer or is closed, memory stays."""
    answers = {}
    lock = threading.Lock()

    def client(n):
        for i in range(n):
            path = "/api/runs?limit=1" if i % 50 == 0 else ("/app.css", "/", "/nothing")[i % 3]
            status = w.ask(path)[0]
            with lock:
                answers[status] = answers.get(status, 0) + 1
    threads = [threading.Thread(target=client, args=(REQUESTS // 8,)) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check(sum(answers.values()) == REQUESTS // 8 * 8, f"answers: {answers}")
    check(set(answers) <= {200, 404, 503, 0} and answers.get(0, 0) < REQUESTS / 50, f"statuses: {answers}")
    check(w.ask("/api/runs?limit=1")[0] == 200, "an answer after them")
    with open(f"/proc/{w.process.pid}/status") as f:
        threads = next(int(line.split()[1]) for line in f if line.startswith("Threads"))
    check(threads < 40, f"{threads} threads are left")
    check(len(os.listdir(f"/proc/{w.process.pid}/fd")) < 60, "descriptors are left")
    if not os.environ.get("SKEP_SANITIZE"):
        check(w.rss_kib() <= RSS_LIMIT_KIB, f"RSS {w.rss_kib()} KiB")


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def ends(process, what):
    try:
        status = process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        status = "it stays"
    check(status == 0, f"{what}: {status}")


class Silent:
    """A lake whose server never answers: a question stays until skep web ends it."""
    def __init__(self):
        self.server = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.lake = f"clickhouse://127.0.0.1:{self.server.getsockname()[1]}/skep"

    def asked(self, w, path="/api/runs"):
        c = w.connect()
        c.sendall(f"GET {path} HTTP/1.1\r\nHost: {w.host}\r\nAuthorization: Bearer {w.token}\r\n\r\n".encode())
        return c


def beside(part, *args):
    """A thread for a part that waits for time limits of skep web."""
    def run():
        try:
            part(*args)
        except Exception as error:
            check(False, f"{part.__name__}: {error!r}")
    t = threading.Thread(target=run)
    t.start()
    return t


def overload():
    """A stream that found no turn asks again soon, whatever the length of its pauses: live=3600 is more than PATIENCE."""
    silent = Silent()
    w = Server(silent.lake)
    held = [silent.asked(w) for _ in range(4)]
    eventually("four questions are being answered", lambda: len(w.children()) == 4)
    four = set(w.children())
    events = w.stream("/api/runs?live=3600")
    event, _, data = next(e for e in events if e[0])
    check(event == "failure" and "as many questions" in data, f"a fifth question: {event} {data}")
    for c in held:
        c.close()
    eventually("the stream asks again", lambda: set(w.children()) - four)
    events.close()
    w.end()
    silent.server.close()


def trickle(w, data):
    """Sends a byte a second until skep web ends the connection."""
    with w.connect() as c:
        c.settimeout(1)
        for i in range(PATIENCE):
            try:
                c.sendall(data[i:i + 1] or b"y")
                if c.recv(4096) == b"":
                    return
            except socket.timeout:
                pass
            except ConnectionError:
                return
    check(False, "a client without the token that sends a byte now and then stays")


def totals(lake):
    """Without the token a client ends after 150 s in all; a stream that began before it goes on."""
    w = Server(lake)
    events = w.stream("/api/runs?limit=1&live=1")
    check(next(events)[0] == "answer", "a stream begins")
    trickle(w, b"GET / HTTP/1.1\r\nX: ")
    change(lake, 78)
    try:
        event, _, data = next((e for e in events if e[0]), ("the end", "", ""))
    except (ConnectionError, http.client.HTTPException) as error:
        event, data = "cut", str(error)
    check(event == "answer" and json.loads(data)[0]["exit_code"] == 78, f"a stream of more than 150 s: {event} {data[:200]}")
    w.end()


def ending(lake):
    """skep web and its commands end with the user's terminal, or with the ssh that reads its output."""
    w = Server(lake)
    w.process.stdout.close()
    ends(w.process, "the reader of a pipe has left")
    ours, its = socket.socketpair()
    process = subprocess.Popen([SKEP, "web", "--lake", lake], stdout=its)
    its.close()
    check(ours.recv(4096).startswith(b"http"), "an address by a socket")
    ours.shutdown(socket.SHUT_WR)  # as sshd does when its client's input ends
    check(process.poll() is None, "the reader of a socket still reads")
    ours.close()
    ends(process, "the reader of a socket has left")
    w = Server(lake)
    w.process.send_signal(signal.SIGHUP)
    ends(w.process, "SIGHUP")
    with tempfile.TemporaryFile() as output:
        w = Server(lake, stdout=output, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        w.process.send_signal(signal.SIGHUP)
        for _ in range(3):  # each one passes the loop that looks for the reader
            check(w.ask("/app.css")[0] == 200, "with nohup, and a file for its output, skep web stays")
        w.end()
    silent = Silent()
    w = Server(silent.lake)
    connection = silent.asked(w)
    eventually("a question is being answered", w.children)
    pids = w.children()
    w.process.kill()
    w.process.wait()
    eventually("a command outlives SIGKILL of skep web", lambda: not any(map(lives, pids)))
    for pid in filter(lives, pids):
        os.kill(pid, signal.SIGKILL)
    connection.close()
    silent.server.close()


def as_root(work):
    """root becomes the owner of the lake, and shows the lake of its own skep.conf, with its prices and thresholds, which that
    owner cannot read."""
    nobody = {"user": 65534, "group": 65534, "extra_groups": []}
    home, lake, program = (os.path.join(work, name) for name in ("home", "of-nobody", "skep"))
    os.chmod(work, 0o711)
    shutil.copy(SKEP, program)  # where nobody may execute it, wherever the build is
    try:
        started = not os.geteuid() and subprocess.run([program, "--version"], stdout=subprocess.DEVNULL, **nobody).returncode == 0
    except PermissionError:
        started = False
    if not started:
        return print("no root, or nobody cannot start skep: the lake of root is not tested")
    subprocess.run([FILL, "2", "5", "2", "5", f"path={lake}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([FILL_FLEET, "4", "6", f"path={lake}"], check=True, stdout=subprocess.DEVNULL)
    for path in [lake, *glob.glob(lake + "/*")]:
        os.chown(path, 65534, 65534)
    os.makedirs(os.path.join(home, ".config/skep"))
    os.chmod(home, 0o700)
    conf, prices = os.path.join(home, ".config/skep/skep.conf"), os.path.join(home, "prices.json")
    with open(prices, "w") as f:
        f.write('{ "currency": "EUR", // root\'s\n' + " " * (3 << 20) + '"prices": [ { "machine_hour": 2, "split": { "cpu": 70, "memory": 30 } } ] }')
    with open(conf, "w") as f:
        json.dump({"lake": lake, "prices": prices, "thresholds": {"idle-host.window": 8640000}}, f)
    for path in conf, prices:
        os.chmod(path, 0o600)
    others = ("SKEP_LAKE", "XDG_CONFIG_HOME")
    env = {**{k: v for k, v in os.environ.items() if k not in others}, "HOME": home}
    w = Server(None, executable=program, env=env)
    want = subprocess.run([SKEP, "runs", "--limit=200", "--json", "--lake", lake], capture_output=True, check=True).stdout
    status, _, got = w.ask("/api/runs")
    check(status == 200 and json.loads(got) == json.loads(want), f"the lake of root's skep.conf: {status} {got[:200]}")
    # The answer is root's own, which is not that of a user without this skep.conf.
    since, until = "2026-11-04T00:00:00Z", "2026-11-10T00:00:00Z"
    asked = [program, "sweep", "--json", "--lake", lake, f"--since={since}", f"--until={until}"]
    want, without = (subprocess.run(asked, env=e, capture_output=True).stdout for e in (env, {**env, "HOME": work}))
    status, _, got = w.ask(f"/api/sweep?since={since}&until={until}")
    kinds = [[f["kind"] for f in json.loads(text)["findings"]] for text in (want, without)]
    check(b"EUR" in want and kinds == [["idle-after-run"], ["idle-host"]], f"prices and thresholds count: {kinds} {want[:300]}")
    check(status == 200 and got == want, f"prices and thresholds of root's skep.conf: {status}\n{got[:900]}\n{want[:900]}")
    with open(f"/proc/{w.process.pid}/status") as f:
        check("Uid:\t65534\t65534\t65534\t65534" in f.read(), "root becomes the owner of the lake")
    w.end()


def listening(lake, work):
    run = subprocess.run([SKEP, "web", "--lake", lake, "--listen", "0.0.0.0:0"], capture_output=True, text=True, timeout=PATIENCE)
    check(run.returncode == 2 and "--tls-cert" in run.stderr, f"all addresses without TLS: {run.returncode} {run.stderr}")
    for where in ("nonsense", "127.0.0.1", "127.0.0.1:99999", "example.org:80", "[::1:80"):
        run = subprocess.run([SKEP, "web", "--listen", where], capture_output=True, text=True, timeout=PATIENCE)
        check(run.returncode == 2 and where in run.stderr, f"--listen {where}: {run.returncode} {run.stderr}")
    cert, key = os.path.join(work, "cert"), os.path.join(work, "key")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1",
                           "-subj", "/CN=localhost", "-keyout", key, "-out", cert], capture_output=True)
    if made.returncode:
        return print("no openssl: TLS is not tested")
    w = Server(lake, "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key)
    context = ssl.create_default_context(cafile=cert)
    context.check_hostname = False
    with context.wrap_socket(w.connect(), server_hostname="localhost") as s:
        s.sendall(f"GET /?token={w.token} HTTP/1.1\r\nHost: localhost:{w.address[1]}\r\n\r\n".encode())
        got = b""
        while piece := s.recv(65536):
            got += piece
    check(got.startswith(b"HTTP/1.1 303") and b"Secure" in got.split(b"\r\n\r\n")[0], f"the page by TLS: {got[:100]}")
    check(b" 200 " not in w.raw(f"GET /?token={w.token} HTTP/1.1\r\nHost: {w.host}\r\n\r\n".encode(), 15), "plain HTTP on the TLS port")
    w.end()


def main():
    if not os.access(FILL, os.X_OK):
        print("skip: this build has no sink lake")
        return 77
    with tempfile.TemporaryDirectory() as work:
        lake = os.path.join(work, "lake")
        # An address that needs TLS is refused, unless the pages are missing.
        if "without its pages" in subprocess.run([SKEP, "web", "--listen", "0.0.0.0:0"], capture_output=True, text=True).stderr:
            print("skip: built without the pages")
            return 77
        subprocess.run([FILL, "10", "500", "10", "300", f"path={lake}"], check=True, stdout=subprocess.DEVNULL)
        waiting = [beside(overload), beside(totals, shutil.copytree(lake, os.path.join(work, "copy")))]
        w = Server(lake)
        for part in (tokens, policy, others, paths, packed, heads, leaving, slow, many):
            part(w)
        truths(w, lake)
        left = streams(w, lake)
        w.end()
        check(not any(e[0] for stream in left for e in stream), "the end of skep web ends its streams")
        ending(lake)
        as_root(work)
        listening(lake, work)
        for t in waiting:
            t.join()
    print(f"{checks} checks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
