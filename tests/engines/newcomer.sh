#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/engines/newcomer.sh - a new user of skep, in one command. skepd runs as its unit runs it: user skep, three
# capabilities, the installed configuration. A user without a privilege, in no group, runs two Snakemakes at once, a CWL
# workflow and a Slurm array as always. `skep runs` and `skep show` have to tell that user what the engines wrote, and
# nothing of another user; a member of group skep sees the runs of both. Leaves nothing behind: its users, mounts and
# daemons are those of a namespace. Needs root and snakemake; runs cwltool and Slurm where they are installed. SKEP,
# SKEPD, SKEP_PLUGIN_DIRS: by default those of the build folder in which it is started.
set -euo pipefail
. "$(dirname "$0")/../wait.sh"
[ "$(id -u)" = 0 ] || { echo "skip: needs root (BPF)"; exit 77; }
export SKEP=${SKEP:-$PWD/skep} SKEPD=${SKEPD:-$PWD/skepd} SKEP_PLUGIN_DIRS=${SKEP_PLUGIN_DIRS:-$PWD/plugins-run}
[ -x "$SKEPD" ] || { echo "newcomer: no skepd in $PWD: build first, or set SKEP, SKEPD and SKEP_PLUGIN_DIRS" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
for program in snakemake setpriv unshare; do
	command -v $program >/dev/null || { echo "skip: no $program (scripts/deps --install engines)"; exit 77; }
done
if [ -z "${NEWCOMER_DIR:-}" ]; then # as a child of init, so that no run of the caller is around it
	NEWCOMER_DIR=$(mktemp -d "${TMPDIR:-/tmp}/skep-newcomer.XXXXXX")
	export NEWCOMER_DIR
	trap 'rm -rf "$NEWCOMER_DIR"' EXIT
	# shellcheck disable=SC2016
	(setsid sh -c 'echo $$ >"$NEWCOMER_DIR/pid"; unshare -m --propagation private bash "$0" >"$NEWCOMER_DIR/said" 2>&1; echo $? >"$NEWCOMER_DIR/status"' \
		"$here/newcomer.sh" </dev/null &)
	until [ -s "$NEWCOMER_DIR/pid" ]; do sleep 0.1; done
	until [ -s "$NEWCOMER_DIR/status" ] || ! kill -0 "$(cat "$NEWCOMER_DIR/pid")" 2>/dev/null; do sleep 0.2; done
	cat "$NEWCOMER_DIR/said"
	exit "$(cat "$NEWCOMER_DIR/status" 2>/dev/null || echo 1)"
fi

work=$NEWCOMER_DIR skep=64999 user=64998 colleague=64997 member=64996
umask 022
chmod 755 "$work"
mkdir "$work/bin" "$work/plugins" "$work/home" "$work/cluster"
{ cat /etc/passwd; echo "skep:x:$skep:$skep::/:/bin/false"; echo "newcomer:x:$user:$user::$work/home:/bin/bash"
	echo "colleague:x:$colleague:$colleague::/:/bin/bash"; echo "member:x:$member:$member::/:/bin/bash"; } >"$work/passwd"
{ grep -v '^skep:' /etc/group; echo "skep:x:$skep:member"; echo "newcomer:x:$user:"; } >"$work/group"
mount --bind "$work/passwd" /etc/passwd
mount --bind "$work/group" /etc/group
mount -t tmpfs -o mode=755 none /var/lib
mount -t tmpfs -o mode=755 none /run
mount -t bpf none /sys/fs/bpf
install -d -o $skep -g $skep -m 750 /var/lib/skep
install -d -o $skep -g $skep -m 755 /run/skep
install -d -o $skep -g $skep -m 700 /sys/fs/bpf/skep
chown $user "$work/home"
install -m 755 "$SKEP" "$SKEPD" "$work/bin/"
IFS=: read -ra dirs <<<"$SKEP_PLUGIN_DIRS"
for dir in "${dirs[@]}"; do install -m 755 "$dir"/*.so "$work/plugins/"; done
# The installed configuration; only the plugins are elsewhere.
{ echo "{ \"plugin_dirs\": [ \"$work/plugins\" ],"; sed '0,/^{/d' "$here/../../etc/skepd.conf"; } |
	sed 's@ "dirs": \[ "/etc/skep/filters.d" \],@@' >"$work/skepd.conf"
caps=-all,+bpf,+perfmon,+sys_ptrace
(
	umask 027
	cd /
	ulimit -l unlimited 2>/dev/null || : # only Linux before 5.11 needs it
	exec env -i PATH="$PATH" setpriv --reuid $skep --regid $skep --clear-groups --no-new-privs --bounding-set=$caps --inh-caps=$caps \
		--ambient-caps=$caps -- "$work/bin/skepd" --foreground -c "$work/skepd.conf"
) 2>"$work/log" &
daemon=$!
trap 'kill $daemon 2>/dev/null; wait' EXIT
wait_skepd $daemon "$work/log" || exit $?

cat >"$work/jobs.sh" <<'END'
mkdir ~/rnaseq ~/chipseq ~/cwl ~/hpc
cat >~/rnaseq/Snakefile <<'S'
rule all:
    input: expand("{s}.count", s=["a", "b", "c"])
rule simulate:
    output: "{s}.txt"
    shell: "seq 1 20000 | sort -R >{output}"
rule count:
    input: "{s}.txt"
    output: "{s}.count"
    shell: "sort -n {input} | wc -l >{output}"
S
cp ~/rnaseq/Snakefile ~/chipseq
for folder in ~/rnaseq ~/chipseq; do
	(cd $folder && snakemake -j 2 >log 2>&1) &
done
wait
if command -v cwltool >/dev/null; then
	cd ~/cwl
	cat >sort.cwl <<'S'
{ "cwlVersion": "v1.2", "class": "CommandLineTool", "baseCommand": ["sort", "-r"], "outputs": [],
  "inputs": { "n": { "type": "File", "inputBinding": { "position": 1 } } } }
S
	echo '{ "n": { "class": "File", "path": "sort.cwl" } }' >in.json
	cwltool sort.cwl in.json >log 2>&1
fi
if [ -n "${SLURM_CONF:-}" ]; then
	cd ~/hpc
	printf '#!/bin/bash\nsort -R /etc/services | wc -l\nsleep 1\n' >job.sh
	sbatch --wait -J align --array=1-3 --mem=20 job.sh >log 2>&1
fi
sleep 6 # skepd writes every 5 s
END
chmod 755 "$work/jobs.sh"
as_user() { (cd "$work/home" && exec setpriv --reuid $user --regid $user --clear-groups --inh-caps=-all --bounding-set=-all env -i PATH="$PATH" \
	HOME="$work/home" ${SLURM_CONF:+SLURM_CONF=$SLURM_CONF} "$@"); }
if command -v slurmctld >/dev/null; then
	export -f as_user
	export work user skep
	# shellcheck disable=SC2016
	PYTHONPATH=$here/../e2e /usr/bin/python3 -B "$here/cluster.py" "$work/cluster" bash -c 'as_user setsid bash "$work/jobs.sh"' >"$work/cluster.log" 2>&1
else
	as_user setsid bash "$work/jobs.sh"
fi

as_user /usr/bin/python3 -B - "$work/bin/skep" "$work/cluster/jobcomp" <<'END'
import glob, json, os, re, subprocess, sys
skep, jobcomp = sys.argv[1:]
failed = 0

def ask(*words):
    return json.loads(subprocess.run([skep, *words, "--json"], stdout=subprocess.PIPE, check=True).stdout)

def same(what, has, wants):
    global failed
    failed += has != wants
    print("ok -" if has == wants else "FAIL -", what, wants if has == wants else "%s, the engine says %s" % (has, wants))

listed = [r for r in ask("runs", "--user", "newcomer") if r.get("engine")]
runs = {r["engine"]: r for r in listed}
def tasks(engine):
    return ask("show", runs[engine]["id"])["tasks"] if engine in runs else []

home = os.path.expanduser("~")
snakes = {s["run"]["cwd"]: s for s in (ask("show", r["id"]) for r in listed if r["engine"] == "snakemake")}
same("two Snakemakes at once are two runs", sorted(snakes), [home + "/chipseq", home + "/rnaseq"])
for cwd, said in snakes.items():
    same("snakemake in %s: the rule of each task" % os.path.basename(cwd), sorted(t["task"] for t in said["tasks"]),
         sorted(json.load(open(f))["rule"] for f in glob.glob(cwd + "/.snakemake/metadata/*")))
if os.path.exists(home + "/cwl/log"):
    same("cwltool: the tool of each job", [t["task"] for t in tasks("cwltool")],
         re.findall(r"\[job \S+\] \S+\$ (\w+)", open(home + "/cwl/log").read()))
if os.path.exists(home + "/hpc/log"):
    ended = [dict(w.split("=", 1) for w in line.split() if "=" in w) for line in open(jobcomp)]
    same("slurm: name and job of each element", sorted((t["task"], t["job"]) for t in tasks("slurm")),
         sorted((e["Name"], e["ArrayJobId"] + "_" + e["ArrayTaskId"]) for e in ended))
said = subprocess.run([skep, "runs"], stdout=subprocess.PIPE, text=True, check=True).stdout
print(said)
same("skep runs: each engine in a line", sorted(e for e in runs if e in said), sorted(runs))
sys.exit(failed > 0)
END

# Each user sees their own runs only, a member of group skep those of all; the others have nothing else to ask.
# ask UID GROUPS COMMAND...
ask() { (cd / && exec setpriv --reuid "$1" --regid "$1" "$2" --inh-caps=-all --bounding-set=-all env -i PATH="$PATH" HOME="$work/none" "$work/bin/skep" "${@:3}") >"$work/out" 2>"$work/err" </dev/null; }
uids() { /usr/bin/python3 -c 'import json, sys; print(*sorted({r["uid"] for r in json.load(sys.stdin)}))' <"$work/out"; }
failed=0
same() { if [ "$2" = "$3" ]; then echo "ok - $1: $2"; else echo "FAIL - $1: $2, expected $3: $(head -c 500 "$work/err")"; failed=1; fi; }
code=0
ask $colleague --clear-groups run --no-live --name theirs sh -c 'sleep 0.1; exit 3' || code=$?
same "skep run of a user in no group" $code 3
same "its report" "$(grep -c theirs "$work/err")" 1
for who in "$user --clear-groups" "$colleague --clear-groups"; do
	# shellcheck disable=SC2086
	ask $who runs --all --limit 0 --json || :
	same "the runs that uid ${who% *} sees are of uid" "$(uids)" "${who% *}"
	same "and skep says so" "$(grep -c 'your own runs only' "$work/err")" 1
done
ask $member --groups=$skep runs --all --limit 0 --json || :
same "a member of group skep sees runs of both" "$(uids | grep -ow -e $user -e $colleague | xargs)" "$colleague $user"
same "and nothing else" "$(cat "$work/err")" ""
code=0
ask $user --clear-groups show theirs || code=$?
same "another user's run, for skep show" "$code $(grep -c 'no run "theirs"' "$work/err")" "1 1"
for words in reload status "attach runqlat" "recognize $daemon"; do
	code=0
	# shellcheck disable=SC2086
	ask $user --clear-groups $words || code=$?
	same "skep $words of a user in no group" "$code $(grep -c 'usermod -aG skep' "$work/err")" "4 1"
done
exit $failed
