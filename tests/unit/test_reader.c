/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_reader.c - the process that reads other processes' arguments: its answers, and the fate of a request
 * that blocks it. A stopped worker (SIGSTOP) stands for one that waits in the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/sockios.h>
#include <setjmp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <skep/procfile.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "core/base/log.h"
#include "core/identify/reader.h"

#define MANY 200u

static struct {
	uv_loop_t loop;
	struct reader_process process;
	struct reader *reader;
} t;

/* The result of one request. */
struct result {
	int error; /* 1: not answered yet */
	char cmdline[256];
	bool has_environ;
};
static unsigned waiting;

static void deliver(void *owner, skep_process_cb cb, void *arg, const struct skep_process_text *text)
{
	cb(owner, arg, text);
}

static void on_text(struct skep_instance *inst, void *arg, const struct skep_process_text *text)
{
	struct result *r = arg;

	(void)inst;
	assert_int_equal(r->error, 1);
	r->error = text->error;
	if (text->cmdline.len > 0 && text->cmdline.len <= sizeof(r->cmdline))
		memcpy(r->cmdline, text->cmdline.ptr, text->cmdline.len);
	r->has_environ = text->environ.len > 0;
	waiting--;
}

static int setup(void **state)
{
	(void)state;
	waiting = 0;
	assert_int_equal(reader_fork("test", &t.process), 0);
	assert_int_equal(uv_loop_init(&t.loop), 0);
	assert_int_equal(reader_new(&t.loop, &t.process, deliver, &t.reader), 0);
	return 0;
}

static int setup_files(void **state)
{
	(void)state;
	waiting = 0;
	assert_int_equal(reader_fork_files("test", &t.process), 0);
	assert_int_equal(uv_loop_init(&t.loop), 0);
	assert_int_equal(reader_new(&t.loop, &t.process, deliver, &t.reader), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	reader_close(t.reader);
	uv_run(&t.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&t.loop), 0);
	reader_end(&t.process);
	reader_silent_ticks = READER_SILENT_TICKS; /* a test that failed may have left its own */
	return 0;
}

