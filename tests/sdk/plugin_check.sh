#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# skep-dev check: sound plugins pass; wrong files, wrong ABIs, defects, crashes and hangs are findings with the
# exit code that the help text names.  skep-dev new: a project whose name is everywhere.
set -euo pipefail
plugins=${SKEP_TEST_PLUGIN_DIRS:-plugins-test}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
bad=0

# expect CODE TEXT ARGUMENTS...: skep-dev check ends with CODE and says TEXT
expect() {
	local code=$1 text=$2 rc=0
	shift 2
	"$SKEP_DEV" check "$@" >"$work/out" 2>"$work/err" || rc=$?
	if [ "$rc" -ne "$code" ] || ! grep -qF -- "$text" "$work/out" "$work/err"; then
		echo "skep-dev check $*: exit code $rc, expected $code and '$text':"
		sed 's/^/    /' "$work/out" "$work/err"
		bad=1
	fi
}

expect 0 'sound' "$plugins/defective.so"
expect 0 'defective: 3 records' "$plugins/defective.so"
expect 4 'warning  life       start() failed: CAP_BPF is needed' --option 'do=start may not' "$plugins/defective.so"
expect 0 'opened and closed' --option 'do=crash in start' --no-start "$plugins/defective.so"
expect 0 'sampled 5 times' --samples 5 "$plugins/defective.so"

# what a plugin does wrong
expect 1 'error    life       crashed in open: signal 6 (Aborted)' --option 'do=crash in open' "$plugins/defective.so"
# A sanitizer takes that signal, and ends the process itself.
[ -n "${SKEP_SANITIZE:-}" ] ||
	expect 1 'error    life       crashed in start: signal 11' --option 'do=crash in start' "$plugins/defective.so"
expect 1 'error    life       crashed in stop: signal 6' --option 'do=crash in stop' "$plugins/defective.so"
expect 1 'error    life       crashed in close: signal 6' --option 'do=crash in close' "$plugins/defective.so"
expect 1 'a timer was left running' --option do=timer "$plugins/defective.so"
expect 1 'open() failed: as it was told' --option 'do=open fails' "$plugins/defective.so"
expect 1 'no option "dd"' --option dd=1 "$plugins/defective.so"
expect 1 'expected NAME=VALUE' --option dd "$plugins/defective.so"
expect 1 'ended the process in start' --option 'do=exit in start' "$plugins/defective.so"

# plugins built with the headers of each minor
if [ "$(uname -m)" = x86_64 ]; then
	for old in abi10 abi10sink; do
		cp "$abs_srcdir/tests/abi/fixtures/$old.so" "$work/"
		chmod 644 "$work/$old.so"
		expect 0 sound "$work/$old.so"
		rm "$work/$old.so"
	done
else
	echo 'skip: these plugins are for amd64'
fi

# files and ABIs; the loader's own texts are held in tests/abi/test_mangled
cp "$plugins/defective.so" "$work/defective.so"
chmod 666 "$work/defective.so"
expect 1 'is writable by everybody (mode 0666)' "$work/defective.so"
chmod 644 "$work/defective.so"
mv "$work/defective.so" "$work/other.so"
expect 5 'carries the plugin "defective"' "$work/other.so"
head -c 3000 "$plugins/defective.so" >"$work/defective.so"
expect 5 'truncated: the file has 3000 bytes' "$work/defective.so"
echo 'no ELF' >"$work/defective.so"
expect 5 'error    abi' "$work/defective.so"
: >"$work/defective.so"
expect 5 'error    abi' "$work/defective.so"
expect 5 'undefined symbol: skep_function_of_no_library' "$plugins/undefined.so"
expect 5 'does not export skep_plugin_entry()' "$plugins/noentry.so"
expect 1 'crashed in loading: signal 6' "$plugins/trap.so"
expect 1 'there is no missing.so' "$work/missing.so"
rm "$work/defective.so" "$work/other.so"
# a plugin of a newer minor: changes the minor in the note and in the descriptor of the binary
python3 - "$plugins/defective.so" "$work/defective.so" <<'PY'
import struct, sys
image = bytearray(open(sys.argv[1], "rb").read())
at = image.find(struct.pack("<I", 0x70656b73) + struct.pack("<H", 1), image.find(b"skep\0\0\0\0"))
struct.pack_into("<H", image, at + 6, 99)
open(sys.argv[2], "wb").write(image)
PY
expect 5 'ABI 1.99' "$work/defective.so"
rm "$work/defective.so"

# more exports than one
printf 'int other_symbol(void);\nint other_symbol(void) { return 1; }\n' >"$work/more.c"
${CC:-cc} -shared -fPIC -I"$abs_srcdir/include" -o "$work/defective.so" "$abs_srcdir/tests/sdk/defective.c" "$work/more.c" -lpthread
expect 5 'error    exports    exports "other_symbol"' "$work/defective.so"
rm "$work/defective.so"

