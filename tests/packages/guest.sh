#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/packages/guest.sh - what happens to a package in the life of a host: run as root in a guest with systemd as
# process 1, with the packages in the folder of this file: skep.deb, next.deb (a higher version), rules.deb (another
# package, that brings a rule), broken.deb (one whose rule is wrong). With a file quick there, the package is only
# installed, started and removed. Prints "ok - WHAT" or "not ok - WHAT" with what
# was said; exits 1 when anything was not ok.
set -uo pipefail
export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
here=$(cd "$(dirname "$0")" && pwd)
log=/tmp/check.log
failed=0

# check WHAT COMMAND...
check() {
	local what=$1 began=$EPOCHREALTIME
	shift
	if "$@" >"$log" 2>&1; then
		printf 'ok - %s (%s s)\n' "$what" "$(awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')"
	else
		echo "not ok - $what"
		tail -n 25 "$log" | sed 's/^/# /'
		failed=1
	fi
}
# An emulated processor takes ten times as long for everything, and may stand still for a second.
slow=1
! grep -q QEMU /proc/cpuinfo || slow=10
# within COMMAND...: it succeeds, sooner or later; ends a hang
within() {
	local until=$((SECONDS + 120 * slow))
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || { echo "not within the time: $*"; "$@"; return 1; }
		sleep 0.1
	done
}
show() { systemctl show -P "$1" skepd; }
is() { [ "$(show "$1")" = "$2" ] || { echo "$1=$(show "$1"), not $2"; systemctl status --no-pager skepd; return 1; }; }
status_has() { show StatusText | grep -q -- "$1" || { echo "status: $(show StatusText)"; return 1; }; }
journal_has() { journalctl -q --no-pager -u skepd | grep -q -- "$1" || { journalctl -q --no-pager -u skepd | tail -n 20; return 1; }; }
records=/var/lib/skep/records.jsonl
# collects: a program that was never run before, and whose record arrives
programs=0
collects() {
	programs=$((programs + 1))
	cp /bin/true "/usr/local/bin/$name-$programs"
	"/usr/local/bin/$name-$programs"
	within grep -q "\"exe\": *\"/usr/local/bin/$name-$programs\"" $records
}
# the main process, which there must be: kill 0 would be for us
main_pid() {
	pid=$(show MainPID)
	[ "$pid" -gt 1 ] && return
	echo "not ok - there is a main process"
	{ systemctl status --no-pager -n 0 skepd; journalctl -q --no-pager -u skepd -o short-precise | tail -n 30; } | sed 's/^/# /'
	exit 1
}
echo "# $(. /etc/os-release; echo "$PRETTY_NAME"), $(systemctl --version | head -1), Linux $(uname -r), perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid)"

# ---- installed ------------------------------------------------------------------------------
check "install" dpkg -i "$here/skep.deb"
check "the service is ready" is ActiveState active
check "the service is enabled" is UnitFileState enabled
check "the service runs as user skep" test "$(ps -o user= -p "$(show MainPID)")" = skep
caps=$(sed -n 's/^CapEff:\t*0*//p' "/proc/$(show MainPID)/status")
check "the service has three capabilities: $caps" test "$caps" = c000080000
check "the status line counts probes and sinks" status_has '^9 probes, 1 sinks$'
check "skep status" skep status
check "every probe works" sh -c 'skep plugins && test "$(skep plugins --json | grep -c "\"state\": *\"running\"")" = 10'
# A container has a pid namespace of its own, of which skepd warns, and which doctor finds missing.
if [ "$(readlink /proc/1/ns/pid)" = "pid:[4026531836]" ]; then
	check "skep doctor" skep doctor
	check "no complaints in the journal" sh -c '! journalctl -q --no-pager -u skepd -p warning | grep -v "its budget is"'
else
	check "skep doctor: the pid namespace" sh -c 'skep doctor >/tmp/doctor; test $? = 1 && grep -A1 pid_namespace /tmp/doctor | grep -q "not the initial one"'
	check "no other complaints in the journal" sh -c '! journalctl -q --no-pager -u skepd -p warning | grep -Ev "its budget is|in a pid namespace of its own"'
