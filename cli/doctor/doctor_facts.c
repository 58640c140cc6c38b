/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_facts.c - one function gathers the facts, and another evaluates them, so
 * that a test can evaluate any machine.
 */
#include "cli/doctor/doctor_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <skep/mountinfo.h>
#include <skep/pidns.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/json_out.h"
#include "cli/base/text.h"

struct facts {
	const char *root;
	json_t *o;
	bool failed;
};

static void put(struct facts *f, const char *key, json_t *value)
{
	if (json_object_set_new(f->o, key, value) < 0)
		f->failed = true;
}

static json_t *text_or_null(const char *s)
{
	return s && *s ? json_out_string(s) : json_null();
}

static FILE *open_below(const struct facts *f, const char *path)
{
	char *whole = text_format("%s%s", f->root, path);
	FILE *file = whole ? fopen(whole, "re") : NULL;

	free(whole);
	return file;
}

static json_t *number_of(const struct facts *f, const char *path)
{
	char line[32], *end;
	long n;

	text_first_line_take(open_below(f, path), line, sizeof(line));
	n = strtol(line, &end, 10);
	return end == line ? json_null() : json_integer(n);
}

/* "none [integrity] confidentiality" */
static json_t *lockdown(const struct facts *f)
{
	char line[128], *from, *to;

	text_first_line_take(open_below(f, "/sys/kernel/security/lockdown"), line, sizeof(line));
	from = strchr(line, '[');
	to = from ? strchr(from, ']') : NULL;
	if (!to)
		return json_null();
	*to = '\0';
	return json_string(from + 1);
}

/*
 * Finds the mounted cgroup hierarchies, and the hierarchy that limits memory: skepd takes a process's cgroup path from
 * the latter (core/identify/cgroup.c).
 */
static void mounts(struct facts *f)
{
	struct skep_mountinfo file = { .file = open_below(f, "/proc/self/mountinfo") };
	bool v1 = false, v2 = false, v1_memory = false;
	char *bpffs = NULL, *tracefs = NULL;
	struct skep_mount m;

	while (skep_mountinfo_next(&file, &m)) {
		if (strcmp(m.type, "bpf") == 0 && !bpffs)
			bpffs = strdup(m.path);
		else if (strcmp(m.type, "tracefs") == 0 && !tracefs)
			tracefs = strdup(m.path);
		else if (strcmp(m.type, "cgroup2") == 0)
			v2 = true;
		else if (strcmp(m.type, "cgroup") == 0) {
			v1 = true;
			v1_memory |= skep_mount_has(m.super_options, "memory");
		}
	}
	skep_mountinfo_close(&file);
	put(f, "bpffs", text_or_null(bpffs));
	put(f, "tracefs", text_or_null(tracefs));
	put(f, "cgroup_mode", text_or_null(v1 && v2 ? "hybrid" : v2 ? "v2" : v1 ? "v1" : ""));
	put(f, "cgroup_memory", text_or_null(v1_memory ? "v1" : v2 ? "v2" : ""));
	free(bpffs);
	free(tracefs);
}

static const struct {
	const char *name;
	unsigned bit;
} capability_names[] = {
	{ "CAP_DAC_READ_SEARCH", 2 }, { "CAP_NET_ADMIN", 12 }, { "CAP_SYS_PTRACE", 19 }, { "CAP_SYS_ADMIN", 21 },
	{ "CAP_SYS_RESOURCE", 24 },   { "CAP_SYSLOG", 34 },    { "CAP_PERFMON", 38 },    { "CAP_BPF", 39 },
};

static void capabilities(struct facts *f, pid_t pid)
{
	char *path = pid > 0 ? text_format("/proc/%d/status", (int)pid) : strdup("/proc/self/status");
	FILE *file = path ? open_below(f, path) : NULL;
	uint64_t held = 0;
	char line[256];
	bool known = false;
	json_t *list;

	while (file && fgets(line, sizeof(line), file))
		known |= sscanf(line, "CapEff: %" SCNx64, &held) == 1;
	if (file)
		fclose(file);
	free(path);
	list = known ? json_array() : json_null();
	for (size_t i = 0; known && i < sizeof(capability_names) / sizeof(capability_names[0]); i++)
		if (held >> capability_names[i].bit & 1 &&
		    json_array_append_new(list, json_string(capability_names[i].name)) < 0)
			f->failed = true;
	put(f, "capabilities", list);
}

