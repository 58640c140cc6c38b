#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# nightly.sh [--build DIR] [--rows FILE] [SCRIPT...] - the scripts of this folder that need a network, packages or
# minutes, and the long form of those of "make check" that have one, one after the other, each under a timeout: "make
# nightly". Without SCRIPT (spool_faults, backlog, ../e2e/reload, ...) all of them. As root.
#
# At the end there is a table of the faults (nightly.py; docs/inside/faults.md says what its columns are), and one line
# that says how many scripts passed, failed and were skipped. --rows: the rows as lines of JSON (default: nightly.jsonl
# in DIR), of which `nightly.py --docs FILE docs/inside/faults.md` makes the tables of the documentation.
set -u
build=${abs_builddir:-$PWD} rows=''
while [ $# -gt 0 ]; do
	case $1 in
	--build) build=$(realpath "$2") && shift 2 ;;
	--rows) rows=$(realpath "$2") && shift 2 ;;
	-*) sed -n '3,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
	*) break ;;
	esac
done
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "nightly: needs root"; exit 77; }
[ -x "$build/skepd" ] || { echo "nightly.sh: no skepd in $build: build first, or --build DIR" >&2; exit 2; }
: "${rows:=$build/nightly.jsonl}"
[ $# -gt 0 ] || set -- spool_faults backlog kafka clickhouse scrape prometheus collector fleet ../hostile/hostile \
	../e2e/ledger ../e2e/killed ../e2e/pinned ../e2e/pinned_facets ../e2e/reload ../engines/engines \
	../engines/newcomer ../engines/planted ../engines/runtimes ../exact/storm ../kubernetes/manifests
make -s -C "$build" tests/exact/storm tests/exact/tiny tests/hostile/hostile tests/engines/stand_in tests/faults/kmock \
	plugins-run/.stamp plugins-test/.stamp \
	>/dev/null || exit 1
: >"$rows"
export abs_builddir=$build SKEP=$build/skep SKEPD=$build/skepd SKEP_PLUGIN_DIRS=$build/plugins-run
export SKEP_FAULTS_JSON=$rows
export SKEP_TEST_PLUGIN_DIRS=$build/plugins-test EXACT_BIN=$build/tests/exact HOSTILE_BIN=$build/tests/hostile
# The long forms; "make check" runs as few as can show a fault.
export HOSTILE_SECONDS=${HOSTILE_SECONDS:-600} LEDGER_SECONDS=${LEDGER_SECONDS:-60} KILLS=${KILLS:-20}
engines='snakemake make ninja parallel xargs cwltool toil slurm snakemake-slurm nextflow cromwell miniwdl airflow'
engines="$engines torchrun gitlab-runner github-actions jenkins buildkite agent luigi systemd cron"
export ENGINES=${ENGINES:-$engines} ENGINE_JOBS=${ENGINE_JOBS:-100} ENGINE_RESTARTS=${ENGINE_RESTARTS:-3}
export RESTARTS=${RESTARTS:-6} MANIFEST_SCHEMAS=${MANIFEST_SCHEMAS:-yes}
export RELOADS=${RELOADS:-200} SECONDS_=${SECONDS_:-30}

declare -A limit=([../hostile/hostile]=900 [spool_faults]=1200 [backlog]=900 [collector]=2400 [clickhouse]=1200
	[../engines/planted]=1800)
passed=0 failed=0 skipped=0
work=$(mktemp -d)
session=''
end_session() {
	[ -z "$session" ] || pkill "-$1" -s "$session" || :
}
trap 'rm -rf "$work"' EXIT
trap 'end_session TERM; exit 130' INT TERM
for name; do
	script=$here/${name%.sh}.sh
	name=${name%.sh}
	[ -x "$script" ] || [ -r "$script" ] || { echo "nightly.sh: there is no $script" >&2; exit 2; }
	echo "== $name"
	began=$SECONDS
	# In a session of its own, so that an interrupted script's processes end with it. And as init's child: to skepd
	# the session of another program is a run, which would contain everything that collector.sh starts.
	rm -f "$work"/*
	# shellcheck disable=SC2016
	(setsid bash -c 'echo $$ >"$1/sid"; timeout -k 30 "$2" bash "$3" >"$1/log" 2>&1; echo $? >"$1/status"' \
		nightly "$work" "${limit[$name]:-600}" "$script" </dev/null >/dev/null 2>&1 &)
	until [ -s "$work/sid" ]; do sleep 0.1; done
	session=$(cat "$work/sid")
	until [ -s "$work/status" ] || ! kill -0 "$session" 2>/dev/null; do sleep 0.5; done
	status=$(cat "$work/status" 2>/dev/null || echo 137)
	end_session KILL
	session=''
	cat "$work/log"
	case $status in
	0) result=passed passed=$((passed + 1)) ;;
	77) result=skipped skipped=$((skipped + 1)) ;;
	124|137) result="failed (cut off after ${limit[$name]:-600} s)" failed=$((failed + 1)) ;;
	*) result=failed failed=$((failed + 1)) ;;
	esac
	python3 - "$name" "$result" $((SECONDS - began)) "$(tail -1 "$work/log")" >>"$rows" <<'END'
import json, sys
print(json.dumps({"script": sys.argv[1], "result": sys.argv[2], "seconds": int(sys.argv[3]), "words": sys.argv[4]}))
END
done
echo
python3 "$here/nightly.py" "$rows"
echo "nightly: $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