# usage
expect 2 'NAME.so' "$work"
expect 2 'takes one file' "$plugins/defective.so" "$plugins/trap.so"
expect 2 'did you mean --samples' --smaples 3 "$plugins/defective.so"

rc=0
"$SKEP" plugin check "$plugins/defective.so" >"$work/out" 2>&1 || rc=$?
[ $rc -eq 2 ] && [ "$(wc -l <"$work/out")" -eq 1 ] && grep -q 'skep-dev check' "$work/out" || { echo "skep plugin: exit code $rc, $(cat "$work/out")"; bad=1; }

# for programs
"$SKEP_DEV" check --json --option 'do=crash in open' "$plugins/defective.so" >"$work/json" || true
python3 - "$work/json" <<'PY' || bad=1
import json, sys
o = json.load(open(sys.argv[1]))
assert o["sound"] is False and o["errors"] >= 1 and o["exit_code"] in (1, 5), o
assert any(f["severity"] == "error" and f["check"] == "life" and "signal 6" in f["text"] for f in o["findings"]), o
PY

# a sink that wants an option
rc=0
"$SKEP_DEV" check "${SKEP_PLUGIN_DIRS:-plugins-run}/file.so" >"$work/out" || rc=$?
[ ! -e "${SKEP_PLUGIN_DIRS:-plugins-run}/file.so" ] || { [ $rc -eq 1 ] && grep -q '"path" is required; give it: --option path=VALUE' "$work/out"; } || { echo "no path: exit code $rc"; cat "$work/out"; bad=1; }

# sinks answer a batch
for sink in file lake; do
	[ -e "${SKEP_PLUGIN_DIRS:-plugins-run}/$sink.so" ] || continue
	expect 0 'ok       submit     a batch of two records was acknowledged' --submit --option "path=$work/$sink" "${SKEP_PLUGIN_DIRS:-plugins-run}/$sink.so"
done
[ ! -e "$work/file" ] || [ "$(grep -c '"skep.check.number"' "$work/file")" -eq 2 ] || { echo 'the file sink has not written them'; bad=1; }
[ ! -c /dev/full ] || [ ! -e "${SKEP_PLUGIN_DIRS:-plugins-run}/file.so" ] ||
	expect 0 'warning  submit' --submit --option path=/dev/full "${SKEP_PLUGIN_DIRS:-plugins-run}/file.so"

# our own plugins
for so in "${SKEP_PLUGIN_DIRS:-plugins-run}"/*.so; do
	case ${so##*/}:${SKEP_SANITIZE:-} in
	*:?*) continue ;;
	file.so:*|lake.so:*) o=(--option "path=$work/${so##*/}.out") ;;
	http.so:*|clickhouse.so:*|remote_write.so:*) o=(--option url=http://127.0.0.1:9) ;;
	kafka.so:*) o=(--option brokers=127.0.0.1:9) ;;
	*) o=() ;;
	esac
	rc=0
	"$SKEP_DEV" check "${o[@]}" "$so" >"$work/out" || rc=$?
	# 4: this user may not load BPF programs
	if { [ $rc -ne 0 ] && [ $rc -ne 4 ]; } || grep -q '^  warning  [^l]' "$work/out"; then
		echo "our own $so:"
		cat "$work/out"
		bad=1
	fi
done

# a new project
templates=$abs_srcdir/sdk/templates
for kind in probe-proc probe-bpf sink recognizer; do
	"$SKEP_DEV" new --templates "$templates" "$kind" ibports "$work/$kind" >"$work/out"
	if grep -rqi example "$work/$kind" || find "$work/$kind" -name '*example*' | grep -q .; then
		echo "skep-dev new $kind: the word 'example' is left"
		bad=1
	fi
	[ "$(find "$work/$kind" -type f | wc -l)" -eq "$(find "$templates/$kind" -type f | wc -l)" ] || { echo "$kind: files are missing"; bad=1; }
done
[ -x "$work/recognizer/test_ibports.sh" ] || { echo 'a script of the template is not executable'; bad=1; }
for wrong in 'probe-proc Bad' 'probe-proc 9x' 'probe-proc a-b' 'nothing good' '../templates good' 'probe-proc'; do
	rc=0
	# shellcheck disable=SC2086 # words
	(cd "$work" && "$SKEP_DEV" new --templates "$templates" $wrong >/dev/null 2>&1) || rc=$?
	[ $rc -eq 2 ] || { echo "skep-dev new $wrong: exit code $rc, expected 2"; bad=1; }
done
rc=0
"$SKEP_DEV" new --templates "$templates" sink ibports "$work/sink" >/dev/null 2>&1 || rc=$?
[ $rc -eq 1 ] || { echo "skep-dev new into a folder that is there: $rc"; bad=1; }
exit $bad