fi
check "systemd-analyze: at most 2.0" systemd-analyze security --no-pager --threshold=20 skepd
check "no other user may read the lake" test "$(stat -c '%a %U' /var/lib/skep)" = "750 skep"
check "no other user may connect to the socket" test "$(stat -c '%a %U:%G' /run/skep/skepd.sock)" = "660 skep:skep"
check "every user sees their own runs" runuser -u nobody -- env HOME=/nonexistent skep runs --json
# A container has no bpffs.
if mountpoint -q /sys/fs/bpf; then
	check "there is a folder for pins" test "$(stat -c '%a %U' /sys/fs/bpf /sys/fs/bpf/skep | tr '\n' ' ')" = "711 root 700 skep "
	check "where the service can write" nsenter -t "$(show MainPID)" -m -- runuser -u skep -- \
		sh -c 'mkdir /sys/fs/bpf/skep/try && rmdir /sys/fs/bpf/skep/try'
fi

# ---- reads engines' files ---------------------------------------------------------------------
check "skep status names the reader of engines' files" \
	within sh -c 'skep status | grep "read by skep-reader.service"'
# engine_files WORDS: skep doctor says that. In a container its status is 1, for the pid namespace.
engine_files() { { skep doctor --json || :; } | tr -d '\n' | grep -o '"fact": *"engine_files"[^}]*' | grep -- "$1"; }
check "skep doctor names the reader of engines' files" engine_files "read as their users by skep-reader.service"
reader_pid() { systemctl show -P MainPID skep-reader; }
# reader_caps PID: each set of its capabilities
reader_caps() { sed -n 's/^Cap[A-Z][a-z]*:\t*0*//p' "/proc/$1/status" | tr '\n' ' '; }
caps_are_two() {
	for pid in $(reader_pid) $(pgrep -P "$(reader_pid)"); do
		# inherited, permitted, effective, bounding, ambient: CAP_SETGID is bit 6, CAP_SETUID bit 7
		[ "$(reader_caps "$pid")" = " c0 c0 c0  " ] || {
			ps -p "$pid" -o pid,user,args
			reader_caps "$pid"
			return 1
		}
	done
	[ "$(pgrep -c -P "$(reader_pid)")" = 1 ]
}
check "keeper and worker of skep-reader have CAP_SETUID and CAP_SETGID alone" caps_are_two
check "systemd-analyze: skep-reader at most 1.3" systemd-analyze security --no-pager --threshold=13 skep-reader
check "no other user may connect to the reader" test "$(stat -c '%a %U:%G' /run/skep-reader.sock)" = "600 skep:skep"

# ---- collects, by the rules that it has ------------------------------------------------------
# Guests at the same time share one kernel, and each records what all do: names of its own.
name=ran-$(cut -c1-8 /proc/sys/kernel/random/uuid)
cp /bin/true "/usr/local/bin/$name-out"
edit() { sed -i "s|$1|$2|" /etc/skep/skepd.conf && grep -qF -- "$2" /etc/skep/skepd.conf; }
check "edit the configuration: one more sink" edit '"sinks": \[' \
	'"sinks": [ { "plugin": "file", "path": "'$records'", "streams": [ "process.exit", "task" ] },'
check "systemctl reload" systemctl reload skepd
check "the status line reports it" within status_has '^reloaded: 9 probes, 2 sinks$'
check "a process is recorded" collects
if [ -e "$here/quick" ]; then
	check "remove" dpkg -r skep
	check "remove: the services have ended" \
		sh -c '! systemctl is-active skepd skep-reader skep-reader.socket && ! pgrep "^skep"'
	exit $failed
fi

# A stand-in for Snakemake: its shell command, and the metadata that Snakemake writes when the command has ended.
cat >/usr/local/bin/snakemake <<-'END'
	#!/bin/bash
	mkdir -p "$1/.snakemake/metadata" && cd "$1" && umask 077 || exit 1
	/bin/bash -c "set -euo pipefail;  sleep 0.1; true $2"
	echo "{ \"rule\": \"$2\", \"shellcmd\": \"sleep 0.1; true $2\" }" >.snakemake/metadata/b3V0
	sleep 0.3
