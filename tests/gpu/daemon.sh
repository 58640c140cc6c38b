#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tests/gpu/daemon.sh - the probe in a real skepd, on stand-ins for NVIDIA's libraries (no device is touched): a
# process.exit has the process's use of a device, also when the process lived between two passes (by the driver's
# accounting); devices each interval; and `skep attach cuda` counts a process's calls. Environment: SKEPD, SKEP,
# SKEP_PLUGIN_DIRS, abs_builddir.
set -u
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" -eq 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
command -v python3 >/dev/null || { echo "skip: needs python3"; exit 77; }
bin=${abs_builddir:-.}/tests/gpu
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-gpu.XXXXXX") || exit 1
daemon= load=
cleanup() {
	[ -z "$load" ] || kill "$load" 2>/dev/null
	[ -z "$daemon" ] || { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; }
	rm -rf "$work"
}
trap cleanup EXIT
trap 'exit 1' INT TERM HUP
export STANDIN_NVML="$work/script"
# script LINE...: the driver's answers from now on
script() { printf '%s\n' "device GPU-A" "set mem_total 80000" "set power_mw 300000" "$@" >"$work/script.new" && mv "$work/script.new" "$work/script"; }
script "set util 0" "set energy_mj 0"

cat >"$work/conf" <<CONF
{ "interval": "200ms", "findings": { "gpu_held_idle": "2s" },
  "probes": [ { "plugin": "proc" },
	{ "plugin": "gpu", "required": true, "nvml_library": "$bin/standin_nvml.so", "cuda_library": "standin_cuda.so" } ],
  "control": { "socket": "$work/sock" },
  "sinks": [ { "plugin": "file", "path": "$work/out.jsonl" } ] }
CONF
"$SKEPD" -c "$work/conf" 2>"$work/err" &
daemon=$!
wait_skepd "$daemon" "$work/err" || exit $?
# passes N: waits until skepd has looked at the device N times more
passes() { wait_for has $(($(grep -c '"stream":"gpu.device"' "$work/out.jsonl") + $1)) '"stream":"gpu.device"' "$work/out.jsonl"; }

# a process that holds the device and uses it half of the time
mkfifo "$work/in"
"$bin/load" "$bin/standin_cuda.so" 2 50 <"$work/in" >"$work/load.out" &
load=$!
exec 3>"$work/in"
script "set util 50" "set energy_mj 1000" "holder $load 4096"
passes 5
script "set util 50" "set energy_mj 11000" "holder $load 8192"
passes 5

"$SKEP" attach cuda --socket "$work/sock" --pid "$load" --for 10m --json >"$work/attach.jsonl" 2>"$work/attach.err" 3>&- &
attach=$!
attached() { grep -q "cuda attached" "$work/err" && [ "$(cat "$work/load.out")" = ready ]; }
wait_for sh -c 'grep -q "cuda attached" "$1" || ! kill -0 "$0"' "$attach" "$work/err"
wait_for attached || { cat "$work/attach.err"; echo "skip: no uprobes here"; exit 77; }
echo probed >&3
wait_for grep -q "^done" "$work/load.out" || { echo "FAIL - the load does not end"; exit 1; }
passes 2
exec 3>&- # it exits
wait "$load"
held=$load
load=
wait "$attach"

# a process that comes and goes between two passes: only the driver's accounting has it
kill -STOP "$daemon"
sleep 0.02 &
short=$!
wait $short
now=$(date +%s)
script "set util 0" "set energy_mj 11000" "account $short 25 0 12345 4000 ${now}000000 0"
kill -CONT "$daemon"
wait_for grep -q '"stream":"process.exit".*"pid":'"$short," "$work/out.jsonl"

# a process that holds the device, and of which no kernel runs until it is busy once more
sleep 600 &
load=$!
# found STATE: waits for its finding
found() {
	has_finding() { grep '"stream":"finding".*"kind":"gpu-held-idle"' "$work/out.jsonl" | grep "\"state\":\"$1\"" | grep -q "\"pid\":$load,"; }
	wait_for has_finding "$1" || { cat "$work/err"; echo "FAIL - a device held idle: no finding is $1"; exit 1; }
	echo "ok - a device held idle: $1"
}
script "set util 0" "set energy_mj 11000" "holder $load 4096"
found open
script "set util 80" "set energy_mj 11000" "holder $load 4096"
found closed
[ "$(grep -c '"stream":"finding".*"kind":"gpu-held-idle"' "$work/out.jsonl")" -eq 2 ] || { echo "FAIL - other devices held idle"; exit 1; }
kill "$load"
wait "$load" 2>/dev/null
load=
kill "$daemon"
wait "$daemon"
rc=$?
daemon=
[ $rc -eq 0 ] || { cat "$work/err"; echo "FAIL - skepd left with $rc"; exit 1; }

python3 - "$work/out.jsonl" "$work/attach.jsonl" "$held" "$short" "$work/err" <<'PY'
import json, sys
out, attach, held, short = sys.argv[1:5]
records = [json.loads(line) for line in open(out)]
failed = 0

def check(what, good, got=""):
	global failed
	print(("ok" if good else "FAIL") + " - " + what, got)
	failed += not good

def of(stream):
	return [r for r in records if r["stream"] == stream]

def ended(pid):
	return [r for r in of("process.exit") if r["pid"] == int(pid) and r["last"]]

devices = of("gpu.device")
check("devices each interval", len(devices) >= 8, len(devices))
check("an unsupported value is no number", all(r.get("clock_sm_limit_hz") is None for r in devices))
check("power", all(r.get("hw.power") == 300 for r in devices))
energy = sum(r.get("hw.energy") or 0 for r in devices)
check("energy adds up", abs(energy - 11) < 1e-6, energy)
e = ended(held)
check("the holder's end", len(e) == 1, len(e))
if e:
	busy, hold = e[0].get("gpu.busy_ns"), e[0].get("gpu.held_ns")
	check("it held the device", hold > 1e9, hold)
	check("half of the time it was busy", 0.4 * hold < busy < 0.6 * hold + 2e8, busy)
	check("its memory at its largest", e[0].get("gpu.memory_peak_bytes") == 8192)
	check("never idle", e[0].get("gpu.idle_held_ns") == 0)
	check("its energy", 9 < e[0].get("gpu.energy_joules") <= 11, e[0].get("gpu.energy_joules"))
s = ended(short)
check("the short one's end", len(s) == 1, len(s))
if s:
	check("its accounting: 25 % of 4 s", s[0].get("gpu.busy_ns") == 10**9, s[0].get("gpu.busy_ns"))
	check("its memory", s[0].get("gpu.memory_peak_bytes") == 12345)
cuda = [json.loads(line) for line in open(attach) if line.startswith("{")]
launches = sum(r.get("launches") or 0 for r in of("gpu.cuda"))
check("launches", launches == 300, launches)
check("sent to the client that attached", sum(r.get("launches") or 0 for r in cuda) >= 300, len(cuda))
check("by process", all(r["upid"].split("-")[1] == held for r in of("gpu.cuda")))
check("the end of the process ends the attachment", "process %s has ended" % held in open(sys.argv[5]).read())
sys.exit(failed != 0)
PY
rc=$?
[ $rc -eq 0 ] || { cat "$work/err" "$work/attach.err"; grep -h -m3 'gpu' "$work/out.jsonl"; }
exit $rc