static bool is_worker(int pid)
{
	char path[64], name[32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	f = fopen(path, "re");
	if (f && !fgets(name, sizeof(name), f))
		name[0] = '\0';
	if (f)
		fclose(f);
	return strcmp(name, t.process.files ? "test: file read\n" : "test: reader\n") == 0;
}

/* 0: it has none. */
static pid_t child_of(pid_t parent)
{
	char path[64];
	FILE *f;
	int pid = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	f = fopen(path, "re");
	if (f && fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

/* Stands for the service manager of a unit: starts the next keeper when one has ended.  0: the keeper is a child. */
static pid_t manager;

static pid_t keeper(void)
{
	return manager ? child_of(manager) : t.process.pid;
}

/* The keeper's child once it has its name: from then on it ends with the keeper. */
static pid_t worker(void)
{
	for (int i = 0; i < 40000; i++, usleep(5000)) {
		pid_t pid = keeper() ? child_of(keeper()) : 0;

		if (pid > 0 && is_worker(pid))
			return pid;
	}
	fail_msg("there is no worker");
	return 0;
}

/* start 0: the process that has the pid now. */
static void ask(uint32_t pid, uint64_t start, uint32_t uid, struct result *ret)
{
	const struct skep_upid who = { .pid = pid, .start_ns = start };
	int err;

	*ret = (struct result){ .error = 1 };
	err = reader_ask(t.reader, &t, &who, uid, SKEP_READ_CMDLINE | SKEP_READ_ENVIRON, on_text, ret);
	if (err)
		ret->error = err;
	else
		waiting++;
}

static void run(void)
{
	for (int i = 0; waiting && i < 100000; i++)
		uv_run(&t.loop, UV_RUN_ONCE);
	assert_int_equal(waiting, 0);
}

static void test_reads(void **state)
{
	struct result mine, other, none;

	(void)state;
	ask((uint32_t)getpid(), 0, 1, &mine);
	ask((uint32_t)getpid(), 12345, 1, &other); /* another process: this one started at another time */
	ask(0x7fffffff, 0, 1, &none);
	run();
	assert_int_equal(mine.error, 0);
	assert_non_null(strstr(mine.cmdline, "test_reader"));
	assert_true(mine.has_environ);
	assert_int_equal(other.error, -ESRCH);
	assert_string_equal(other.cmdline, "");
	assert_int_equal(none.error, -ESRCH);
	assert_int_equal(reader_stats(t.reader).asked, 3);
}

static void test_refuses_what_makes_no_sense(void **state)
{
	const struct skep_upid who = { .pid = 1 }, nobody = { .pid = 0 };

	(void)state;
	assert_int_equal(reader_ask(t.reader, &t, &nobody, 0, SKEP_READ_CMDLINE, on_text, NULL), -EINVAL);
	assert_int_equal(reader_ask(t.reader, &t, &who, 0, 0, on_text, NULL), -EINVAL);
	assert_int_equal(reader_ask(t.reader, &t, &who, 0, 4, on_text, NULL), -EINVAL);
}

static void test_a_stuck_one_costs_only_itself(void **state)
{
	struct result *results = calloc(MANY, sizeof(*results)), again;
	unsigned stuck = 0, right = 0;

	(void)state;
	assert_non_null(results);
	kill(worker(), SIGSTOP);
	for (unsigned i = 0; i < MANY; i++)
		ask((uint32_t)getpid(), 0, i ? 1 : 2, &results[i]);
	run();
	for (unsigned i = 0; i < MANY; i++) {
		stuck += results[i].error == -ETIMEDOUT;
		right += results[i].error == 0 && strstr(results[i].cmdline, "test_reader");
	}
	assert_int_equal(results[0].error, -ETIMEDOUT);
	assert_int_equal(stuck, 1);
	assert_int_equal(right, MANY - 1);
	assert_int_equal(reader_stats(t.reader).stuck, 1);
	assert_int_equal(reader_stats(t.reader).replaced, 1);
	/* the reader never reads that process again */
	ask((uint32_t)getpid(), 0, 1, &again);
	assert_int_equal(again.error, -EBUSY);
	free(results);
}

static void test_a_user_who_goes_on(void **state)
{
	struct result bad, others;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		kill(worker(), SIGSTOP);
		ask((uint32_t)getpid(), i + 1, 1000, &bad);
		run();
		assert_int_equal(bad.error, -ETIMEDOUT);
	}
	ask((uint32_t)getpid(), 4, 1000, &bad);
	assert_int_equal(bad.error, -EBUSY);
	ask((uint32_t)getpid(), 0, 1001, &others);
	run();
	assert_int_equal(others.error, 0);
	assert_int_equal(reader_stats(t.reader).refused, 1);
}

static void test_suspects_come_last(void **state)
{
	struct result bad[3], good;

	(void)state;
	kill(worker(), SIGSTOP);
	ask((uint32_t)getpid(), 1, 1000, &bad[0]);
	run();
	kill(worker(), SIGSTOP);
	ask((uint32_t)getpid(), 2, 1000, &bad[1]);
	ask((uint32_t)getpid(), 3, 1000, &bad[2]);
	ask((uint32_t)getpid(), 0, 1001, &good);
	run();
	/* The stopped worker had the good request. The keeper can only blame the first request of the batch. */
	assert_int_equal(good.error, -ETIMEDOUT);
	assert_int_equal(bad[1].error, -ESRCH);
	assert_int_equal(bad[2].error, -ESRCH);
}

static void test_a_killed_worker_is_replaced(void **state)
{
	struct result results[MANY / 2];

	(void)state;
	for (unsigned i = 0; i < MANY / 2; i++)
		ask((uint32_t)getpid(), 0, 1, &results[i]);
	kill(worker(), SIGKILL);
	run();
	for (unsigned i = 0; i < MANY / 2; i++)
		assert_int_equal(results[i].error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
	assert_true(reader_stats(t.reader).alive);
}

/* The loop orders a check, but another process kills the worker: the request is not to blame. */
/* Stops keeper and worker, once the keeper has announced the worker. */
static pid_t stop_both(void)
{
	pid_t pid = worker();

	while (!reader_stats(t.reader).ready)
		uv_run(&t.loop, UV_RUN_ONCE);
	kill(pid, SIGSTOP);
	kill(t.process.pid, SIGSTOP);
	return pid;
}

static void test_a_worker_that_dies_while_it_is_checked(void **state)
{
	const pid_t pid = stop_both(); /* so the order to check the worker waits */
	char room[SKEP_PROCFILE_STAT];
	struct result result;
	int ordered = 0;

	(void)state;
	ask((uint32_t)getpid(), 0, 1, &result);
	while (ordered == 0) {
		uv_run(&t.loop, UV_RUN_ONCE);
		assert_int_equal(result.error, 1);
		assert_int_equal(ioctl(t.process.control, SIOCOUTQ, &ordered), 0);
	}
	kill(pid, SIGKILL);
	while (*skep_procfile_stat((uint32_t)pid, 3, room) != 'Z') /* dies when it gets a CPU */
		usleep(1000);
	kill(t.process.pid, SIGCONT);
	run();
	assert_int_equal(result.error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
}

static void test_a_keeper_that_does_nothing(void **state)
{
	struct result results[3], later = { .error = -EBUSY };

	(void)state;
	stop_both();
	reader_silent_ticks = 40;
	log_level(2);
	for (unsigned i = 0; i < 3; i++)
		ask((uint32_t)getpid(), 0, 1, &results[i]);
	run();
	log_level(SKEP_LOG_NOTICE);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(results[i].error, -EBUSY);
	ask((uint32_t)getpid(), 0, 1, &later);
	assert_int_equal(later.error, -EBUSY);
	assert_true(reader_stats(t.reader).alive);
	/* The keeper obeys its orders, and reading continues. */
	kill(t.process.pid, SIGCONT);
	for (int i = 0; i < 100000 && later.error == -EBUSY; i++) {
		uv_run(&t.loop, UV_RUN_NOWAIT);
		usleep(1000);
		ask((uint32_t)getpid(), 0, 1, &later);
	}
	run();
	assert_int_equal(later.error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
}

/* Ctrl-Z stops the program's group; a SIGCONT to the program alone must leave no reader stopped. */
static void test_is_in_a_group_of_its_own(void **state)
{
	(void)state;
	assert_int_equal(getpgid(worker()), t.process.pid);
}

static void test_without_a_keeper(void **state)
{
	struct result before, after;

	(void)state;
	kill(worker(), SIGSTOP);
	ask((uint32_t)getpid(), 0, 1, &before);
	kill(t.process.pid, SIGKILL); /* ends the worker too */
	log_level(2);
	run();
	log_level(SKEP_LOG_NOTICE);
	ask((uint32_t)getpid(), 0, 1, &after);
	assert_int_equal(before.error, -EPIPE);
	assert_int_equal(after.error, -EPIPE);
	assert_false(reader_stats(t.reader).alive);
}

static void test_the_spare_takes_over(void **state)
{
	struct result before[MANY / 2], after;
	pid_t spare;

	(void)state;
	assert_int_equal(reader_fork_spare("test", &t.process), 0);
	spare = t.process.spare_pid;
	kill(worker(), SIGSTOP);
	for (unsigned i = 0; i < MANY / 2; i++)
		ask((uint32_t)getpid(), 0, 1, &before[i]);
	uv_run(&t.loop, UV_RUN_NOWAIT);
	kill(t.process.pid, SIGKILL);
	log_level(2);
	run();
	for (unsigned i = 0; i < MANY / 2; i++)
		assert_int_equal(before[i].error, 0);
	assert_int_equal(t.process.pid, spare);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
	assert_true(reader_stats(t.reader).alive);
	/* The new keeper replaces workers as the first did, and is the last keeper. */
	kill(worker(), SIGKILL);
	ask((uint32_t)getpid(), 0, 1, &after);
	run();
	assert_int_equal(after.error, 0);
	kill(worker(), SIGSTOP);
	kill(t.process.pid, SIGKILL);
	ask((uint32_t)getpid(), 0, 1, &after);
	run();
	log_level(SKEP_LOG_NOTICE);
	assert_int_equal(after.error, -EPIPE);
}

/* A process in a user namespace of uid 1001, as in a rootless container; 0: this machine permits none. */
static pid_t rootless(void)
{
	int ready[2];
	char made = 0;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		made = setgid(1001) == 0 && setuid(1001) == 0 && unshare(CLONE_NEWUSER) == 0;
		_exit(write(ready[1], &made, 1) != 1 || pause());
	}
	assert_int_equal(read(ready[0], &made, 1), 1);
	close(ready[0]);
	close(ready[1]);
	if (!made) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	return made ? pid : 0;
}

static void test_subordinate_uids_are_their_owner(void **state)
{
	pid_t pid = geteuid() == 0 ? rootless() : 0;
	struct result bad[8], good;

	(void)state;
	if (!pid)
		skip();
	/* the first requests are queued before any worker is stuck */
	kill(worker(), SIGSTOP);
	for (uint32_t i = 0; i < 4; i++)
		ask((uint32_t)pid, i + 1, 100000 + i, &bad[i]);
	for (unsigned i = 0; i < 3; i++) {
		if (i > 0) {
			kill(worker(), SIGSTOP);
			ask((uint32_t)pid, 10 + i, 200000 + i, &bad[4 + i]);
		}
		run();
	}
	assert_int_equal(bad[0].error, -ETIMEDOUT);
	assert_int_equal(bad[6].error, -ETIMEDOUT);
	ask((uint32_t)pid, 20, 300000, &bad[7]);
	assert_int_equal(bad[7].error, -EBUSY);
	ask((uint32_t)getpid(), 0, 300000, &good);
	run();
	assert_int_equal(good.error, 0);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_forgotten(void **state)
{
	struct result result;

	(void)state;
	for (unsigned i = 0; i < MANY; i++)
		ask((uint32_t)getpid(), 0, 1, &result);
	reader_forget(t.reader, &t);
	waiting = 0;
	ask((uint32_t)getpid(), 0, 1, &result);
	run();
	assert_int_equal(result.error, 0);
}

static void test_without_a_loop(void **state)
{
	const struct skep_upid me = { .pid = (uint32_t)getpid() }, other = { .pid = (uint32_t)getpid(), .start_ns = 1 };
	struct reader_process process;
	struct skep_process_text text;

	(void)state;
	assert_int_equal(reader_fork("test", &process), 0);
	t.process.pid = process.pid;
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), 0);
	assert_non_null(strstr(text.cmdline.ptr, "test_reader"));
	assert_int_equal(reader_sync_read(&process, &other, SKEP_READ_CMDLINE, &text), -ESRCH);
	kill(worker(), SIGKILL); /* not the request's fault: the batch goes to the next worker */
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), 0);
	kill(worker(), SIGSTOP);
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), -ETIMEDOUT);
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), 0);
	reader_end(&process);
	assert_int_equal(reader_sync_read(&process, &me, SKEP_READ_CMDLINE, &text), -EPIPE);
}