END
chmod 755 /usr/local/bin/snakemake
groupadd lab
useradd -m -G lab worker
chmod 700 /home/worker
install -d -g lab -m 770 /srv/lab
rules=0
# named FOLDER: the installed service gives the task of that workflow the name of its rule
named() {
	rules=$((rules + 1))
	local rule=$name-rule-$rules
	runuser -u worker -- setsid /usr/local/bin/snakemake "$1" "$rule"
	within grep -E "\"task\": *\"$rule\".*\"name_source\": *\"file\"" $records
}
check "a task has its rule's name, from a file in a folder that only its user may open" named /home/worker/flow
check "a task has its rule's name, from a file in /tmp" named /tmp/flow
# In a container the kernel reports other pids than /proc has, so the reader finds no further groups.
if [ "$(readlink /proc/1/ns/pid)" = "pid:[4026531836]" ]; then
	check "a task has its rule's name, from a folder that a further group of its user may open" named /srv/lab/flow
fi
old=$(reader_pid)
kill -KILL "$(pgrep -P "$old")"
check "the reader's worker is killed: its keeper makes another" named /home/worker/again
check "the keeper is the same" test "$(reader_pid)" = "$old"
check "the reader is restarted" systemctl restart skep-reader.service
check "skepd connects to the new reader" named /home/worker/restarted
check "the reader's socket is stopped" systemctl stop skep-reader.socket
check "skep doctor has the remedy" within engine_files "systemctl start skep-reader.socket"
check "the reader's socket is started" systemctl start skep-reader.socket

printf '{ "rules": [ { "id": "out", "when": "exe = \\"/usr/local/bin/%s-out\\"", "verdict": "exclude" } ] }\n' "$name" >/etc/skep/filters.d/20-out.json
check "a rule is added: reload" systemctl reload skepd
check "skepd uses the new rule" within sh -c 'skep rules | grep -qw out'
not_recorded() {
	for _ in 1 2 3; do "/usr/local/bin/$name-out"; done
	collects && ! grep "\"exe\": *\"/usr/local/bin/$name-out\"" $records
}
check "skepd records other processes, but none that the rule excludes" not_recorded
echo '{ "rules": [ { "id": "x", "when": "exe = ", "verdict": "exclude" } ] }' >/etc/skep/filters.d/30-wrong.json
check "a wrong rule: systemctl reload fails" sh -c '! systemctl reload skepd'
check "a wrong rule: the journal has file and line" within journal_has '30-wrong.json:1:'
check "a wrong rule: skepd keeps running" is ActiveState active
kill -HUP "$(show MainPID)"
check "SIGHUP past the check: refused, and the status line reports it" within status_has '^reload refused, running configuration unchanged: .*30-wrong.json:1: '
check "skepd still collects after the refused reload" collects
rm /etc/skep/filters.d/30-wrong.json
check "the wrong rule is removed: reload" systemctl reload skepd
check "another package brings a rule: dpkg's trigger reloads" dpkg -i "$here/rules.deb"
check "skepd uses the other package's rule" within sh -c 'skep rules | grep -q ran-trigger'
check "another package brings a wrong rule: dpkg still installs it" dpkg -i "$here/broken.deb"
cp "$log" /tmp/dpkg.log
check "dpkg's output reports the wrong rule" grep -q 'the new rules were rejected' /tmp/dpkg.log
check "purge that package: skepd accepts the rules again" sh -c 'dpkg --purge skep-rules-broken 2>&1 | tee /tmp/dpkg.log; ! grep "were rejected" /tmp/dpkg.log'
check "the status line reports it" within status_has '^reloaded'

