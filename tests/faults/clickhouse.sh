#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# clickhouse.sh [--build DIR] [SCENE...] - the sink clickhouse against real engines.  For a nightly run, not for "make
# check": as root; installs clickhouse-server (Debian 12: 18.16.1), and chDB (npm, 570 MB) in SKEP_CHDB_DIR
# (/var/tmp/skep-chdb), once.
#
#   engine   tests/unit/test_clickhouse_sink and test_questions against the engine of a current ClickHouse: schema,
#            deduplication, roll-ups, TTL, and the answers to each question; the queries of the Grafana boards
#   down     the server is stopped while 200 processes run, and started again
#   killed   skepd is killed (kill -9) twice among 200 processes, 3 s after the last of them ended, and started again:
#            its records are on disk by then, and a batch whose answer was lost arrives again
#   sql      the queries of docs/guides/sql.md answer, with rows
#
# down and killed compare the arguments of the processes with the table: none is missing, and FINAL has none twice.
set -eu
build=${abs_builddir:-$PWD}
[ "${1:-}" != --build ] || { build=$(realpath "$2"); shift 2; }
here=$(cd "$(dirname "$0")" && pwd)
chdb=${SKEP_CHDB_DIR:-/var/tmp/skep-chdb}
[ "$(id -u)" = 0 ] || { echo "SKIP: needs root"; exit 77; }
[ -x "$build/skepd" ] || { echo "clickhouse.sh: no skepd in $build: build first, or --build DIR" >&2; exit 2; }
scenes=${*:-engine down killed sql}
export SKEP_PLUGIN_DIRS=$build/plugins-run

dir=$(mktemp -d /tmp/skep_clickhouse.XXXXXX)
server='' daemon='' engine=''
cleanup() {
	for pid in $daemon $server $engine; do
		kill -KILL "$pid" 2>/dev/null || true
	done
	wait 2>/dev/null || true
	rm -rf "$dir"
}
trap cleanup EXIT
trap 'exit 1' INT TERM
bad=0
result() { # NAME OK? WORDS
	if [ "$2" = 0 ]; then
		echo "ok - $1: $3"
	else
		echo "not ok - $1: $3"
		bad=$((bad + 1))
	fi
}
port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}
until_so() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# ---- the engine of a current ClickHouse ------------------------------------------------------
if [[ " $scenes " = *" engine "* ]]; then
	command -v npm >/dev/null || { echo "SKIP: needs node and npm"; exit 77; }
	make -C "$build" tests/unit/test_clickhouse_sink tests/unit/test_questions tests/bench/fill_lake tests/bench/fill_clickhouse \
		tests/gpu/standin_nvml.so >/dev/null
	if [ ! -d "$chdb/node_modules/chdb" ]; then
		mkdir -p "$chdb"
		echo "installing: chdb in $chdb"
		(cd "$chdb" && npm install --no-audit --no-fund chdb@3.4.0 >"$dir/npm" 2>&1) || { tail -5 "$dir/npm"; exit 1; }
	fi
	p=$(port)
	NODE_PATH=$chdb/node_modules node "$here/chdb_http.js" "$dir/chdb" "$p" </dev/null >"$dir/chdb.out" 2>&1 &
	engine=$!
	until_so 30 curl -sf "http://127.0.0.1:$p/" -d "SELECT 1" || { echo "chDB does not answer"; cat "$dir/chdb.out"; exit 1; }
	version=$(curl -s "http://127.0.0.1:$p/" -d "SELECT version()")
	for test in test_clickhouse_sink test_questions; do
		rc=0
		abs_srcdir=$(realpath "$here/../..") SKEP=$build/skep SKEP_TEST_CLICKHOUSE=http://127.0.0.1:$p \
			"$build/tests/unit/$test" >"$dir/unit" 2>&1 || rc=$?
		[ $rc = 0 ] || cat "$dir/unit"
		result "engine, $test" $rc "ClickHouse $version: $(grep -c '^\[       OK' "$dir/unit") tests"
	done
	rc=0
	abs_builddir=$build abs_srcdir=$here/../.. SKEP=$build/skep SKEPD=$build/skepd \
		SKEP_TEST_CLICKHOUSE=http://127.0.0.1:$p python3 "$here/../grafana/live.py" >"$dir/boards" 2>&1 || rc=$?
	[ $rc = 0 ] || cat "$dir/boards"
	result "engine, boards" $rc "ClickHouse $version: queries of the Grafana boards"
	kill "$engine"
	wait "$engine" 2>/dev/null || true
	engine=
fi

