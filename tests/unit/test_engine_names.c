/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/engine_names.c: names of Snakemake's tasks from .snakemake/metadata, their requests from .snakemake/log,
 * and files that are neither.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/report/engine_names.h"

static char top[64], folder[128];

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

/* A log that Snakemake wrote to at this time, in seconds. */
static void put_log(const char *name, time_t changed, const char *text)
{
	const struct timespec times[2] = { { changed, 0 }, { changed, 0 } };
	char path[256];

	snprintf(path, sizeof(path), "%s/.snakemake/log", top);
	mkdir(path, 0755);
	snprintf(path, sizeof(path), "../log/%s", name);
	put(path, text);
	snprintf(path, sizeof(path), "%s/.snakemake/log/%s", top, name);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int make(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/test_engine_names.XXXXXX");
	if (!mkdtemp(top))
		return -1;
	snprintf(folder, sizeof(folder), "%s/.snakemake", top);
	mkdir(folder, 0755);
	strcat(folder, "/metadata");
	return mkdir(folder, 0755);
}

static int clear(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", top);
	return system(command); /* NOLINT(cert-env33-c): a test's own folder */
}

#define ARGV(command_) (const char *const[]){ "/bin/bash", "-c", "set -euo pipefail;  " command_, NULL }
#define TASK(id_, code_) { .task = "bwa", .task_id = id_, .engine = "snakemake", .sample = "", .name_source = "argv", .exit_code = code_ }
#define FIRST(pid_, id_, command_) \
	{ .pid = pid_, .image = 1, .kind = &(struct lake_kind){ .task_id = id_, .cwd = top }, .argv = ARGV(command_) }

/* b64("out/a") = b3V0L2E=, b64("out/b") = b3V0L2I=, b64("out/c") = b3V0L2M= */
static void names(void **state)
{
	struct lake_task tasks[] = { TASK("10-a.1", 0), TASK("11-b.1", 1), TASK("12-c.1", 0), TASK("13-d.1", 0),
				     TASK("14-e.1", 0) };
	struct lake_process processes[] = {
		FIRST(10, "10-a.1", "bwa mem x"), FIRST(11, "11-b.1", "bwa mem x"), FIRST(12, "12-c.1", "bwa mem x"),
		FIRST(13, "13-d.1", "sort y"),    FIRST(14, "14-e.1", "other z"),
		FIRST(20, "14-e.1", "sort y"), /* not its first */
	};
	struct lake_report r = { .run = { .engine = "snakemake", .cwd = top, .uid = geteuid(), .start_ns = 1000000000000u,
					  .end_ns = 2000000000000u },
				 .n_tasks = 5, .tasks = tasks, .n_processes = 6, .processes = processes };
	struct engine_names *n;

	(void)state;
	tasks[2].attempt = 2;
	tasks[2].job = "4711";
	put_log("1.snakemake.log", 1999, /* of Snakemake 7.21 */
		"Job stats:\njob      count\n\n[Mon Nov 23 22:00:00 2026]\nrule align:\n    input: x\n    output: out/a.log, out/a\n"
		"    jobid: 1\n    resources: tmpdir=/tmp, mem_mb=500, mem_mib=477\n\nrule align:\n    output: out/b\n    jobid: 2\n"
		"    resources: mem_mb=300, mem_mib=287, tmpdir=/tmp\n\nlocalrule all:\n    output: out/z\n"
		"    resources: tmpdir=/tmp, mem_mb=7\n\nrule align:\n    output: out/b\n    jobid: 2\n"
		"    resources: tmpdir=/tmp, mem_mb=600, runtime=90\n\nrule sorts:\n    output: out/c\n    resources: tmpdir=/tmp\n\n"
		"    resources: tmpdir=/tmp, mem_mb=800\n");
	put_log("2.snakemake.log", 900, "rule sorts:\n    output: out/c\n    resources: tmpdir=/tmp, mem_mb=1\n"); /* earlier */
	put_log("3.snakemake.log", 2900, "rule sorts:\n    output: out/c\n    resources: tmpdir=/tmp, mem_mb=2\n"); /* later */
	put("b3V0L2E=", "{\"rule\": \"align\", \"shellcmd\": \"bwa mem x\", \"starttime\": 1100.5, \"endtime\": 1101}");
	put("b3V0L2I=", "{\"rule\": \"align\", \"shellcmd\": \"bwa mem x\", \"starttime\": 1200.5, \"endtime\": 1201}");
	put("b3V0L2M=", "{\"rule\": \"sorts\", \"shellcmd\": \"\\n  sort y\", \"starttime\": 1300.5}");
	put("b3V0L2Q=", "{\"rule\": \"older\", \"shellcmd\": \"other z\", \"starttime\": 900.5}"); /* of an earlier run */
	put("broken", "{\"rule\": ");
	put("list", "[1, 2]");
	put("no base64!", "{\"rule\": \"sorts\", \"shellcmd\": 7, \"starttime\": \"x\"}");
	n = engine_names_add(&r);
	assert_non_null(n);
	assert_string_equal(tasks[0].task, "align");
	assert_string_equal(tasks[0].sample, "out/a");
	assert_string_equal(tasks[0].name_source, "file");
	assert_string_equal(tasks[1].task, "align"); /* failed: it has no file, and takes none */
	assert_string_equal(tasks[1].sample, "");
	assert_string_equal(tasks[2].sample, "out/b");
	assert_string_equal(tasks[3].task, "sorts");
	assert_string_equal(tasks[4].task, "bwa");
	assert_string_equal(tasks[4].name_source, "argv");
	assert_string_equal(processes[3].task, "sorts"); /* the time line draws a task's processes by their task's name */
	assert_null(processes[5].task);
	assert_int_equal(tasks[0].requested_memory_bytes, 500 << 20);
	assert_int_equal(tasks[1].requested_memory_bytes, 0); /* failed: which of its rule's sizes is not known */
	assert_int_equal(tasks[2].requested_memory_bytes, 600 << 20); /* its second attempt */
	assert_int_equal(tasks[2].requested_walltime_ns, 5400000000000u);
	assert_int_equal(tasks[3].requested_memory_bytes, 0);
	engine_names_free(n);
}

/* Another user's run, another engine, a link, a file that is none: nothing is read. */
static void nothing(void **state)
{
	struct lake_task task = TASK("10-a.1", 0);
	struct lake_process process = FIRST(10, "10-a.1", "bwa mem x");
	struct lake_report r = { .run = { .engine = "snakemake", .cwd = top, .uid = geteuid() + 1, .start_ns = 1000000000000u },
				 .n_tasks = 1, .tasks = &task, .n_processes = 1, .processes = &process };
	char path[256], moved[256], *big = malloc(70000);

	(void)state;
	put("b3V0L2E=", "{\"rule\": \"align\", \"shellcmd\": \"bwa mem x\", \"starttime\": 1100.5}");
	assert_null(engine_names_add(&r));
	r.run.uid = geteuid();
	r.run.engine = "make";
	assert_null(engine_names_add(&r));
	r.run.engine = "snakemake";
	snprintf(path, sizeof(path), "%s/b3V0L2E=", folder);
	snprintf(moved, sizeof(moved), "%s/elsewhere", top);
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(moved, path), 0);
	assert_null(engine_names_add(&r)); /* a link */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0644), 0);
	assert_null(engine_names_add(&r)); /* a FIFO without a writer, which must not block */
	assert_int_equal(unlink(path), 0);
	assert_non_null(big);
	memset(big, ' ', 69999);
	big[69999] = '\0';
	big[snprintf(big, 69999, "{\"rule\": \"align\", \"shellcmd\": \"bwa mem x\", \"starttime\": 1100.5}")] = ' ';
	put("b3V0L2E=", big);
	assert_null(engine_names_add(&r)); /* larger than any that Snakemake writes */
	free(big);
	assert_string_equal(task.task, "bwa");
	snprintf(path, sizeof(path), "%s/.snakemake", top);
	snprintf(moved, sizeof(moved), "%s/real", top);
	put("b3V0L2E=", "{\"rule\": \"align\", \"shellcmd\": \"bwa mem x\", \"starttime\": 1100.5}");
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(symlink(moved, path), 0);
	assert_null(engine_names_add(&r)); /* the folder is a link */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rename(moved, path), 0);
	engine_names_free(engine_names_add(&r));
	assert_string_equal(task.name_source, "file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names, make, clear),
		cmocka_unit_test_setup_teardown(nothing, make, clear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