# ---- hangs, dies ----------------------------------------------------------------------------
restarts=$(show NRestarts)
main_pid
kill -KILL "$pid"
again() {
	[ "$(show NRestarts)" -gt "$restarts" ] && is ActiveState active && [ "$(show MainPID)" != "$pid" ] && return
	systemctl status --no-pager skepd
	return 1
}
check "killed: systemd starts skepd again" within again
check "skepd collects" collects
check "the new skepd has a reader of engines' files" named /home/worker/killed
# skepd pings twice in that time. With 2 s a virtual machine that stops for 1 s takes half of it, and systemd would kill
# a healthy skepd.
watchdog=$((slow + 4))
mkdir -p /run/systemd/system/skepd.service.d
printf '[Service]\nWatchdogSec=%ss\n' $watchdog >/run/systemd/system/skepd.service.d/watchdog.conf
systemctl daemon-reload
check "restart, with a watchdog of $watchdog s" systemctl restart skepd
main_pid
sleep $((watchdog + 3))
check "pings keep the watchdog quiet" is MainPID "$pid"
restarts=$(show NRestarts)
main_pid
kill -STOP "$pid"
check "a loop that hangs: the watchdog starts skepd again" within again
check "the journal has the watchdog's timeout" within journal_has 'Watchdog timeout'
rm -r /run/systemd/system/skepd.service.d
systemctl daemon-reload
# systemd 257 as the init of a container once failed to spawn its executor ("No such file or directory", result
# resources) for a unit that had ended in the same moment. Restart= then starts the unit again.
restarted() {
	systemctl restart skepd || { [ "$(systemctl show -P Result skepd)" = resources ] && within systemctl -q is-active skepd; }
}
check "restart, with the packaged watchdog" restarted

# ---- upgraded, downgraded, removed --------------------------------------------------------------
main_pid
lake=$(find /var/lib/skep -name '*.db' | head -1)
# A program that is run all the time, each run with its number.
meanwhile_begin() {
	cp /bin/true "/usr/local/bin/$name-meanwhile"
	rm -f /tmp/meanwhile.stop
	(n=0; while [ ! -e /tmp/meanwhile.stop ]; do n=$((n + 1)); "/usr/local/bin/$name-meanwhile" $n; echo $n >/tmp/meanwhile; sleep 0.02; done) &
	meanwhile=$!
	sleep 1
}
meanwhile_end() {
	sleep 1
	touch /tmp/meanwhile.stop
	wait $meanwhile
	collects >/dev/null # what came before is there, too
	recorded=$(grep -c "\"exe\": *\"/usr/local/bin/$name-meanwhile\"" $records)
	different=$(grep "\"exe\": *\"/usr/local/bin/$name-meanwhile\"" $records | grep -o '"upid": *"[^"]*"' | sort -u | wc -l)
	away=$(journalctl -q --no-pager -u skepd -o short-unix | awk '/SIGTERM: stopping/ { t = $1 } / collects: / && t { ms = ($1 - t) * 1000; t = 0 } END { printf "%.0f", ms }')
	echo "# $1: skepd was away for $away ms; of $(cat /tmp/meanwhile) processes meanwhile $recorded have a record, $((recorded - different)) of them twice"
}
meanwhile_begin
check "upgrade" dpkg -i --force-confold "$here/next.deb"
meanwhile_end upgrade
if [ -n "$(ls /sys/fs/bpf/skep 2>/dev/null)" ]; then
	check "the upgrade: each process of that time has one record" test "$recorded $different" = "$(cat /tmp/meanwhile) $(cat /tmp/meanwhile)"
