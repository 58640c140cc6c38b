/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_doctor_facts.c - facts read from a machine that the test makes, and the verdicts on the facts of any
 * machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/doctor/doctor_facts.h"
#include "cli/doctor/doctor_places.h"
#include "cli/doctor/doctor_tables.h"
#include "tests/abi/support.h"

static char *dir;

static void put(const char *name, const char *text)
{
	char *path = support_path(dir, name);

	for (char *slash = strchr(path + strlen(dir) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	support_write(path, text, strlen(text), 0644);
	free(path);
}

static void make_link(const char *name, const char *to)
{
	char *path = support_path(dir, name);

	put(name, "");
	unlink(path);
	assert_int_equal(symlink(to, path), 0);
	free(path);
}

static int set_up(void **state)
{
	(void)state;
	dir = support_dir_new();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	dir = support_dir_remove(dir);
	return 0;
}

static json_t *facts(pid_t pid)
{
	json_t *o = doctor_facts(dir, pid);

	assert_non_null(o);
	return o;
}

static const char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "(null)";
}

static void gathered(void **state)
{
	json_t *o;

	(void)state;
	put("proc/sys/kernel/osrelease", "5.10.0-9-amd64\n");
	put("sys/kernel/btf/vmlinux", "x");
	put("proc/sys/kernel/perf_event_paranoid", "3\n");
	put("proc/sys/kernel/unprivileged_bpf_disabled", "2\n");
	put("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
	put("sys/kernel/security/lsm", "lockdown,capability\n");
	put("proc/self/mountinfo", "25 30 0:23 / /sys/fs/bpf rw,relatime shared:9 - bpf bpf rw,mode=700\n"
				   "26 30 0:24 / /sys/kernel/tracing rw shared:10 - tracefs tracefs rw\n"
				   "27 30 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
				   "a line of another form\n"
				   "28 30 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n");
	make_link("proc/77/ns/pid", "pid:[4026532441]");
	put("proc/77/status", "Name:\tskepd\nCapInh:\t0000000000000000\nCapEff:\t000000c000080000\n");
	o = facts(77);
	assert_string_equal(text(o, "kernel"), "5.10.0-9-amd64");
	assert_true(json_is_true(json_object_get(o, "btf")));
	assert_string_equal(text(o, "bpffs"), "/sys/fs/bpf");
	assert_string_equal(text(o, "tracefs"), "/sys/kernel/tracing");
	assert_string_equal(text(o, "cgroup_mode"), "hybrid");
	assert_string_equal(text(o, "cgroup_memory"), "v1");
	assert_string_equal(text(o, "lockdown"), "integrity");
	assert_int_equal(json_integer_value(json_object_get(o, "pid_namespace")), 4026532441);
	assert_string_equal(text(o, "lsm"), "lockdown,capability");
	assert_int_equal(json_integer_value(json_object_get(o, "perf_event_paranoid")), 3);
	assert_int_equal(json_array_size(json_object_get(o, "capabilities")), 3);
	assert_string_equal(json_string_value(json_array_get(json_object_get(o, "capabilities"), 0)), "CAP_SYS_PTRACE");
	assert_string_equal(json_string_value(json_array_get(json_object_get(o, "capabilities"), 2)), "CAP_BPF");
	json_decref(o);
}

static void nothing_there(void **state)
{
	static const char *const keys[] = { "kernel",
					    "bpffs",
					    "tracefs",
					    "cgroup_mode",
					    "lockdown",
					    "perf_event_paranoid",
					    "unprivileged_bpf_disabled",
					    "capabilities",
					    "pid_namespace" };
	json_t *o = facts(0);

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!json_is_null(json_object_get(o, keys[i])))
			fail_msg("%s is not null", keys[i]);
	assert_true(json_is_false(json_object_get(o, "btf")));
	json_decref(o);
}

/* The state of every evaluated fact as "fact=state" on one line; the message of one fact. */
static char *judged(const char *machine, const char *fact, char words[512])
{
	json_t *o = json_loads(machine, 0, NULL), *list, *one;
	char *line = NULL;
	size_t size, i;
	FILE *f = open_memstream(&line, &size);

	assert_non_null(o);
	assert_non_null(f);
	list = doctor_judge(o);
	json_array_foreach(list, i, one) {
		fprintf(f, "%s=%s ", text(one, "fact"), text(one, "state"));
		if (fact && strcmp(text(one, "fact"), fact) == 0)
			snprintf(words, 512, "%s", text(one, "text"));
	}
	fclose(f);
	json_decref(list);
	json_decref(o);
	return line;
}

static void assert_judged(const char *machine, const char *expected, const char *fact, const char *expected_words)
{
	char words[512] = "", *line = judged(machine, fact, words);

	assert_string_equal(line, expected);
	if (fact)
		assert_string_equal(words, expected_words);
	free(line);
}

static void thought_of(void **state)
{
	(void)state;
	assert_judged(
		"{\"kernel\":\"6.1.0\",\"machine\":\"x86_64\",\"btf\":true,\"capabilities\":[\"CAP_PERFMON\",\"CAP_BPF\"],"
		"\"perf_event_paranoid\":2,\"tracefs\":\"/t\",\"bpffs\":\"/b\",\"cgroup_mode\":\"v2\",\"cgroup_memory\":\"v2\"}",
		"kernel=ok btf=ok capabilities=ok lockdown=ok perf_event_paranoid=ok tracefs=ok bpffs=ok cgroup=ok ",
		"kernel", "6.1.0 x86_64");
	assert_judged(
		"{\"kernel\":\"4.19.0\",\"btf\":false,\"capabilities\":[],\"lockdown\":\"confidentiality\"}",
		"kernel=missing btf=missing capabilities=missing lockdown=missing perf_event_paranoid=partial tracefs=partial "
		"bpffs=partial cgroup=partial ",
		"capabilities", "none; collecting needs CAP_BPF and CAP_PERFMON: run it as root, or grant them");
	assert_judged(
		"{\"kernel\":\"5.8.1\",\"btf\":true,\"capabilities\":[\"CAP_SYS_ADMIN\"],\"perf_event_paranoid\":4}",
		"kernel=partial btf=ok capabilities=ok lockdown=ok perf_event_paranoid=ok tracefs=partial bpffs=partial cgroup=partial ",
		"kernel", "before 5.10: may work, is not tested");
	assert_judged(
		"{\"kernel\":\"5.10\",\"btf\":true,\"capabilities\":[\"CAP_BPF\"],\"perf_event_paranoid\":3,\"lockdown\":\"integrity\"}",
		"kernel=ok btf=ok capabilities=missing lockdown=ok perf_event_paranoid=partial tracefs=partial bpffs=partial "
		"cgroup=partial ",
		"capabilities", "CAP_BPF; collecting needs CAP_BPF and CAP_PERFMON as well");
	assert_judged(
		"{\"kernel\":\"6.1.0\",\"btf\":true,\"capabilities\":[\"CAP_SYS_ADMIN\"],\"pid_namespace\":4026532441}",
		"kernel=ok btf=ok capabilities=ok pid_namespace=missing lockdown=ok perf_event_paranoid=partial tracefs=partial bpffs=partial "
		"cgroup=partial ",
		"pid_namespace",
		"not the initial one, of which the kernel reports pids: processes that ran before, arguments of running processes and GPU "
		"use by process are missing; start skepd in the host's pid namespace (hostPID: true, --pid=host)");
	assert_judged(
		"{\"kernel\":\"6.1.0\",\"btf\":true,\"capabilities\":[\"CAP_SYS_ADMIN\"],\"pid_namespace\":4026531836}",
		"kernel=ok btf=ok capabilities=ok pid_namespace=ok lockdown=ok perf_event_paranoid=partial tracefs=partial bpffs=partial "
		"cgroup=partial ",
		"pid_namespace", "the initial one");
	assert_judged(
		"{\"kernel\":\"6.1.0\",\"btf\":true,\"capabilities\":[\"CAP_SYS_ADMIN\"],\"engine_files\":\"off\"}",
		"kernel=ok btf=ok capabilities=ok lockdown=ok perf_event_paranoid=partial tracefs=partial bpffs=partial cgroup=partial "
		"engine_files=off ",
		"engine_files",
		"not read: read_engine_files is false; a task is called what its command shows, and skep show of a user reads that "
		"user's files");
	assert_judged(
		"{\"kernel\":\"6.1.0\",\"btf\":true,\"capabilities\":[\"CAP_SYS_ADMIN\"],\"engine_files\":\"unit\"}",
		"kernel=ok btf=ok capabilities=ok lockdown=ok perf_event_paranoid=partial tracefs=partial bpffs=partial cgroup=partial "
		"engine_files=ok ",
		"engine_files",
		"read as their users by skep-reader.service, for the names of tasks; read_engine_files: false turns it off");
	assert_judged(
		"{\"kernel\":\"6.1.0\",\"btf\":true,\"capabilities\":[\"CAP_SYS_ADMIN\"],\"engine_files\":\"none\"}",
		"kernel=ok btf=ok capabilities=ok lockdown=ok perf_event_paranoid=partial tracefs=partial bpffs=partial cgroup=partial "
		"engine_files=partial ",
		"engine_files",
		"not read: skepd lacks CAP_SETUID and CAP_SETGID, and skep-reader.service does not answer; "
		"systemctl start skep-reader.socket; systemctl status skep-reader has the reason; until then a task is "
		"called what its command shows, and skep show of a user reads that user's files");
}

/* ---- places --------------------------------------------------------------------------------- */

static const char *state_of(const json_t *list, const char *fact, const char *has)
{
	const json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
		if (strcmp(text(one, "fact"), fact) == 0 && strstr(text(one, "text"), has))
			return text(one, "state");
	return "(none)";
}

static void test_places(void **state)
{
	json_t *list = json_array(), *o = json_pack("{s:s}", "bpffs", "/bpf");
	char *path;

	(void)state;
	unsetenv("SKEP_SOCKET");
	put("etc/x.conf",
	    "{ \"plugin_dirs\": [ \"/plugins\", \"/open\" ], \"control\": { \"socket\": \"/run/x.sock\" },"
	    "\"sinks\": [ { \"plugin\": \"lake\", \"path\": \"/lake/deep/er\" } ] }");
	put("plugins/a.so", "");
	put("open/a.so", "");
	put("bpf/x", "");
	path = support_path(dir, "open");
	assert_int_equal(chmod(path, 0777), 0);
	free(path);
	doctor_places(list, dir, o, "/etc/x.conf", NULL);
	assert_string_equal(state_of(list, "configuration", "0644"), "ok");
	assert_string_equal(state_of(list, "configuration", "keep secrets out of it"), "ok");
	assert_string_equal(state_of(list, "plugin folder", "/plugins"), "ok");
	assert_string_equal(state_of(list, "plugin folder", "/open is writable by everybody"), "missing");
	assert_string_equal(state_of(list, "control socket", "/run/x.sock does not exist"), "off");
	assert_string_equal(state_of(list, "bpffs access", "/bpf"), "ok");
	assert_string_not_equal(state_of(list, "space for the lake", "/lake/deep/er: "), "(none)");
	json_decref(list);

	list = json_array();
	path = support_path(dir, "etc/x.conf");
	assert_int_equal(chmod(path, 0620), 0);
	free(path);
	put("run/x.sock", "");
	put("run/x.sock.users", "");
	doctor_places(list, dir, o, "/etc/x.conf", NULL);
	assert_string_equal(state_of(list, "own runs", "is closed (mode 0644, its folder 0755)"), "off");
	path = support_path(dir, "run/x.sock.users");
	assert_int_equal(chmod(path, 0666), 0);
	free(path);
	doctor_places(list, dir, o, "/etc/x.conf", NULL);
	assert_string_equal(state_of(list, "own runs", "see their own runs"), "ok");
	assert_string_equal(state_of(list, "configuration", "writable by its group"), "missing");
	assert_string_equal(state_of(list, "control socket", "0644"), "ok");
	json_decref(list);

	list = json_array();
	doctor_places(list, dir, o, "/etc/none.conf", "/run/y.sock");
	assert_string_equal(state_of(list, "configuration", "does not exist"), "off");
	assert_string_equal(state_of(list, "control socket", "/run/y.sock"), "off");
	json_decref(list);
	json_decref(o);
}

/* The tables that skepd reads, built in and of the site; a failed test is no error of the machine. */
static void test_tables(void **state)
{
	static const char good[] =
		"{ \"recognizers\": [ { \"engine\": \"mill\", \"class\": \"workflow\", \"run\": [ { \"programs\": [\"mill\"] } ],"
		" \"task\": [ { \"file\": { \"path\": \"/srv/mill/{argv.1}\" }, \"facts\": [ { \"value\": \"/a\", \"as\": \"name\" } ] } ],"
		" \"tests\": [ { \"argv\": [\"/usr/bin/mill\"], \"run\": {} } ] } ] }";
	static const char bad[] =
		"{ \"recognizers\": [ { \"engine\": \"kiln\", \"class\": \"workflow\", \"run\": [ { \"programs\": [\"kiln\"] } ],"
		" \"tests\": [ { \"argv\": [\"/usr/bin/oven\"], \"run\": {} } ] } ] }";
	char *mill = support_path(dir, "mill.json"), *kiln = support_path(dir, "kiln.json");
	char *none = support_path(dir, "none.json");
	const char *recognizers[] = { mill, kiln, NULL }, *missing[] = { none, NULL };
	struct config config = { .recognizers = recognizers, .containers = missing };
	json_t *list = json_pack("[{s:s, s:s, s:s, s:s}]", "fact", "engine_files", "state", "off", "text", "", "file", ""), *one;
	size_t i, built_in = 0, logs = 0;

	(void)state;
	put("mill.json", good);
	put("kiln.json", bad);
	doctor_tables(list, &config);
	assert_string_equal(state_of(list, "recognizers", "mill.json: 1 entry, 1 tests hold"), "ok");
	assert_string_equal(state_of(list, "recognizers", "kiln.json: 1 entries; a test fails: line 1"), "partial");
	assert_string_equal(state_of(list, "container tables", "containers.json (built in)"), "ok");
	assert_string_equal(state_of(list, "container tables", "none.json"), "partial");
	/* each file that skepd reads because of them, once, with the state of the reader */
	assert_string_equal(state_of(list, "engine file", "snakemake, as the task's user: {cwd}/.snakemake/metadata/*"), "off");
	assert_string_equal(state_of(list, "engine file", "snakemake, as the task's user: {cwd}/.snakemake/log/*.snakemake.log"), "off");
	assert_string_equal(state_of(list, "engine file", "cwltool, as the task's user: the engine's standard error"), "off");
	assert_string_equal(state_of(list, "engine file", "nextflow, as the task's user: {cwd}/.command.run"), "off");
	assert_string_equal(state_of(list, "engine file", "mill, as the task's user: /srv/mill/{argv.1}"), "off");
	assert_string_equal(state_of(list, "engine file", "of a container, as root: /var/lib/docker/containers/{id}/config.v2.json"), "off");
	json_array_foreach(list, i, one)
		logs += strstr(text(one, "text"), "{cwd}/.snakemake/log/") != NULL;
	assert_int_equal(logs, 1);
	json_array_foreach(list, i, one)
		if (strstr(text(one, "file"), "(built in)") && strcmp(text(one, "fact"), "engine file") != 0) {
			assert_string_equal(text(one, "state"), "ok");
			assert_true(json_integer_value(json_object_get(one, "entries")) > 0);
			built_in += (size_t)json_integer_value(json_object_get(one, "tests"));
		}
	assert_true(built_in > 100);
	json_decref(list);
	list = json_array();
	config.recognizers = missing;
	doctor_tables(list, &config);
	assert_string_equal(state_of(list, "recognizers", "skepd reads no table with an error"), "partial");
	json_decref(list);
	free(mill);
	free(kiln);
	free(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_places, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tables, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gathered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_there, set_up, tear_down),
		cmocka_unit_test(thought_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
