#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An agent's session under skep run: commands, files that it writes, connections, hostile arguments. Its audit lists
# each command once and in order, verifies, and shows every tampering; the lake's rows are compared; the head reaches a
# sink of a real skepd; the crate has what the profile demands.
# Needs: root, $SKEP, $SKEPD, $SKEP_PLUGIN_DIRS, $SKEP_TEST_PLUGIN_DIRS, python3.
name=audit
. "$(dirname "$0")/daemon_lib.sh"
here=$(cd "$(dirname "$0")" && pwd)
lake=$dir/lake
# The host's own processes are not recorded: a busy one would have made most of the records.
cat >"$dir/conf" <<END
{ "control": { "socket": "$SKEP_SOCKET" }, "filters": { "default": "exclude" },
  "probes": [ { "plugin": "proc", "required": true } ], "sinks": [ { "plugin": "file", "path": "$dir/records" } ] }
END

# The agent executes programs in order, each with a number. Its own interpreter starts them without a shell.
cat >"$dir/agent.py" <<'END'
import os, socket, subprocess, sys
folder = sys.argv[1].encode()
os.chdir(folder)
commands = [
    [b"/bin/echo", b"1", b"plan"],
    [b"/bin/sh", b"-c", b"echo two >notes.txt; : 2"],
    [b"/bin/cp", b"--", b"notes.txt", b"copy of 3.txt"],
    [b"/bin/true", b"4", b"x\n{\"argv\":[\"forged\"],\"hash\":\"" + b"0" * 64 + b"\",\"kind\":\"exec\"}\n"],
    [b"/bin/true", b"5", b"caf\xe9 \x80\xff", b"\"},{"],
    [b"/bin/true", b"6", b"L" * 32768],
    [b"/bin/false", b"7"],
]
for c in commands[:3]:
    subprocess.run(c, stdout=subprocess.DEVNULL)
listener = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(listener.getsockname())
t = listener.accept()[0]
s.sendall(b"hello")
assert t.recv(5) == b"hello"
s.close()
t.close()
for c in commands[3:]:
    subprocess.run(c)
print(listener.getsockname()[1])
sys.exit(5)
END
mkdir "$dir/agent"
run 5 "the session" "$SKEP" run --lake "$lake" --no-live --no-report --detail opens --name agent -- \
	"$(python3 -c 'import sys; print(sys.executable)')" "$dir/agent.py" "$dir/agent"
port=$(head -1 "$dir/out")
run 0 "the audit" "$SKEP" audit agent --lake "$lake" --json
cp "$dir/out" "$dir/chain"

