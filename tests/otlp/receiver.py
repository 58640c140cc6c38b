# SPDX-License-Identifier: Apache-2.0
"""receiver.py FILE - receives OTLP over HTTP on a port of its own choice, which it prints, and writes each request as a
line of JSON to FILE.  Like a collector it answers 400 to a request that is not OTLP, and to every request below
/refuse."""
import gzip
import http.server
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import otlp  # noqa: E402

out = open(sys.argv[1], "a", buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status, signal = 200, self.path.rsplit("/", 1)[-1]
        try:
            if self.path.startswith("/refuse/"):
                raise KeyError("refused")
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            out.write(json.dumps({"signal": signal, "request": otlp.decode(signal, body)}) + "\n")
        except (otlp.Wrong, KeyError, OSError) as e:
            out.write(json.dumps({"signal": signal, "wrong": str(e)}) + "\n")
            status = 400
        self.send_response(status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
