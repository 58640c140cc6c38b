#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/tarball.sh [FOLDER] - the tarball that scripts/package left in FOLDER (build/package/out), unpacked
# somewhere, in a root that has none of the libraries that it brings: Debian 12 without them; and in one that has no C
# library at all, busybox alone. Exit status 77: cannot run here.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
folder=$(cd "${1:-$here/../../build/package/out}" && pwd)
[ "$(id -u)" -eq 0 ] || { echo "skip: tarball.sh needs root"; exit 77; }
package=$(find "$folder" -maxdepth 1 -name 'skep-*-linux-*.tar.xz' | LC_ALL=C sort | tail -1)
[ -n "$package" ] || { echo "tarball.sh: no skep-*-linux-*.tar.xz in $folder; remedy: scripts/package deb tarball" >&2; exit 1; }
tar=$("$here/root.sh" bookworm)
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-tarball.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
check() {
	local what=$1
	shift
	if "$@" >"$work/log" 2>&1; then
		echo "ok - $what"
	else
		echo "not ok - $what"
		tail -n 15 "$work/log" | sed 's/^/# /'
		failed=1
	fi
}
mkdir -p "$work/root/some/where else"
tar xf "$tar" -C "$work/root" --numeric-owner
rm -f "$work"/root/usr/lib/*/lib{bpf,elf,jansson,pcre2-8,sqlite3,uv}.so*
tar xf "$package" -C "$work/root/some/where else"
name=$(ls "$work/root/some/where else")
ln -s "/some/where else/$name/bin/skep" "$work/root/usr/local/bin/skep"
# in_root ROOT COMMAND...
in_root() {
	unshare --mount sh -c 'mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" &&
		exec chroot "$0" "$@"' "$@"
}
inside() { in_root "$work/root" "$@"; }
# What a command of "skep run" sees of the process that is its parent.
cat >"$work/look" <<'END'
#!/bin/sh
echo "comm=$(cat /proc/$PPID/comm)"
awk '/ r-xp .*\/lib\/libc\/libc\.so/ { print "libc=own" }' /proc/$PPID/maps # grep and sed would need PCRE
env | awk '/^(LD_LIBRARY_PATH|SKEP_PROGRAM)=/'
END
chmod 0755 "$work/look"
# looks ROOT EXPECTED [ENVIRONMENT...]
looks() {
	local root=$1 expected=$2
	shift 2
	cp "$work/look" "$root/look"
	in_root "$root" env PATH=/old:/bin:/usr/bin "$@" "/some/where else/$name/bin/skep" run --no-report --no-live --lake /tmp/lake --json /tmp/report \
		-- /look >"$work/looked"
	cat "$work/looked"
	[ "$(tr '\n' ' ' <"$work/looked")" = "$expected" ]
}
check "the root has no libraries of skep's" sh -c '! find "$1/usr/lib" -name "libbpf.so*" | grep .' - "$work/root"
check "skepd -t" inside "/some/where else/$name/sbin/skepd" -t
inside "/some/where else/$name/sbin/skepd" --list-plugins -v >"$work/plugins" 2>&1 || true
plugins=$(find "$work/root/some/where else/$name/lib/skep/plugins" -name '*.so' | wc -l) # kafka, where librdkafka was there
check "all its plugins, its own" test "$(grep -c "/some/where else/$name/lib/skep/plugins/.*\\.so$" "$work/plugins")" = "$plugins" -a "$plugins" -ge 14
check "skep run, by a link" inside /usr/local/bin/skep run --lake /tmp/lake --json /tmp/report -- sh -c 'env; cat /proc/version'
check "it has collected" grep -q '"exe": *"/usr/bin/cat"' "$work/root/tmp/report"
check "skep uses the host's C library, and CMD inherits nothing of the wrapper" looks "$work/root" "comm=skep "
check "its own C library, if SKEP_LIBC asks for it" looks "$work/root" "comm=skep libc=own " SKEP_LIBC=own
mkdir "$work/root/old"
printf '#!/bin/sh\necho glibc 2.28\n' >"$work/root/old/getconf"
chmod 0755 "$work/root/old/getconf"
check "its own C library, where the host has EL 8's" looks "$work/root" "comm=skep libc=own "
rm -r "$work/root/old"
check "a configuration of the user's exists" sh -c 'echo "{ \"intervall\": 1 }" >"$1/tmp/c"' - "$work/root"
inside "/some/where else/$name/sbin/skepd" -t -c /tmp/c >"$work/said" 2>&1 || true
check "skepd reads the user's configuration" grep -q '^/tmp/c:1:' "$work/said"

# ---- no C library at all ------------------------------------------------------------------------
if busybox=$(command -v busybox) && ! ldd "$busybox" >/dev/null 2>&1; then
	bare=$work/bare
	mkdir -p "$bare"/{bin,tmp,proc,sys,dev,etc,run,"some/where else"}
	cp "$busybox" "$bare/bin/busybox"
	"$busybox" --install -s "$bare/bin" && find "$bare/bin" -type l -exec ln -sf busybox {} \;
	rm -f "$bare/bin/getconf"
	tar xf "$package" -C "$bare/some/where else"
	check "busybox alone: skepd -t" in_root "$bare" "/some/where else/$name/sbin/skepd" -t
	check "every plugin can be loaded" sh -c '! grep "cannot be loaded" "$1"' - "$work/log"
	check "skep run" looks "$bare" "comm=skep libc=own "
	check "it has collected" grep -q '"exe": *"/bin/busybox"' "$bare/tmp/report"
	check "skep doctor" in_root "$bare" "/some/where else/$name/bin/skep" doctor
	# Authorities lie where EL keeps them, which is not where the libcurl of Debian looks.
	"$here/../faults/certificates" "$work/tls"
	python3 - "$work/tls" <<-'END' >"$work/received" &
		import http.server, os, ssl, sys, threading
		class Receiver(http.server.BaseHTTPRequestHandler):
		    def do_POST(self):
		        self.rfile.read(int(self.headers["Content-Length"]))
		        self.send_response(200)
		        self.send_header("Content-Length", "0")
		        self.end_headers()
		        print("POST", self.path, flush=True)
		    def log_message(self, *args):
		        pass
		context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
		context.load_cert_chain(sys.argv[1] + "/server.pem", sys.argv[1] + "/server.key")
		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
		server.socket = context.wrap_socket(server.socket, server_side=True)
		print("port", server.server_port, flush=True)
		threading.Timer(600, os._exit, (0,)).start()
		server.serve_forever()
	END
	receiver=$!
	trap 'kill $receiver 2>/dev/null || true; rm -rf "$work"' EXIT
	for _ in $(seq 1200); do grep -q '^port' "$work/received" && break; sleep 0.1; done
	sends() {
		in_root "$bare" "/some/where else/$name/bin/skep" run --no-report --no-live --lake /tmp/lake \
			--otlp "https://localhost:$(sed -n 's/^port //p' "$work/received")" true
		grep '^POST /v1/traces' "$work/received"
	}
	not_sent() { ! sends; }
	mkdir -p "$bare/etc/pki/tls/certs"
	cp "$work/tls/other-ca.pem" "$bare/etc/pki/tls/certs/ca-bundle.crt"
	check "https: an authority that the host does not know is not trusted" not_sent
	cp "$work/tls/ca.pem" "$bare/etc/pki/tls/certs/ca-bundle.crt"
	check "https, with the authorities where EL keeps them" sends
else
	echo "skip: no busybox that is linked statically; remedy: apt-get install -y busybox-static"
fi
exit $failed