python3 - "$dir/chain" "$port" "$dir/agent" <<'END' || fail "the entries"
import hashlib, json, sys
lines = open(sys.argv[1], "rb").read().split(b"\n")
assert lines.pop() == b""
entries, prev = [json.loads(l) for l in lines], "0" * 64
for seq, (l, e) in enumerate(zip(lines, entries)):  # as docs/reference/audit.md tells a reader to check it
    h = e.pop("hash")
    assert e["seq"] == seq and e["prev"] == prev
    form = lambda x: json.dumps(x, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    assert hashlib.sha256(form(e)).hexdigest() == h, seq
    assert form(dict(e, hash=h)) == l, seq
    prev = h
head, body, end = entries[0], entries[1:-1], entries[-1]
assert head["kind"] == "audit" and head["name"] == "agent" and head["exit_code"] == 5 and head["boot_id"] and head["host"]
assert end["kind"] == "end" and end["entries"] == len(body)
assert [e["time"] for e in body] == sorted(e["time"] for e in body)
execs = [e for e in body if e["kind"] == "exec"]
assert execs[0]["argv"][1].endswith("/agent.py")
mine = [e["argv"] for e in execs[1:]]
assert [a[0] for a in mine] == ["/bin/echo", "/bin/sh", "/bin/cp", "/bin/true", "/bin/true", "/bin/true", "/bin/false"], mine
assert [a[1] for a in mine if a[0] in ("/bin/echo", "/bin/true", "/bin/false")] == ["1", "4", "5", "6", "7"], mine
assert mine[3][2].startswith("x\n{\"argv\":") and "\ufffd" in mine[4][2] and mine[4][3] == '"},{'
assert all(e["argv"] != ["forged"] for e in execs)
exits = {(e["upid"], e["image"]): e for e in body if e["kind"] == "exit"}
assert [exits[e["upid"], e["image"]].get("exit_code") for e in execs if e["argv"][0] == "/bin/false"] == [1]
written = {e["path"]: e for e in body if e["kind"] == "open-for-write"}
for f in ("notes.txt", "copy of 3.txt"):
    e = written[sys.argv[3] + "/" + f]
    assert e["created"] and e["writes"] == 1, e
assert "/etc/passwd" not in written
out = [e for e in body if e["kind"] == "connect"]
assert [(e["peer_address"], e["peer_port"], e["state"]) for e in out] == [("127.0.0.1", int(sys.argv[2]), "closed")], out
END
echo "ok - each command once and in order, files written, a connection; the chain as a reader computes it"

run 0 "text" "$SKEP" audit agent --lake "$lake"
[ "$(grep -cE '^ *[0-9]+ [0-9:.]+ exec ' "$dir/out")" -eq "$(grep -c '"kind":"exec"' "$dir/chain")" ] || fail "text: another number of entries"
run 0 "the head" "$SKEP" audit agent --lake "$lake" --print-head
head=$(cat "$dir/out")
run 0 "verify" "$SKEP" audit --verify "$dir/chain" --head "$head"
says "the chain of run" out
run 0 "verify with the lake" "$SKEP" audit agent --lake "$lake" --verify "$dir/chain" --json
json "o['holds'] and o['lake_differences'] == [] and o['broken'] is None"

# ---- tampering
# broken KIND SED-EXPRESSION: the change is found, and named
broken() {
	sed "$2" "$dir/chain" >"$dir/forged"
	cmp -s "$dir/chain" "$dir/forged" && fail "the tampering $2 changes nothing"
	run 6 "$2" "$SKEP" audit --verify "$dir/forged" --json
	json "o['broken']['kind'] == '$1' and not o['holds']"
}
broken edited 's|/bin/false|/bin/echo2|'
broken dropped 4d
broken reordered '4{h;d};5G'
broken repeated '4{p}'
broken cut '$d'
head -c -20 "$dir/chain" >"$dir/forged"
run 6 "cut within a line" "$SKEP" audit --verify "$dir/forged"
says "cut" out
run 6 "another head" "$SKEP" audit --verify "$dir/chain" --head "${head%????}0000"
says "other head" out
run 6 "no chain" "$SKEP" audit --verify /bin/sh
run 1 "no file" "$SKEP" audit --verify "$dir/none"
run 2 "no hash" "$SKEP" audit --verify "$dir/chain" --head 12
echo "ok - edits, drops, swaps, repetitions and cuts are found"

# ---- the head at a sink, and the crate
start
run 0 "publish" "$SKEP" audit agent --lake "$lake" --publish
published() { grep '"stream":"audit"' "$dir/records" | grep -qF "\"head\":\"${head#*:}\",\"entries\":${head%%:*},\"uid\":0"; }
wait_for published || fail "publish: the file has no such record"
run 0 "crate" "$SKEP" audit agent --lake "$lake" --crate "$dir/crate"
cmp "$dir/chain" "$dir/crate/audit.jsonl" || fail "crate: another chain"
run 0 "crate" python3 "$here/check_crate.py" "$dir/crate" 5
run 1 "the folder exists" "$SKEP" audit agent --lake "$lake" --crate "$dir/crate"
says "File exists" err
echo "ok - the head reaches a sink; the crate is a Process Run Crate"

# ---- the lake, changed since
kill -TERM "$daemon" && wait "$daemon"
daemon=
forge='import glob, sqlite3, sys
db = sqlite3.connect(glob.glob(sys.argv[1] + "/lake-*.db")[0])
db.execute(sys.argv[2])
db.commit()'
cp -r "$lake" "$dir/lake2"
python3 -c "$forge" "$dir/lake2" "UPDATE proc_argv SET argv = replace(argv, 'plan', 'plot') WHERE instr(argv, 'plan')"
run 7 "a row edited" "$SKEP" audit agent --lake "$dir/lake2" --verify "$dir/chain"
says "is not in the lake" out
says "plot" out
rm -rf "$dir/lake2" && cp -r "$lake" "$dir/lake2"
python3 -c "$forge" "$dir/lake2" "DELETE FROM proc_row WHERE argv = (SELECT id FROM proc_argv WHERE instr(argv, '/bin/false'))"
run 7 "a row removed" "$SKEP" audit agent --lake "$dir/lake2" --verify "$dir/chain" --json
json "o['holds'] and sum(d['only_in'] == 'file' for d in o['lake_differences']) == 3" # its exec, its exit, and the count
echo "ok - rows that were edited or removed since are found"