static void pid_namespace(struct facts *f, pid_t pid)
{
	char *path = pid > 0 ? text_format("%s/proc/%d/ns/pid", f->root, (int)pid)
			     : text_format("%s/proc/self/ns/pid", f->root);
	unsigned long long number = path ? skep_pid_ns(path) : 0;

	free(path);
	put(f, "pid_namespace", number ? json_integer((json_int_t)number) : json_null());
}

json_t *doctor_facts(const char *root, pid_t pid)
{
	struct facts f = { .root = root, .o = json_object() };
	struct utsname name = { 0 };
	char line[512];
	FILE *btf;

	if (!f.o)
		return NULL;
	uname(&name);
	text_first_line_take(open_below(&f, "/proc/sys/kernel/osrelease"), line, sizeof(line));
	put(&f, "kernel", text_or_null(line));
	put(&f, "machine", text_or_null(name.machine));
	btf = open_below(&f, "/sys/kernel/btf/vmlinux");
	put(&f, "btf", json_boolean(btf != NULL));
	if (btf)
		fclose(btf);
	mounts(&f);
	put(&f, "perf_event_paranoid", number_of(&f, "/proc/sys/kernel/perf_event_paranoid"));
	put(&f, "unprivileged_bpf_disabled", number_of(&f, "/proc/sys/kernel/unprivileged_bpf_disabled"));
	put(&f, "bpf_jit_enable", number_of(&f, "/proc/sys/net/core/bpf_jit_enable"));
	put(&f, "lockdown", lockdown(&f));
	text_first_line_take(open_below(&f, "/sys/kernel/security/lsm"), line, sizeof(line));
	put(&f, "lsm", text_or_null(line));
	put(&f, "pid_max", number_of(&f, "/proc/sys/kernel/pid_max"));
	capabilities(&f, pid);
	pid_namespace(&f, pid);
	if (f.failed) {
		json_decref(f.o);
		return NULL;
	}
	return f.o;
}

/* ---- evaluated ---------------------------------------------------------------------------- */

static void say(json_t *list, const char *fact, const char *state, const char *text)
{
	json_array_append_new(
		list, json_pack("{s:s, s:s, s:o}", "fact", fact, "state", state, "text", json_out_string(text)));
}

static bool held(const json_t *list, const char *name)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (strcmp(json_string_value(one) ? json_string_value(one) : "", name) == 0)
			return true;
	return false;
}

static void judge_capabilities(json_t *list, const json_t *o)
{
	const json_t *have = json_object_get(o, "capabilities"), *one;
	bool bpf = held(have, "CAP_BPF") && held(have, "CAP_PERFMON"), admin = held(have, "CAP_SYS_ADMIN");
	char text[512] = "";
	size_t i, n = 0;

	if (!json_is_array(have)) {
		say(list, "capabilities", "partial", "not known: /proc does not show them");
		return;
	}
	json_array_foreach(have, i, one) n += (size_t)snprintf(text + n, n < sizeof(text) ? sizeof(text) - n : 0,
							       "%s%s", n ? " " : "", json_string_value(one));
	if (bpf || admin)
		say(list, "capabilities", "ok", text);
	else if (n == 0)
		say(list, "capabilities", "missing",
		    "none; collecting needs CAP_BPF and CAP_PERFMON: run it as root, or grant them");
	else {
		char *whole = text_format("%s; collecting needs CAP_BPF and CAP_PERFMON as well", text);

		say(list, "capabilities", "missing", whole ? whole : text);
		free(whole);
	}
}

static void judge_mount(json_t *list, const json_t *o, const char *fact, const char *without)
{
	const char *at = answer_text(o, fact);

	say(list, fact, *at ? "ok" : "partial", *at ? at : without);
}

static void judge_cgroup(json_t *list, const json_t *o)
{
	const char *mode = answer_text(o, "cgroup_mode"), *memory = answer_text(o, "cgroup_memory");
	char *text;

	if (!*mode) {
		say(list, "cgroup", "partial", "no hierarchy is mounted here: cgroups are known by number only");
		return;
	}
	text = text_format("%s; skepd names the cgroups of processes by the %s hierarchy, which limits "
		"memory", mode, memory);
	say(list, "cgroup", "ok", text ? text : mode);
	free(text);
}

static void judge_lockdown(json_t *list, const json_t *o)
{
	const char *mode = answer_text(o, "lockdown");

	if (strcmp(mode, "confidentiality") == 0)
		say(list, "lockdown", "missing",
		    "confidentiality: BPF may not read kernel memory; boot with lockdown=integrity or none");
	else
		say(list, "lockdown", "ok", *mode ? mode : "not built in, or securityfs is not mounted");
}