fi
check "the upgrade installed the higher version" test "$(dpkg-query -W -f '${Version}' skep)" = "$(dpkg-deb -f "$here/next.deb" Version)"
check "the upgrade restarted skepd" test "$(show MainPID)" != "$pid"
check "skepd is ready, with the edited configuration" status_has '^9 probes, 2 sinks$'
check "the upgrade keeps the lake" test -e "$lake"
check "the upgrade keeps the rules" sh -c 'skep rules | grep -qw out'
check "skepd collects after the upgrade" collects
# ---- upgraded by itself, where a site wants that -----------------------------------------------------
dpkg -i --force-confold "$here/skep.deb" >/dev/null
check "upgrades by itself are not enabled" sh -c '! systemctl is-enabled skep-update.timer'
if [ -d "$here/repository" ]; then
	update=/usr/lib/skep/skep-update
	version() { dpkg-query -W -f '${Version}' skep; }
	# source FOLDER: where updates come from
	source_is() {
		echo "deb [signed-by=$here/repository/key.gpg] file:$here/$1 ./" >/etc/apt/sources.list.d/skep.list
		printf 'SOURCE=/etc/apt/sources.list.d/skep.list\nSECONDS_WELL=%s\n' $((slow * 3)) >/etc/skep/update.conf
	}
	old=$(version)
	next=$(dpkg-deb -f "$here/next.deb" Version)
	source_is repository-strange
	check "skep-update: a repository that another key has signed is refused" sh -c "! $update"
	check "skep-update prints the reason" sh -c "$update 2>&1 | grep -i 'sign'"
	for word in trusted=yes trusted=1 allow-insecure=on; do
		source_is repository-strange
		sed -i "s/signed-by=[^]]*/$word/" /etc/apt/sources.list.d/skep.list
		check "skep-update: a repository without a signature is refused ($word)" sh -c "! $update 2>/dev/null && $update 2>&1 | grep 'signed-by='"
	done
	rm /etc/skep/update.conf
	check "skep-update: so it is where no SOURCE is named" sh -c "! $update 2>/dev/null && $update 2>&1 | grep 'skep.list: says'"
	check "skep-update installed nothing" test "$(version)" = "$old"
	source_is repository
	check "skep-update --check reports the upgrade" sh -c "$update --check | grep 'would upgrade from $old to $next'"
	check "skep-update upgrades" $update
	check "skep-update installed the newest version" test "$(version)" = "$next"
	check "the newest version is ready" within is ActiveState active
	check "skepd collects" collects
	check "skep-update again: nothing to do" sh -c "$update | grep 'is the newest'"
	source_is repository-bad
	check "a version that does not start: status 1" sh -c "$update; test \$? -eq 1"
	sed 's/^/# /' "$log"
	check "skep-update went back to the version before" test "$(version)" = "$next"
	check "the version before is ready again" within is ActiveState active
	check "skepd collects" collects
	check "skep-update does not try the bad version again" sh -c "$update | grep 'was not well here before'"
	rm /etc/skep/update.conf /etc/apt/sources.list.d/skep.list
	find /var/lib/apt/lists -name '*packages_repository*' -delete
else
	echo "# no repository here: upgrades by itself were not tried"
fi
dpkg -i --force-confold "$here/next.deb" >/dev/null

check "downgrade" dpkg -i --force-confold "$here/skep.deb"
# Seen once: the first start failed with 219/CGROUP, as systemd 252 read a process without a pid in the unit's cgroup
# (Linux 6.18 lists ended ones for a moment). The unit starts it again a second later.
check "the downgraded skepd is ready" within is ActiveState active
check "skepd collects" collects
# Neither a crash nor a watchdog but those above. (The way back from the bad version has ends of its own, of another
# kind.)
check "the journal has one kill, and one by the watchdog" test "$(journalctl -q --no-pager -u skepd | sed -n 's/.*Main process exited, code=\(killed\|dumped\), status=//p' |
	tr '\n' ' ')" = "9/KILL 6/ABRT "
check "remove" dpkg -r skep
check "remove: the services have ended" \
	sh -c '! systemctl is-active skepd skep-reader skep-reader.socket && ! pgrep "^skep"'
check "remove: configuration and records stay" test -e /etc/skep/skepd.conf -a -e "$lake"
check "remove: nothing is left in the kernel" test ! -e /sys/fs/bpf/skep
check "install again" dpkg -i "$here/skep.deb"
check "install again: skepd uses the edited configuration" status_has '^9 probes, 2 sinks$'
dpkg --purge skep-rules-site >/dev/null
check "purge" dpkg --purge skep
# The administrator's own rule stays, and the user, whose number other files may have.
rm /etc/skep/filters.d/20-out.json && rmdir /etc/skep/filters.d /etc/skep
left() { find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path "$here" -o -path /var/log -o -path /var/lib/dpkg \) -prune \
	-o -name '*skep*' -print; find /run /sys/fs/bpf -name '*skep*' 2>/dev/null; }
check "purge: nothing is left" sh -c "$(declare -f left); here=$here; left; test -z \"\$(left)\""
exit $failed
