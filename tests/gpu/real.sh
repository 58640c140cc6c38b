#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/real.sh [--no-bpf] - the probe on a machine with a real NVIDIA device (the other
# tests use stand-ins). A small load of our own holds the device without using it, then
# keeps it busy; the probe's records are compared with that, and printed.
#
#   --no-bpf   only the NVML side, by a program built here: needs gcc (or $CC) and the driver
#   without    also by a skepd: its process records and the detail cuda. Needs root, BPF, python3,
#              and a build of skep in $abs_builddir (or the folder that this is run in)
#
# Exit status 77, with the reason: there is no such device, or something that is needed is missing.
set -u
src=${abs_srcdir:-$(cd "$(dirname "$0")/../.." && pwd)}
build=${abs_builddir:-$PWD}
idle=3 busy=4
skip() { echo "skip: $*"; exit 77; }
mode=all
case ${1:-} in
--no-bpf) mode=nvml ;;
"") ;;
*) echo "usage: real.sh [--no-bpf]" >&2; exit 2 ;;
esac
[ -e /dev/nvidiactl ] || skip "no NVIDIA device here (/dev/nvidiactl)"
command -v "${CC:-gcc}" >/dev/null || skip "needs a C compiler; remedy: apt-get install -y gcc libc6-dev"
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-real.XXXXXX") || exit 1
load= daemon=
cleanup() {
	[ -z "$load" ] || kill "$load" 2>/dev/null
	[ -z "$daemon" ] || { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; }
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
failed=0
ok() { echo "ok - $*"; }
fail() { echo "FAIL - $*"; failed=$((failed + 1)); }
# between WHAT LOW VALUE HIGH
between() { if [ "$3" -ge "$2" ] && [ "$3" -le "$4" ]; then ok "$1: $3"; else fail "$1: $3 is not in $2 to $4"; fi; }
compile() { # OUT FILE...
	out=$1
	shift
	"${CC:-gcc}" -std=gnu17 -D_GNU_SOURCE -O2 -w -I"$src" -I"$src/include" "$@" -o "$work/$out" -ldl -lm || exit 1
}
compile real_load "$src/tests/gpu/real_load.c"
mkfifo "$work/in"
# a ready load: its pid in $load
begin() {
	"$work/real_load" $idle $busy <"$work/in" >"$work/load.out" 2>"$work/load.err" &
	load=$!
	exec 3>"$work/in"
	tries=300
	until grep -q ready "$work/load.out"; do
		kill -0 $load 2>/dev/null || { wait $load; rc=$?; load=; cat "$work/load.err"; [ $rc -eq 77 ] && skip "no CUDA device"; exit 1; }
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "FAIL - the load does not start"; exit 1; }
		sleep 0.1
	done
}
work_done() {
	tries=$(((idle + busy) * 10 + 100))
	until grep -q ^done "$work/load.out"; do
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { echo "FAIL - the load does not end"; exit 1; }
		sleep 0.1
	done
	exec 3>&-
	wait $load
	load=
}

echo "== NVML"
compile real_nvml "$src/tests/gpu/real_nvml.c" "$src"/plugins/gpu/nvml.c "$src"/plugins/gpu/nvml_lib.c "$src"/plugins/gpu/nvml_device.c \
	"$src"/plugins/gpu/nvml_gpm.c "$src"/plugins/gpu/nvml_process.c "$src"/plugins/gpu/tally.c
begin
pid=$load
"$work/real_nvml" $((idle + busy + 4)) "$pid" 3>&- >"$work/nvml.out" &
watcher=$!
sleep 1
echo go >&3
work_done
wait $watcher
rc=$?
cat "$work/nvml.out"
[ $rc -eq 0 ] || { [ $rc -eq 77 ] && exit 77; fail "real_nvml left with $rc"; }
sum() { awk -v k="$1" '$1 == "sum" && $2 == k { print $3 }' "$work/nvml.out"; }
grep -q '^device' "$work/nvml.out" && ok "the devices have records" || fail "no device"
between "busy of the devices, ms" $((busy * 700)) $(($(sum devices_busy_ns) / 1000000)) $((busy * 1400))
# Inside a container the driver may give pids of another namespace, or none.
if grep -q "^use pid $pid " "$work/nvml.out"; then
	between "busy of the process, ms" $((busy * 700)) $(($(sum busy_ns) / 1000000)) $((busy * 1400))
	between "held, ms" $(((idle + busy) * 700)) $(($(sum held_ns) / 1000000)) $(((idle + busy + 3) * 1100))
	between "held but idle, ms" $((idle * 500)) $(($(sum idle_ns) / 1000000)) $(((idle + 3) * 1100))
	between "its memory, MiB" 256 $(($(sum memory_bytes) / 1048576)) 4096