static void judge_perf(json_t *list, const json_t *o)
{
	const json_t *paranoid = json_object_get(o, "perf_event_paranoid");
	char *text;

	if (!json_is_integer(paranoid)) {
		say(list, "perf_event_paranoid", "partial",
		    "no perf events in this kernel: classic tracepoints and uprobes cannot be attached");
		return;
	}
	/* Debian's and Ubuntu's 3 and 4 refuse perf_event_open(2) even to holders of CAP_PERFMON alone. */
	if (json_integer_value(paranoid) > 2 && !held(json_object_get(o, "capabilities"), "CAP_SYS_ADMIN")) {
		text = text_format(
			"%lld: refuses perf_event_open(2) without CAP_SYS_ADMIN on some kernels; "
			"sysctl kernel.perf_event_paranoid=2",
			(long long)json_integer_value(paranoid));
		say(list, "perf_event_paranoid", "partial", text ? text : "");
	} else {
		text = text_format("%lld", (long long)json_integer_value(paranoid));
		say(list, "perf_event_paranoid", "ok", text ? text : "");
	}
	free(text);
}

static void judge_pid_namespace(json_t *list, const json_t *o)
{
	const json_t *number = json_object_get(o, "pid_namespace");

	if (json_is_integer(number) && json_integer_value(number) != (json_int_t)SKEP_PID_NS_INITIAL)
		say(list, "pid_namespace", "missing",
		    "not the initial one, of which the kernel reports pids: "
		    "processes that ran before, arguments of running processes and GPU use by process are missing; "
		    "start skepd in the host's pid namespace (hostPID: true, --pid=host)");
	else if (number)
		say(list, "pid_namespace", "ok",
		    json_is_integer(number) ? "the initial one" : "not known: /proc/PID/ns/pid cannot be read");
}

static void judge_engine_files(json_t *list, const char *by)
{
	if (strcmp(by, "own") == 0)
		say(list, "engine_files", "ok",
		    "read as their users by skepd's file reader, for the names of tasks; read_engine_files: false turns it off");
	else if (strcmp(by, "unit") == 0)
		say(list, "engine_files", "ok",
		    "read as their users by skep-reader.service, for the names of tasks; read_engine_files: false turns it off");
	else if (strcmp(by, "off") == 0)
		say(list, "engine_files", "off",
		    "not read: read_engine_files is false; a task is called what its command shows, and skep show of a user "
		    "reads that user's files");
	else if (*by)
		say(list, "engine_files", "partial",
		    "not read: skepd lacks CAP_SETUID and CAP_SETGID, and skep-reader.service does not answer; "
		    "systemctl start skep-reader.socket; systemctl status skep-reader has the reason; until then a task is "
		    "called what its command shows, and skep show of a user reads that user's files");
}

json_t *doctor_judge(const json_t *o)
{
	unsigned major = 0, minor = 0;
	json_t *list = json_array();
	char *text;

	if (!list)
		return NULL;
	sscanf(answer_text(o, "kernel"), "%u.%u", &major, &minor);
	text = text_format("%s %s", answer_text(o, "kernel"), answer_text(o, "machine"));
	/* skep needs 5.8: ring buffer, task iterator, CAP_BPF; 5.10 is the oldest kernel in its tests */
	if (major > 5 || (major == 5 && minor >= 10))
		say(list, "kernel", "ok", text ? text : "");
	else if (major == 5 && minor >= 8)
		say(list, "kernel", "partial", "before 5.10: may work, is not tested");
	else
		say(list, "kernel", "missing", "before 5.8: collecting needs 5.8, better 5.10 or later");
	free(text);
	if (answer_true(o, "btf"))
		say(list, "btf", "ok", "/sys/kernel/btf/vmlinux");
	else
		say(list, "btf", "missing",
		    "/sys/kernel/btf/vmlinux cannot be read: a kernel with CONFIG_DEBUG_INFO_BTF=y, and /sys mounted");
	judge_capabilities(list, o);
	judge_pid_namespace(list, o);
	judge_lockdown(list, o);
	judge_perf(list, o);
	judge_mount(list, o, "tracefs",
		    "not mounted: mount -t tracefs tracefs /sys/kernel/tracing (only plugins that ask for it need it)");
	judge_mount(list, o, "bpffs",
		    "not mounted: mount -t bpf bpf /sys/fs/bpf (needed to keep links and maps over a restart)");
	judge_cgroup(list, o);
	judge_engine_files(list, answer_text(o, "engine_files"));
	return list;
}