/* ---- engines' files --------------------------------------------------------------- */

/* A folder with an engine's files, and what a user can put in their place. */
static char folder[64];

static const char *in_folder(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s%s%s", folder, *name ? "/" : "", name);
	return path;
}

static void put_file(const char *name, const char *text)
{
	FILE *f = fopen(in_folder(name), "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/test_reader.XXXXXX");
	assert_non_null(mkdtemp(folder));
	assert_int_equal(chmod(folder, 0755), 0);
	return 0;
}

static int remove_folder(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static int setup_folder(void **state)
{
	return make_folder(state) || setup_files(state);
}

static int teardown_folder(void **state)
{
	return teardown(state) || remove_folder(state);
}

/* The answer to one request; error as the worker gave it. */
static struct result read_file(const struct engine_file *file)
{
	struct result ret = { .error = 1 };
	int err = reader_ask_file(t.reader, &t, file, on_text, &ret);

	if (err) {
		ret.error = err;
		return ret;
	}
	waiting++;
	run();
	return ret;
}

static struct result read_lines(const char *name, uint32_t uid)
{
	const struct engine_file file = { .uid = uid, .gid = uid, .path = in_folder(name), .n_wanted = 1 };

	return read_file(&file);
}

static struct result read_value(const char *name, const char *pointer)
{
	const struct engine_file file = { .uid = getuid(),
					  .path = in_folder(name),
					  .values = { pointer },
					  .n_wanted = 1 };

	return read_file(&file);
}

/* The rule of this command, as Snakemake's metadata has it. */
static struct result find_rule(const char *where, const char *command, uint32_t uid)
{
	const struct engine_file file = {
		.uid = uid,
		.gid = uid,
		.path = in_folder(where),
		.where = "/shellcmd",
		.values = { "/rule" },
		.wanted = { { .text = { command, (uint32_t)strlen(command), (uint32_t)strlen(command) } } },
		.n_wanted = 1,
	};

	return read_file(&file);
}

static void test_reads_files(void **state)
{
	struct result r;

	(void)state;
	put_file("run", "#!/bin/bash\n### name: 'FASTQC (S1)'\n");
	r = read_lines("run", getuid());
	assert_int_equal(r.error, 0);
	assert_string_equal(r.cmdline, "#!/bin/bash\n### name: 'FASTQC (S1)'\n");
	put_file("config", "{ \"Config\": { \"Image\": \"debian:12\", \"a/b\": [ 7, 2.5, null ] } }");
	assert_string_equal(read_value("config", "/Config/Image").cmdline, "debian:12");
	assert_string_equal(read_value("config", "/Config/a~1b/0").cmdline, "7");
	assert_string_equal(read_value("config", "/Config/a~1b/1").cmdline, "2.5");
	assert_string_equal(read_value("config", "/Config/a~1b/2").cmdline, "");
	assert_string_equal(read_value("config", "/Config/a~1b/9").cmdline, "");
	assert_string_equal(read_value("config", "/Config").cmdline, "");
	assert_string_equal(read_value("config", "/Image/x").cmdline, "");
	assert_int_equal(read_lines("none", getuid()).error, -ENOENT);
	assert_int_equal(read_lines("../x", getuid()).error, -EINVAL);
}

static void test_finds_a_file_of_a_folder(void **state)
{
	(void)state;
	put_file("b3V0", "{ \"rule\": \"align\", \"shellcmd\": \"\\n bwa mem\\n\" }");
	put_file("b3V1", "{ \"rule\": \"align\", \"shellcmd\": \"bwa mem\" }");
	put_file("b3V2", "{ \"rule\": \"sort\", \"shellcmd\": \"sort\" }");
	put_file("b3V3", "{ \"rule\": \"script\", \"shellcmd\": null }");
	put_file("half", "{ \"rule\": \"writing\", \"shellc");
	assert_string_equal(find_rule("", " bwa mem", getuid()).cmdline, "align");
	assert_string_equal(find_rule("", "sort", getuid()).cmdline, "sort");
	assert_string_equal(find_rule("", "bwa", getuid()).cmdline, "");
	assert_string_equal(find_rule("", "", getuid()).cmdline, "");
	/* two rules with one command: no answer is better than a wrong one */
	put_file("b3V4", "{ \"rule\": \"sort_again\", \"shellcmd\": \"sort\" }");
	assert_string_equal(find_rule("", "sort", getuid()).cmdline, "");
	assert_string_equal(find_rule("", "bwa mem", getuid()).cmdline, "align");
	assert_int_equal(find_rule("b3V4", "sort", getuid()).error, -ENOTDIR);
}

/* The rule and the wildcards of the job with this command, by Snakemake's log; over: by its metadata as well. */
static const char *find_job_as(const char *command, bool over, uint32_t uid)
{
	static char room[512], meta[128], log[128];
	const struct engine_file file = {
		.uid = uid,
		.gid = uid,
		.path = over ? meta : NULL,
		.where = over ? "/shellcmd" : NULL,
		.log = log,
		.values = { "rule", "wildcards", "/rule" },
		.wanted = { { .text = { command, (uint32_t)strlen(command), (uint32_t)strlen(command) } } },
		.n_wanted = 1,
	};
	struct result r;
	const char *text = r.cmdline;

	snprintf(meta, sizeof(meta), "%s", in_folder("metadata"));
	snprintf(log, sizeof(log), "%s", in_folder("log"));
	r = read_file(&file);
	if (r.error) {
		snprintf(room, sizeof(room), "error %d", r.error);
	} else {
		const char *sample = text + strlen(text) + 1, *rule = sample + strlen(sample) + 1;

		snprintf(room, sizeof(room), "%s %s %s", text, sample, rule);
	}
	return room;
}

static const char *find_job(const char *command)
{
	return find_job_as(command, false, getuid());
}

#define LOG "log/2026-11-28T164110.123456.snakemake.log"
#define EXITED "        (one of the commands exited with non-zero exit code; note that snakemake uses bash strict mode!)\n"

static void test_finds_a_job_in_a_log(void **state)
{
	FILE *f;

	(void)state;
	assert_int_equal(mkdir(in_folder("log"), 0755), 0);
	assert_int_equal(mkdir(in_folder("scripts"), 0755), 0);
	assert_int_equal(mkdir(in_folder("metadata"), 0755), 0);
	put_file(LOG, "Building DAG of jobs...\n[Sat Nov 28 16:41:10 2026]\nrule fetch:\n    output: ref.fa, ref.txt\n    jobid: 1\n\n"
		      "[Sat Nov 28 16:41:11 2026]\nFinished job 1.\n1 of 9 steps (11%) done\n\n"
		      "rule align:\n    input: ref.fa\n    output: out/1.sam, out/1.log\n    jobid: 2\n    reason: Missing output files: x\n"
		      "    wildcards: s=1, lane=a\n\nlocalcheckpoint split:\n    output: out/11.sam\n    jobid: 3\n\n"
		      "group job 4 (jobs in lexicogr. order):\n    rule piped:\n        output: pipe/2\n        jobid: 5\n        wildcards: n=2\n\n"
		      "rule script:\n    output: plots/a.pdf\n    jobid: 6\n    wildcards: p=a\n\n"
		      "rule script:\n    output: plots/b.pdf\n    jobid: 7\n    wildcards: p=b\n\n"
		      "rule index:\n    output: x.bai\n    jobid: 8\n\nrule index:\n    output: y.bai\n    jobid: 9\n");
	assert_string_equal(find_job("bwa mem ref.fa x >out/1.sam"), "align s=1,lane=a ");
	assert_string_equal(find_job("bwa mem ref.fa 'out/1.log'"), "align s=1,lane=a ");
	assert_string_equal(find_job("a --o=out/11.sam"), "split  ");
	assert_string_equal(find_job("cat >pipe/2"), "piped n=2 ");
	/* its input is another job's output, and that job has finished */
	assert_string_equal(find_job("bwa index ref.fa"), "  ");
	assert_string_equal(find_job("touch out/1.sam2 xout/1.sam out/1.sam/x"), "  ");
	assert_string_equal(find_job("cat x.bai y.bai"), "  "); /* two jobs: no answer is better than a wrong one */
	assert_string_equal(find_job(""), "  ");
	/* A script's text names the job.  Python's data is a pickle, and its configuration may name any file. */
	put_file("scripts/tmp1234.plot.py", "loads(b'\\x94\\x8c\\x0bplots/b.pdf\\x94\\x8cAplots/a.pdf\\x94')\n");
	put_file("scripts/tmp1235.plot.R", "output = list('plots/a.pdf'), config = list('plots/b.pdf')\n");
	assert_string_equal(find_job("python3 /w/.snakemake/scripts/tmp1234.plot.py"), "script p=b ");
	assert_string_equal(find_job("Rscript --vanilla .snakemake/scripts/tmp1235.plot.R"), "script p=a ");
	assert_string_equal(find_job("Rscript --vanilla .snakemake/scripts/tmp9999.plot.R plots/a.pdf"), "  ");
	/* A second Snakemake in the same folder has a log of its own. */
	put_file("log/2026-11-28T170000.000000.snakemake.log", "rule other:\n    output: other.txt\n    jobid: 2\n\nFinished job 1.\n");
	put_file("log/other.log", "rule no_log:\n    output: no.txt\n    jobid: 2\n");
	assert_string_equal(find_job("touch other.txt"), "other  ");
	assert_string_equal(find_job("x >out/1.sam"), "align s=1,lane=a ");
	assert_string_equal(find_job("touch no.txt"), "  ");
	/* After a job its whole command tells: in the log if it failed, else in the metadata. */
	f = fopen(in_folder(LOG), "ae");
	assert_non_null(f);
	fputs("\nError in rule index:\n    jobid: 8\n    output: x.bai\n    shell:\n        samtools index \\\n  x\n" EXITED
	      "\nError in rule index:\n    jobid: 9\n    shell:\n        not whole", f);
	fputs("\n\nFinished jobid: 2 (Rule: align)\n", f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(find_job("\n samtools index \\\n  x\n"), "index  ");
	assert_string_equal(find_job("x >out/1.sam"), "  ");
	put_file("metadata/b3V0LzEuc2Ft", "{ \"rule\": \"align\", \"shellcmd\": \"bwa mem\" }"); /* out/1.sam */
	assert_string_equal(find_job_as("bwa mem", true, getuid()), "  align"); /* one of two outputs: the other is another job's */
	put_file("metadata/b3V0LzEubG9n", "{ \"rule\": \"align\", \"shellcmd\": \"bwa mem\" }"); /* out/1.log */
	assert_string_equal(find_job_as("bwa mem", true, getuid()), "align s=1,lane=a align");
}

/* Only the last part of a log is read. */
static void test_a_long_log(void **state)
{
	FILE *f;

	(void)state;
	assert_int_equal(mkdir(in_folder("log"), 0755), 0);
	f = fopen(in_folder(LOG), "we");
	assert_non_null(f);
	for (unsigned i = 0; i < 5000; i++)
		fprintf(f, "rule r%u:\n    output: out/%u\n    jobid: %u\n\n", i, i, i);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(find_job("touch out/4999"), "r4999  ");
	assert_string_equal(find_job("touch out/4000"), "r4000  ");
	assert_string_equal(find_job("touch out/1"), "  ");
}

/* What a user can put where skep looks for Snakemake's log. */
static void test_hostile_logs(void **state)
{
	static const char job[] = "rule secret:\n    output: out\n    jobid: 1\n";
	char target[128];

	(void)state;
	assert_string_equal(find_job("touch out"), "error -2");
	put_file("log", job);
	assert_string_equal(find_job("touch out"), "error -20");
	assert_int_equal(unlink(in_folder("log")), 0);
	assert_int_equal(mkdir(in_folder("real"), 0755), 0);
	snprintf(target, sizeof(target), "%s/real", folder);
	assert_int_equal(symlink(target, in_folder("log")), 0);
	put_file("real/x.snakemake.log", job);
	assert_string_equal(find_job("touch out"), "error -20");
	assert_int_equal(unlink(in_folder("log")), 0);
	assert_int_equal(mkdir(in_folder("log"), 0755), 0);
	assert_int_equal(mkfifo(in_folder(LOG), 0666), 0);
	assert_string_equal(find_job("touch out"), "  ");
	assert_int_equal(unlink(in_folder(LOG)), 0);
	snprintf(target, sizeof(target), "%s/real/x.snakemake.log", folder);
	assert_int_equal(symlink(target, in_folder(LOG)), 0);
	assert_string_equal(find_job("touch out"), "  ");
	assert_int_equal(unlink(in_folder(LOG)), 0);
	/* a file without an end, bytes that are no text, a rule without a name, a block without a job */
	put_file(LOG, "");
	assert_int_equal(truncate(in_folder(LOG), (off_t)1 << 40), 0);
	assert_string_equal(find_job("touch out"), "  ");
	put_file(LOG, "rule \xff\xfe:\n    output: out\n    jobid: 1\n\nrule :\n    output: b\nFinished job .\nError in rule \n    shell:\n");
	assert_string_equal(find_job("touch out"), "\xff\xfe  ");
	assert_string_equal(find_job("touch b"), "  ");
	/* a script that is none, or that stands elsewhere */
	put_file(LOG, job);
	put_file("real/s.py", "out");
	assert_int_equal(mkdir(in_folder("scripts"), 0755), 0);
	assert_int_equal(mkfifo(in_folder("scripts/fifo"), 0666), 0);
	assert_int_equal(symlink("../real/s.py", in_folder("scripts/link")), 0);
	assert_string_equal(find_job("python3 .snakemake/scripts/fifo"), "  ");
	assert_string_equal(find_job("python3 .snakemake/scripts/link"), "  ");
	assert_string_equal(find_job("python3 .snakemake/scripts/../real/s.py"), "  ");
	assert_string_equal(find_job("python3 .snakemake/scripts/"), "  ");
	assert_int_equal(reader_stats(t.reader).replaced, 0);
}

/* What a user can put where skep looks for an engine's file. */
static void test_hostile_files(void **state)
{
	char deep[4096], target[128];

	(void)state;
	assert_int_equal(mkfifo(in_folder("fifo"), 0666), 0);
	assert_int_equal(read_lines("fifo", getuid()).error, -EINVAL);
	put_file("secret", "{ \"rule\": \"secret\", \"shellcmd\": \"x\" }");
	snprintf(target, sizeof(target), "%s/secret", folder);
	assert_int_equal(symlink(target, in_folder("link")), 0);
	assert_int_equal(read_lines("link", getuid()).error, -ELOOP);
	assert_int_equal(mkdir(in_folder("meta"), 0755), 0);
	assert_int_equal(symlink(target, in_folder("meta/link")), 0);
	assert_int_equal(mkfifo(in_folder("meta/fifo"), 0666), 0);
	assert_string_equal(find_rule("meta", "x", getuid()).cmdline, "");
	assert_int_equal(symlink("meta", in_folder("meta2")), 0);
	put_file("meta/real", "{ \"rule\": \"real\", \"shellcmd\": \"x\" }");
	assert_string_equal(find_rule("meta", "x", getuid()).cmdline, "real");
	assert_int_equal(find_rule("meta2", "x", getuid()).error, -ENOTDIR);
	assert_int_equal(read_lines("meta2/real", getuid()).error, -ENOTDIR);
	put_file("big", "");
	assert_int_equal(truncate(in_folder("big"), 1 << 30), 0);
	assert_int_equal(read_value("big", "/rule").error, -EFBIG);
	assert_int_equal(read_lines("big", getuid()).error, 0);
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	put_file("deep", deep);
	assert_int_equal(read_value("deep", "/rule").error, -EBADMSG);
	put_file("text", "no JSON");
	assert_int_equal(read_value("text", "/rule").error, -EBADMSG);
	assert_int_equal(read_lines("meta", getuid()).error, -EINVAL);
	assert_int_equal(reader_stats(t.reader).stuck, 0);
	assert_int_equal(reader_stats(t.reader).replaced, 0);
}

/* 100,000 files: the worker looks at a part of them, in bounded time. */
static void test_a_folder_that_is_full(void **state)
{
	char moved[96];
	uint64_t begin;

	(void)state;
	for (unsigned i = 0; i < 100000; i++) {
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "%u", i);
		fd = open(in_folder(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
		assert_true(fd >= 0);
		close(fd);
	}
	begin = uv_hrtime();
	assert_int_equal(find_rule("", "x", getuid()).error, 0);
	printf("a folder of 100,000 files took %.0f ms\n", (double)(uv_hrtime() - begin) / 1e6);
	assert_int_equal(rename(folder, strcat(strcpy(moved, folder), ".log")), 0);
	assert_int_equal(mkdir(folder, 0755), 0);
	assert_int_equal(rename(moved, in_folder("log")), 0);
	assert_string_equal(find_job("touch x"), "  ");
	assert_int_equal(reader_stats(t.reader).replaced, 0);
}

static void test_reads_as_the_user(void **state)
{
	gid_t groups[] = { 4711 };
	pid_t member;

	(void)state;
	if (geteuid() != 0)
		skip();
	put_file("mine", "{ \"rule\": \"root's\", \"shellcmd\": \"x\" }");
	assert_int_equal(chmod(in_folder("mine"), 0600), 0);
	assert_int_equal(read_lines("mine", 65534).error, -EACCES);
	assert_int_equal(read_lines("mine", 0).error, 0);
	assert_string_equal(find_rule("", "x", 65534).cmdline, "");
	assert_int_equal(chown(in_folder("mine"), 65534, 65534), 0);
	assert_string_equal(find_rule("", "x", 65534).cmdline, "root's");
	assert_int_equal(read_lines("mine", 65533).error, -EACCES);
	assert_int_equal(mkdir(in_folder("log"), 0755), 0);
	put_file(LOG, "rule secret:\n    output: out\n    jobid: 1\n");
	assert_int_equal(chmod(in_folder(LOG), 0600), 0);
	assert_string_equal(find_job_as("touch out", false, 65534), "  ");
	assert_int_equal(chown(in_folder(LOG), 65534, 65534), 0);
	assert_string_equal(find_job_as("touch out", false, 65534), "secret  ");
	/* a folder that only a further group of the user may search */
	assert_int_equal(mkdir(in_folder("lab"), 0750), 0);
	put_file("lab/run", "lab\n");
	assert_int_equal(chown(in_folder("lab"), 0, 4711), 0);
	assert_int_equal(read_lines("lab/run", 65534).error, -EACCES);
	member = fork();
	assert_true(member >= 0);
	if (member == 0) {
		if (setgroups(1, groups) < 0 || setresgid(65534, 65534, 65534) < 0 ||
		    setresuid(65534, 65534, 65534) < 0)
			_exit(1);
		raise(SIGSTOP);
		pause();
		_exit(0);
	}
	assert_int_equal(waitpid(member, NULL, WUNTRACED), member);
	{
		const struct engine_file file = { .uid = 65534, .gid = 65534, .pid = (uint32_t)member,
						  .path = in_folder("lab/run"), .n_wanted = 1 };
		const struct engine_file other = { .uid = 65533, .gid = 65533, .pid = (uint32_t)member,
						   .path = file.path, .n_wanted = 1 };

		assert_string_equal(read_file(&file).cmdline, "lab\n");
		assert_int_equal(read_file(&other).error, -EACCES);
	}
	kill(member, SIGKILL);
	waitpid(member, NULL, 0);
	/* the worker is itself again */
	assert_int_equal(read_lines("lab/run", 0).error, 0);
}

/* The last line with this text of what the process has as standard error. */
static struct result read_error_line(pid_t pid, const char *text, uint32_t uid)
{
	const struct engine_file file = {
		.uid = uid,
		.gid = uid,
		.pid = (uint32_t)pid,
		.standard_error = true,
		.wanted = { { .text = { text, (uint32_t)strlen(text), (uint32_t)strlen(text) } } },
		.n_wanted = 1,
	};

	return read_file(&file);
}

/* An engine of this user, whose standard error is that file; NULL: a pipe. */
static pid_t engine_with(const char *path, uint32_t uid)
{
	char comm[16] = "";
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		int fd = path ? open(path, O_WRONLY | O_APPEND) : ends[1];

		if (fd < 0 || dup2(fd, 2) < 0)
			_exit(1);
		if (getuid() == 0 &&
		    (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
			_exit(1);
		execl("/bin/sleep", "sleep", "60", NULL);
		_exit(1);
	}
	close(ends[1]);
	close(ends[0]);
	while (strcmp(comm, "sleep\n") != 0) { /* an exec lets its user look at it again */
		ssize_t n = skep_procfile_read((uint32_t)pid, "comm", comm, sizeof(comm) - 1);

		assert_true(n > 0);
		comm[n] = '\0';
	}
	return pid;
}

static void engine_ends(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* cwltool says which job runs in which directory. */
static void test_standard_error(void **state)
{
	const uint32_t uid = getuid() ? getuid() : 65534;
	char target[128];
	pid_t pid;
	FILE *f;

	(void)state;
	put_file("log", "INFO [job a] /tmp/x$ sort\nINFO [job b] /tmp/xy$ cut\n");
	pid = engine_with(in_folder("log"), uid);
	assert_string_equal(read_error_line(pid, "] /tmp/x$", uid).cmdline, "INFO [job a] /tmp/x$ sort");
	assert_string_equal(read_error_line(pid, "] /tmp/xy$", uid).cmdline, "INFO [job b] /tmp/xy$ cut");
	assert_string_equal(read_error_line(pid, "] /tmp/y$", uid).cmdline, "");
	assert_int_equal(read_error_line(pid, "] /tmp/y$", uid).error, 0);
	assert_string_equal(read_error_line(pid, "", uid).cmdline, "");
	assert_int_equal(read_error_line(0, "x", uid).error, -ENOENT);
	/* of a long log the end, and of several lines the last */
	f = fopen(in_folder("log"), "ae");
	assert_non_null(f);
	for (unsigned i = 0; i < 10000; i++)
		fputs("a line of no job\n", f);
	fputs("[job c] /tmp/z$ no\n[job d_2] /tmp/z$ yes", f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(read_error_line(pid, "] /tmp/x$", uid).cmdline, "");
	assert_string_equal(read_error_line(pid, "] /tmp/z$", uid).cmdline, "[job d_2] /tmp/z$ yes");
	if (getuid() == 0) {
		/* another user may not look, and this user not at what it may not read, whoever opened it */
		assert_int_equal(read_error_line(pid, "] /tmp/z$", 65533).error, -ENOENT);
		assert_int_equal(chmod(in_folder("log"), 0600), 0);
		assert_int_equal(read_error_line(pid, "] /tmp/z$", uid).error, -EACCES);
		assert_int_equal(chmod(in_folder("log"), 0644), 0);
	}
	/* a link in the place of the file */
	snprintf(target, sizeof(target), "%s/real", folder);
	assert_int_equal(rename(in_folder("log"), target), 0);
	assert_int_equal(unlink(target), 0);
	assert_true(read_error_line(pid, "] /tmp/z$", uid).error < 0);
	engine_ends(pid);
	pid = engine_with("/dev/null", uid);
	assert_int_equal(read_error_line(pid, "x", uid).error, -EINVAL);
	engine_ends(pid);
	pid = engine_with(NULL, uid);
	assert_int_equal(read_error_line(pid, "x", uid).error, -ENOENT);
	engine_ends(pid);
	assert_int_equal(reader_stats(t.reader).replaced, 0);
}

static void test_a_file_that_never_answers(void **state)
{
	(void)state;
	put_file("run", "x\n");
	kill(worker(), SIGSTOP);
	assert_int_equal(read_lines("run", 1000).error, -ETIMEDOUT);
	assert_int_equal(read_lines("run", getuid()).error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 1);
}

/* ---- the unit --------------------------------------------------------------------- */

static char unit_path[80];

static void manager_start(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), low = dup(fd);

	/*
	 * libuv opens a pipe of its own in each forked process, and closes it by its number in the next one. The
	 * descriptor `low` keeps the pipe from the numbers that the keeper uses.  skepd forks before it uses libuv.
	 */
	assert_true(fd >= 0 && low >= 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", unit_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(chmod(unit_path, 0777), 0);
	assert_int_equal(listen(fd, 8), 0);
	manager = fork();
	assert_true(manager >= 0);
	while (manager == 0) {
		pid_t parent = getpid(), pid = fork();

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (pid == 0 && getppid() == parent)
			reader_serve("test", fd);
		if (pid == 0)
			_exit(1);
		waitpid(pid, NULL, 0);
	}
	close(fd);
	close(low);
}

static void manager_end(void)
{
	if (!manager)
		return; /* a test that failed has ended it */
	kill(manager, SIGKILL);
	waitpid(manager, NULL, 0);
	manager = 0;
	assert_int_equal(unlink(unit_path), 0);
}

static int setup_unit(void **state)
{
	waiting = 0;
	reader_reach_ns = 0;
	if (make_folder(state))
		return -1;
	snprintf(unit_path, sizeof(unit_path), "%s/socket", folder);
	manager_start();
	return 0;
}

static void connect_to_unit(void)
{
	assert_int_equal(reader_of_unit(unit_path, &t.process), 0);
	assert_int_equal(uv_loop_init(&t.loop), 0);
	assert_int_equal(reader_new(&t.loop, &t.process, deliver, &t.reader), 0);
}

static int teardown_unit(void **state)
{
	int err = teardown(state);

	manager_end();
	reader_reach_ns = READER_REACH_NS;
	return err || remove_folder(state);
}

/*
 * Reads until a read fails: the keeper ends with the manager, and the worker with the keeper.  When the loop gets the
 * last answer and the end of the unit in one turn, no request waits any more, and the next one finds no socket.
 */
static void read_until_the_end(void)
{
	int err = 0;

	for (int i = 0; i < 40000 && !err; i++, usleep(5000))
		err = read_lines("run", getuid()).error;
	assert_true(err == -EPIPE || err == -ENOENT);
}

static void test_a_unit(void **state)
{
	(void)state;
	connect_to_unit();
	put_file("run", "x\n");
	assert_false(reader_stats(t.reader).ready);
	assert_string_equal(read_lines("run", getuid()).cmdline, "x\n");
	assert_true(reader_stats(t.reader).ready);
	kill(worker(), SIGSTOP);
	assert_int_equal(read_lines("run", 1000).error, -ETIMEDOUT);
	assert_int_equal(read_lines("run", getuid()).error, 0);
	assert_int_equal(reader_stats(t.reader).stuck, 1);
	/* the unit restarts, as in an upgrade */
	kill(keeper(), SIGKILL);
	assert_int_equal(read_lines("run", getuid()).error, 0);
	/* the unit is stopped, and comes back */
	manager_end();
	read_until_the_end();
	assert_false(reader_stats(t.reader).ready);
	assert_int_equal(read_lines("run", getuid()).error, -ENOENT);
	manager_start();
	assert_int_equal(read_lines("run", getuid()).error, 0);
	/* this program restarts: the unit serves the next one */
	reader_close(t.reader);
	uv_run(&t.loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&t.loop), 0);
	reader_end(&t.process);
	connect_to_unit();
	assert_int_equal(read_lines("run", getuid()).error, 0);
}

/* Connects too often for a service manager. */
static void test_a_unit_that_is_away(void **state)
{
	(void)state;
	reader_reach_ns = UINT64_MAX;
	connect_to_unit();
	put_file("run", "x\n");
	manager_end();
	read_until_the_end();
	manager_start();
	assert_int_equal(read_lines("run", getuid()).error, -EPIPE);
}

/* A program of another user gets no keeper, and the unit waits for the right one. */
static void test_a_unit_refuses_others(void **state)
{
	int status = -1;
	pid_t other;

	(void)state;
	if (geteuid() == 0) {
		other = fork();
		assert_true(other >= 0);
		if (other == 0) {
			struct reader_stats stats;

			if (setresuid(65534, 65534, 65534) < 0)
				_exit(2);
			reader_reach_ns = READER_REACH_NS;
			connect_to_unit();
			do {
				uv_run(&t.loop, UV_RUN_ONCE);
				stats = reader_stats(t.reader);
			} while (stats.alive && !stats.ready);
			_exit(stats.ready);
		}
		assert_int_equal(waitpid(other, &status, 0), other);
		assert_int_equal(status, 0);
	}
	connect_to_unit();
	put_file("run", "x\n");
	assert_int_equal(read_lines("run", getuid()).error, 0);
}

static void test_packs_files(void **state)
{
	static char room[ENGINE_FILE_REQUEST], text[ENGINE_FILE_REQUEST];
	struct engine_file file = { .uid = 1, .gid = 2, .pid = 3, .path = "/x", .where = "/w", .log = "/l", .values = { "/a", "/b" },
				    .wanted = { { .text = { "cmd", 3, 3 }, .since_ns = 5, .cut = true } },
				    .n_wanted = 1 };
	struct engine_file got;
	ssize_t len = engine_file_pack(&file, room, sizeof(room));

	(void)state;
	assert_true(len > 0);
	assert_int_equal(engine_file_unpack(room, (size_t)len, &got), 0);
	assert_true(got.uid == 1 && got.gid == 2 && got.pid == 3 && got.n_wanted == 1 && got.wanted[0].since_ns == 5);
	assert_true(got.wanted[0].cut && got.wanted[0].text.len == 3 && memcmp(got.wanted[0].text.ptr, "cmd", 3) == 0);
	assert_string_equal(got.path, "/x");
	assert_string_equal(got.where, "/w");
	assert_string_equal(got.log, "/l");
	assert_string_equal(got.values[1], "/b");
	assert_null(got.values[2]);
	for (ssize_t n = 0; n < len; n++)
		assert_int_equal(engine_file_unpack(room, (size_t)n, &got), -EBADMSG);
	file.wanted[0].text = (struct skep_str){ text, sizeof(text), sizeof(text) };
	assert_int_equal(engine_file_pack(&file, room, sizeof(room)), -EMSGSIZE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_reads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refuses_what_makes_no_sense, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_stuck_one_costs_only_itself, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_user_who_goes_on, setup, teardown),
		cmocka_unit_test_setup_teardown(test_suspects_come_last, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_killed_worker_is_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_worker_that_dies_while_it_is_checked, setup, teardown),
		cmocka_unit_test_setup_teardown(test_a_keeper_that_does_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_is_in_a_group_of_its_own, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_a_keeper, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_spare_takes_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_subordinate_uids_are_their_owner, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forgotten, setup, teardown),
		cmocka_unit_test(test_without_a_loop),
		cmocka_unit_test(test_packs_files),
		cmocka_unit_test_setup_teardown(test_reads_files, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_finds_a_file_of_a_folder, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_finds_a_job_in_a_log, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_a_long_log, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_hostile_files, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_hostile_logs, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_a_folder_that_is_full, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_reads_as_the_user, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_standard_error, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_a_file_that_never_answers, setup_folder, teardown_folder),
		cmocka_unit_test_setup_teardown(test_a_unit, setup_unit, teardown_unit),
		cmocka_unit_test_setup_teardown(test_a_unit_that_is_away, setup_unit, teardown_unit),
		cmocka_unit_test_setup_teardown(test_a_unit_refuses_others, setup_unit, teardown_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