else
	echo "# the driver does not tell of pid $pid here (another pid namespace?): its uses are not checked"
fi

if [ $mode = all ]; then
	echo "== skepd"
	[ "$(id -u)" -eq 0 ] || skip "the NVML part is done ($failed failed); skepd needs root"
	[ -x "$build/skepd" ] && [ -d "$build/plugins-run" ] || skip "the NVML part is done ($failed failed); no build of skep in $build"
	command -v python3 >/dev/null || skip "the NVML part is done ($failed failed); needs python3"
	cat >"$work/conf" <<-CONF
		{ "interval": "500ms",
		  "probes": [ { "plugin": "proc" }, { "plugin": "gpu", "required": true, "cuda_max_percent": 0 } ],
		  "control": { "socket": "$work/sock" },
		  "sinks": [ { "plugin": "file", "path": "$work/out.jsonl" } ] }
	CONF
	SKEP_PLUGIN_DIRS=$build/plugins-run "$build/skepd" -c "$work/conf" 2>"$work/err" &
	daemon=$!
	tries=300
	until grep -q "collects:" "$work/err"; do
		kill -0 $daemon 2>/dev/null || { cat "$work/err"; skip "the NVML part is done ($failed failed); skepd cannot collect here"; }
		tries=$((tries - 1))
		[ $tries -gt 0 ] || { cat "$work/err"; echo "FAIL - skepd does not start"; exit 1; }
		sleep 0.1
	done
	"$build/skep" doctor --socket "$work/sock" 2>&1 | grep 'gpu\.'
	begin
	pid=$load
	"$build/skep" attach cuda --socket "$work/sock" --pid "$pid" --for 60s >"$work/attach.out" 2>&1 3>&- &
	attach=$!
	sleep 3
	echo go >&3
	work_done
	wait $attach
	cat "$work/attach.out"
	sleep 2
	kill $daemon
	wait $daemon
	daemon=
	python3 - "$work/out.jsonl" "$pid" "$work/load.out" "$idle" "$busy" <<-'PY' || failed=$((failed + 1))
		import json, sys
		records = [json.loads(line) for line in open(sys.argv[1])]
		pid, idle, busy = sys.argv[2], float(sys.argv[4]), float(sys.argv[5])
		words = [l for l in open(sys.argv[3]) if l.startswith("done")][0].split()[1:]
		did = dict(zip(words[::2], map(int, words[1::2])))
		failed = 0
		def check(what, good, got):
		    global failed
		    print("ok" if good else "FAIL", "-", what + ":", got)
		    failed += not good
		end = [r for r in records if r["stream"] == "process.exit" and r["pid"] == int(pid) and r["last"]]
		check("its end", len(end) == 1, len(end))
		for e in end:
		    print({k: v for k, v in e.items() if k.startswith("gpu.")})
		    check("busy", 0.7 * busy < e["gpu.busy_ns"] / 1e9 < 1.4 * busy, e["gpu.busy_ns"] / 1e9)
		    check("idle while held", e["gpu.idle_held_ns"] / 1e9 > 0.5 * idle, e["gpu.idle_held_ns"] / 1e9)
		cuda = [r for r in records if r["stream"] == "gpu.cuda"]
		for key, name in (("launches", "launches"), ("bytes_h2d", "h2d"), ("bytes_d2h", "d2h"), ("syncs", "syncs")):
		    got = sum(r[key] for r in cuda)
		    check("cuda " + key + " as the program counted " + str(did[name]), got == did[name], got)
		sys.exit(failed != 0)
	PY
	cat "$work/err"
fi
[ $failed -eq 0 ] || { echo "$failed failed"; exit 1; }
echo "all good"