# ---- Debian's server --------------------------------------------------------------------------
if ! command -v clickhouse-server >/dev/null; then
	DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends clickhouse-server </dev/null >"$dir/apt" 2>&1 ||
		{ echo "SKIP: no clickhouse-server here (Debian 12 has it)"; exit 77; }
fi
http=$(port)
cat >"$dir/config.xml" <<END
<yandex><logger><level>none</level><console>0</console></logger>
<http_port>$http</http_port><tcp_port>$(port)</tcp_port><interserver_http_port>$(port)</interserver_http_port>
<listen_host>127.0.0.1</listen_host><max_connections>64</max_connections>
<path>$dir/data/</path><tmp_path>$dir/tmp/</tmp_path><users_config>users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database>
<mark_cache_size>67108864</mark_cache_size></yandex>
END
cat >"$dir/users.xml" <<'END'
<yandex><profiles><default></default></profiles>
<users><default><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota></default></users>
<quotas><default><interval><duration>3600</duration></interval></default></quotas></yandex>
END
start_server() {
	clickhouse-server --config-file="$dir/config.xml" </dev/null >>"$dir/server.out" 2>&1 &
	server=$!
	until_so 30 ask "SELECT 1" || { echo "clickhouse-server does not answer"; cat "$dir/server.out"; exit 1; }
}
ask() {
	curl -sf "http://127.0.0.1:$http/?database=${database:-default}" -d "$1"
}
start_daemon() {
	"$build/skepd" -c "$dir/skepd.conf" </dev/null >>"$dir/skepd.out" 2>&1 &
	daemon=$!
	until_so 20 "$build/skep" status --socket "$dir/s.sock" || { echo "skepd does not answer"; cat "$dir/skepd.out"; exit 1; }
}
run_some() { # FROM TO: processes whose argument is a number of its own
	for i in $(seq "$1" "$2"); do
		/bin/true "skep-fault-$scene-$i"
	done
}
arrived() { # how many of them, and their rows with FINAL
	ask "SELECT uniqExact(argv[2]), count() FROM proc FINAL WHERE tool = 'true' AND argv[2] LIKE 'skep-fault-$scene-%'"
}
all_there() {
	[ "$(arrived)" = $'200\t200' ]
}

scene() { # NAME
	scene=$1
	database=fault_$scene
	rm -f "$dir/spool.db"*
	cat >"$dir/skepd.conf" <<END
{ "interval": "1s", "probes": [ { "plugin": "proc" } ], "spool": { "path": "$dir/spool.db" },
  "control": { "socket": "$dir/s.sock" },
  "sinks": [ { "plugin": "clickhouse", "url": "http://127.0.0.1:$http", "database": "$database" } ] }
END
	database='' ask "SELECT 1" >/dev/null
	"$build/skep" lake init --clickhouse "http://127.0.0.1:$http" --database "$database" >/dev/null
	start_daemon
	run_some 1 50
	case $scene in
	down)
		sleep 2
		kill -KILL "$server"
		wait "$server" 2>/dev/null || true
		run_some 51 150
		sleep 4
		start_server
		run_some 151 200
		;;
	killed)
		sleep 3
		kill -KILL "$daemon"
		wait "$daemon" 2>/dev/null || true
		start_daemon
		run_some 51 150
		sleep 3
		kill -KILL "$daemon"
		wait "$daemon" 2>/dev/null || true
		start_daemon
		run_some 151 200
		;;
	esac
	rc=0
	until_so 90 all_there || rc=1
	result "$scene" $rc "of 200 processes there are (different, rows): $(arrived | tr '\t' ' ')"
	kill "$daemon"
	wait "$daemon" 2>/dev/null || true
	daemon=
}

queries() {
	local rc=0
	[ -x "$build/tests/bench/fill_clickhouse" ] || make -C "$build" tests/bench/fill_clickhouse >/dev/null
	"$build/skep" lake init --clickhouse "http://127.0.0.1:$http" --database skep_sql
	CLICKHOUSE_URL="http://127.0.0.1:$http/?database=skep_sql" abs_builddir=$build abs_srcdir=$here/../.. \
		python3 "$here/../docs/sql.py" clickhouse || rc=1
	result sql $rc "the queries of docs/guides/sql.md"
}

[ "$scenes" = engine ] || start_server
for s in $scenes; do
	case $s in
	engine) ;;
	down|killed) scene "$s" ;;
	sql) queries ;;
	*) echo "clickhouse.sh: there is no scene '$s': engine, down, killed, sql" >&2; exit 2 ;;
	esac
done
echo "clickhouse.sh: $bad scenes failed"
[ $bad = 0 ]
