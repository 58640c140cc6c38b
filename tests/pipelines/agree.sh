#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/pipelines/agree.sh [snakemake|reads] - a real pipeline under skep, and whether the
# report agrees with /usr/bin/time -v, with wait4 and with the counters of a cgroup of its own.
# Environment: SKEP, SKEP_PLUGIN_DIRS.  Skips (77) where a tool is missing.
set -euo pipefail
. "$(dirname "$0")/../wait.sh"
which=${1:-snakemake}
[ -z "${SKEP_SANITIZE:-}" ] || { echo "skip: sanitizers: the test compares figures; the build without sanitizers runs it"; exit 77; }
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF, cgroups)"; exit 77; }
for t in bwa samtools bcftools wgsim /usr/bin/time; do
	command -v "$t" >/dev/null || { echo "skip: no $t"; exit 77; }
done
[ "$which" != snakemake ] || command -v snakemake >/dev/null || { echo "skip: no snakemake"; exit 77; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/skep-agree.XXXXXX")
group=skep-agree-$$
cpu_usage() { # ns
	if [ -e "/sys/fs/cgroup/cpuacct/$group" ]; then cat "/sys/fs/cgroup/cpuacct/$group/cpuacct.usage"
	else awk '$1 == "usage_usec" { print $2 * 1000 }' "/sys/fs/cgroup/$group/cpu.stat"; fi
}
if [ -d /sys/fs/cgroup/cpuacct ]; then dir=/sys/fs/cgroup/cpuacct/$group
elif [ -e /sys/fs/cgroup/cgroup.controllers ]; then dir=/sys/fs/cgroup/$group
else echo "skip: no CPU accounting by cgroup"; exit 77; fi
mkdir "$dir"
trap 'rm -rf "$work"; rmdir "$dir" 2>/dev/null || true' EXIT
case $which in
snakemake) cmd="cd $work && mkdir s && cd s && exec snakemake --cores 2 --quiet -s $here/snakemake/Snakefile --config pairs=${PAIRS:-20000}" ;;
reads) cmd="exec $here/reads/run.sh $work/r" ;;
*) echo "agree.sh: unknown tool '$which'" >&2; exit 2 ;;
esac
# the shell joins the cgroup first, then becomes time, which starts the pipeline
"$SKEP" run --no-report --no-live --lake "$work/lake" --json "$work/report.json" -- \
	sh -c "echo \$\$ >$dir/cgroup.procs; exec /usr/bin/time -v -o $work/time sh -c '$cmd'" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
cpu_usage >"$work/cgroup"
/usr/bin/python3 - "$work" "$which" <<'END'
import json, re, sys
work, which = sys.argv[1:]
r = json.load(open(f"{work}/report.json"))
time = open(f"{work}/time").read()
user, system = (float(re.search(rf"{w} time \(seconds\): ([\d.]+)", time).group(1)) for w in ("User", "System"))
maxrss = int(re.search(r"Maximum resident set size \(kbytes\): (\d+)", time).group(1)) * 1024
elapsed = time.split("m:ss): ")[1].split("\n")[0]
cgroup_ns = int(open(f"{work}/cgroup").read())
ours = r["totals"]["cpu_ns"]
biggest = max(p["maxrss_bytes"] or 0 for p in r["processes"])
print(f"{which}: {r['totals']['processes']} processes, elapsed {elapsed}")
print(f"CPU: skep {ours / 1e9:.4f} s, cgroup {cgroup_ns / 1e9:.4f} s, time -v {user + system:.2f} s (in hundredths)")
print(f"largest process: skep {biggest}, time -v {maxrss}")
bad = []
# outside the cgroup: the first milliseconds of the shell before it joined
if not -0.001 * cgroup_ns <= ours - cgroup_ns <= 0.001 * cgroup_ns + 8e6:
    bad.append("the cgroup's CPU differs by more than 0.1 % (+ the shell's start)")
if abs(ours / 1e9 - user - system) > 0.001 * ours / 1e9 + 0.02:
    bad.append("time -v differs by more than 0.1 % (+ its two roundings)")
if biggest != maxrss:
    bad.append("peak RSS of the largest process differs from time -v")
if any(v for v in r["loss"].values() if isinstance(v, int)):
    bad.append(f"something was lost: {r['loss']}")
tools = {t["tool"] for t in r["tools"]}
want = {"bwa index", "bwa mem", "samtools sort", "samtools index", "bcftools mpileup", "bcftools call", "bcftools stats", "wgsim"}
if not want <= tools:
    bad.append(f"tools not seen: {sorted(want - tools)}; there are {sorted(tools)}")
failed = [p["tool"] for p in r["processes"] if p["exit_code"] not in (0, None) and p["tool"] in want]
if failed:
    bad.append(f"failed: {failed}")
for b in bad:
    print("not ok -", b)
sys.exit(1 if bad else 0)
END
echo "ok - $which agrees with time -v and the cgroup"
