/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_proc_decode.c - the probe "proc": bytes of its kernel side into records,
 * without a kernel side.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <skep/drain.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "plugins/proc/state.h"

static struct proc_state st;
static struct proc_others others; /* as the kernel side writes them */
static struct skep_rules rules;
static struct {
	unsigned n, stream;
	struct skep_upid who;
	union {
		struct skep_process_exec exec;
		struct skep_process_final final;
		struct skep_process_live live;
		struct skep_process_oom oom;
	};
	char exe[8192], cwd[8192], filename[8192], argv[65536], cgroup[8192], comm[32];
	int posts;
	int64_t post[2];
} got;
static unsigned sweeps_ended;
static bool sweep_complete;
static uint64_t taught_id;
static char taught[256];

static void keep(char *to, const struct skep_str *s)
{
	if (s->len) /* without text ptr may be NULL */
		memcpy(to, s->ptr, s->len);
	to[s->len] = '\0';
}

static void emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		 const void *rec)
{
	(void)inst;
	(void)time_ns;
	if (stream == STREAM_LEDGER) {
		const struct skep_ledger_post *post = rec;

		assert_true(got.posts < 2);
		got.post[got.posts++] = post->amount;
		assert_null(who);
		return;
	}
	got.n++;
	got.stream = stream;
	got.who = *who;
	if (stream == STREAM_EXEC) {
		got.exec = *(const struct skep_process_exec *)rec;
		keep(got.exe, &got.exec.exe);
		keep(got.cwd, &got.exec.cwd);
		keep(got.filename, &got.exec.filename);
		keep(got.argv, &got.exec.argv);
		keep(got.comm, &got.exec.comm);
	} else if (stream == STREAM_FINAL) {
		got.final = *(const struct skep_process_final *)rec;
	} else if (stream == STREAM_LIVE) {
		got.live = *(const struct skep_process_live *)rec;
	} else if (stream == STREAM_OOM) {
		got.oom = *(const struct skep_process_oom *)rec;
		keep(got.cgroup, &got.oom.cgroup);
	}
}

static unsigned redact(struct skep_instance *inst, const char *exe, char *argv, uint32_t *len)
{
	(void)inst;
	(void)exe;
	if (*len >= 6 && !memcmp(argv + *len - 7, "secret", 6)) {
		memcpy(argv + *len - 7, "***", 4);
		*len -= 3;
		return 1;
	}
	return 0;
}

static bool known(struct skep_instance *inst, uint64_t id, const struct skep_str *path)
{
	(void)inst;
	taught_id = id;
	if (path)
		keep(taught, path);
	return true;
}

static void sweep_end(struct skep_instance *inst, bool complete)
{
	(void)inst;
	sweeps_ended++;
	sweep_complete = complete;
}

static void counter_add(struct skep_counter *c, uint64_t n)
{
	(void)c;
	(void)n;
}

int proc_pending_add(struct skep_instance *inst, struct proc_state *state, const struct proc_final *f)
{
	proc_emit_final(inst, state, f);
	return 0;
}

void proc_catch_up(struct proc_state *state)
{
	(void)state;
}

bool proc_drain(struct skep_instance *inst, struct proc_state *state, uint64_t budget_ns)
{
	(void)inst;
	(void)state;
	(void)budget_ns;
	return true;
}

static int failed(struct skep_instance *inst, int err, const char *fmt, ...)
{
	(void)inst;
	(void)fmt;
	return err;
}

/* The reads that the probe asked the host for. */
static struct {
	unsigned n;
	int error; /* the immediate result of the call */
	uint32_t uid, what;
	skep_process_cb cb;
	void *arg;
} asked;

static bool process_known(struct skep_instance *inst, const struct skep_upid *who)
{
	(void)inst;
	(void)who;
	return true;
}

static const struct skep_host host = {
	.size = sizeof(host),
	.fail = failed,
	.emit = emit,
	.redact = redact,
	.cgroup_known = known,
	.process_known = process_known,
	.sweep_end = sweep_end,
	.counter_add = counter_add,
};

static int setup(void **state)
{
	(void)state;
	memset(&st, 0, sizeof(st));
	memset(&got, 0, sizeof(got));
	memset(&asked, 0, sizeof(asked));
	st.host = &host;
	st.page_size = 4096;
	st.iter_fd = -1;
	st.others = &others;
	st.rules = &rules;
	others = (struct proc_others){ 0 };
	sweeps_ended = 0;
	return 0;
}

static void paths_are_turned_round(void **state)
{
	char path[64];

	(void)state;
	assert_int_equal(skep_path_join("bash\0bin\0usr\0", 13, false, path, sizeof(path)), 13);
	assert_string_equal(path, "/usr/bin/bash");
	assert_int_equal(skep_path_join("", 0, false, path, sizeof(path)), 1);
	assert_string_equal(path, "/");
	assert_int_equal(skep_path_join("b\0a\0", 4, true, path, sizeof(path)), 7);
	assert_string_equal(path, ".../a/b");
	assert_int_equal(skep_path_join("bash\0bin", 8, false, path, sizeof(path)), 0); /* no NUL at its end */
	assert_int_equal(skep_path_join("bash\0bin\0usr\0", 13, false, path, 13), 0);    /* no room for the NUL */
}

/* An exec record as the kernel side lays it out. */
static void *exec_record(size_t *ret_size)
{
	static const char filename[] = "x.sh", exe[] = "bash\0bin", cwd[] = "me\0home", cgroup[] = "job_1\0slurm",
			  argv[] = "x.sh\0--password\0secret";
	static const struct proc_origin origin = { .group = 76, .tty = 1, .parent_comm = "0123456789abcde" };
	static const struct proc_file file = { .size_bytes = 1265648, .modified_ns = UINT64_C(1682246096000000001) };
	size_t size = sizeof(struct proc_exec) + sizeof(filename) + sizeof(exe) + sizeof(cwd) + sizeof(cgroup) +
		      sizeof(argv);
	struct proc_exec *r = calloc(1, size);
	char *at = (char *)(r + 1);

	assert_non_null(r);
	r->h = (struct proc_head){ .type = PROC_EXEC, .pid = 77, .start_ns = 1234, .time_ns = 5678 };
	r->parent_pid = 70;
	r->sums.cpu_ns = 11;
	r->sums.cancelled_write_bytes = 16;
	r->maxrss_pages = 3;
	r->cgroup_id = 99;
	memcpy(r->comm, "0123456789abcdef", PROC_COMM); /* the kernel ends it with a NUL, but the probe must not rely on that */
	r->filename_len = sizeof(filename);
	r->exe_len = sizeof(exe);
	r->cwd_len = sizeof(cwd);
	r->cgroup_len = sizeof(cgroup);
	r->argv_len = r->argv_total = sizeof(argv);
	r->flags = 2u << PROC_EXEC_UNKNOWN_SHIFT;
	r->origin = origin;
	r->file = file;
	at = mempcpy(at, exe, sizeof(exe));
	at = mempcpy(at, filename, sizeof(filename));
	at = mempcpy(at, cwd, sizeof(cwd));
	at = mempcpy(at, cgroup, sizeof(cgroup));
	memcpy(at, argv, sizeof(argv));
	*ret_size = size;
	return r;
}

static void variables_that_were_asked_for(void **state)
{
	static const char *names[] = { "TRACEPARENT", "SKEP_TASK", NULL },
			  *wrong[] = { "A=B", "", "1A", "A_NAME_THAT_IS_LONGER_THAN_31_BYTES", NULL },
			  *nine[] = { "A", "B", "C", "D", "E", "F", "G", "H", "I", NULL };
	static const char block[] = "SKEP_TASK=align\0SKEP_TASKS=no\0HOME=/root\0XSKEP_TASK=no\0TRACEPARENT=",
			  plain[] = "SKEP_TASK=align\0TRACEPARENT=";
	static struct proc_environ_table table;
	const char *refused = NULL;
	char long_one[400], ret[PROC_ENVIRON_MAX + 1];
	struct proc_exec *r;
	size_t size, len;

	(void)state;
	st.opt_environ = names;
	assert_int_equal(proc_environ_check(NULL, &st), 0);
	assert_int_equal(proc_environ_option(&st, &st.environ), 2);
	assert_memory_equal(st.environ.names[1].words, "SKEP_TASK=\0\0\0\0\0\0", 16);
	assert_int_equal(st.environ.names[1].masks[1], 0xffff); /* two of the second word's bytes */
	assert_int_equal(st.environ.names[1].masks[2], 0);
	len = proc_environ_pick(&st.environ, block, sizeof(block), ret, sizeof(ret));
	assert_int_equal(len, sizeof(plain));
	assert_memory_equal(ret, plain, len);
	/* cut, and without room for a second one */
	memset(long_one, 'x', sizeof(long_one));
	memcpy(long_one, "SKEP_TASK=", 10);
	assert_int_equal(proc_environ_pick(&st.environ, long_one, sizeof(long_one), ret, sizeof(ret)),
			 PROC_ENVIRON_ENTRY);
	assert_int_equal(ret[PROC_ENVIRON_ENTRY - 1], 0);
	assert_int_equal(proc_environ_pick(&st.environ, long_one, sizeof(long_one), ret, PROC_ENVIRON_ENTRY - 1), 0);
	assert_int_equal(proc_environ_pick(&st.environ, "", 0, ret, sizeof(ret)), 0);

	/*
	 * Variables behind the arguments of an exec. A variable that this probe did not ask for comes from the kernel
	 * side of a previous skepd with other options.
	 */
	r = exec_record(&size);
	r = realloc(r, size + sizeof(block));
	assert_non_null(r);
	memcpy((char *)r + size, block, sizeof(block));
	r->environ_len = sizeof(block);
	assert_int_equal(proc_decode_ring(NULL, &st, r, size + sizeof(block)), 0);
	assert_int_equal(got.exec.environ.len, sizeof(plain));
	assert_memory_equal(got.exec.environ.ptr, plain, sizeof(plain));
	assert_int_equal(proc_decode_ring(NULL, &st, r, size + sizeof(block) - 1), -EBADMSG);
	r->environ_len = PROC_ENVIRON_MAX + 1;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size + sizeof(block)), -EBADMSG);
	free(r);

	for (size_t i = 0; wrong[i]; i++) {
		const char *one[] = { wrong[i], NULL };

		st.opt_environ = one;
		assert_int_equal(proc_environ_check(NULL, &st), -EINVAL);
	}
	st.opt_environ = nine;
	assert_int_equal(proc_environ_check(NULL, &st), -EINVAL);
	st.opt_environ = NULL;
	assert_int_equal(proc_environ_option(&st, &table), 0);
	assert_int_equal(proc_environ_pick(&table, block, sizeof(block), ret, sizeof(ret)), 0);
	assert_int_equal(proc_environ_add(&table, 0, wrong, &refused), 0);
	assert_ptr_equal(refused, wrong[3]);
}

/* 64 names and the option's 8, most of which begin alike. */
static void names_of_boundaries(void **state)
{
	static const char *own[] = { "A", "B", "C", "D", "E", "F", "G", "H", NULL };
	static char text[PROC_BOUNDARY_NAMES + 1][32];
	const char *names[PROC_BOUNDARY_NAMES + 2], *refused = NULL;
	char block[8192], ret[PROC_ENVIRON_MAX + 1];
	struct proc_exec *r;
	size_t len = 0, size;

	(void)state;
	for (unsigned i = 0; i <= PROC_BOUNDARY_NAMES; i++) {
		snprintf(text[i], sizeof(text[i]), i % 2 ? "AIRFLOW_CTX_%u" : "SLURM_%u", i);
		names[i] = text[i];
	}
	names[PROC_BOUNDARY_NAMES] = NULL;
	st.opt_environ = own;
	assert_int_equal(proc_environ_option(&st, &st.environ), PROC_ENVIRON_NAMES);
	assert_int_equal(proc_environ_add(&st.environ, PROC_ENVIRON_NAMES, names, &refused), PROC_ENVIRON_ALL);
	assert_null(refused);
	names[PROC_BOUNDARY_NAMES] = text[PROC_BOUNDARY_NAMES];
	names[PROC_BOUNDARY_NAMES + 1] = NULL;
	proc_environ_option(&st, &st.environ);
	assert_int_equal(proc_environ_add(&st.environ, PROC_ENVIRON_NAMES, names, &refused), PROC_ENVIRON_ALL);
	assert_ptr_equal(refused, text[PROC_BOUNDARY_NAMES]);
	for (unsigned i = 0; i <= PROC_BOUNDARY_NAMES; i++)
		len += (size_t)sprintf(block + len, "%s=%u%c%sX=%u%c", text[i], i, 0, text[i], i, 0);
	size = proc_environ_pick(&st.environ, block, len, ret, sizeof(ret));
	for (unsigned i = 0, at = 0; i < PROC_BOUNDARY_NAMES; i++) {
		char wanted[64];

		snprintf(wanted, sizeof(wanted), "%.31s=%u", text[i], i);
		assert_true(at < size);
		assert_string_equal(ret + at, wanted);
		at += (unsigned)strlen(wanted) + 1;
		if (i == PROC_BOUNDARY_NAMES - 1)
			assert_int_equal(at, size);
	}

	/* Secrets are blanked, as in arguments. */
	r = exec_record(&size);
	r = realloc(r, size + 9);
	assert_non_null(r);
	memcpy((char *)r + size, "B=secret", 9);
	r->environ_len = 9;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size + 9), 0);
	assert_int_equal(got.exec.environ.len, 6);
	assert_string_equal(got.exec.environ.ptr, "B=***");
	free(r);

	/* The flag of the record: only if the whole environment was searched. */
	r = exec_record(&size);
	r->flags |= PROC_EXEC_BOUNDARY;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), 0);
	assert_true(got.exec.flags & SKEP_EXEC_BOUNDARY);
	assert_int_equal(got.exec.environ.total, got.exec.environ.len);
	r->flags |= PROC_EXEC_ENVIRON_FAULT;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), 0);
	assert_false(got.exec.flags & SKEP_EXEC_BOUNDARY);
	assert_true(got.exec.environ.total > got.exec.environ.len);
	free(r);
	st.opt_environ = NULL;
}

static void exec_is_decoded(void **state)
{
	size_t size;
	void *r = exec_record(&size);

	(void)state;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), 0);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.who.pid, 77);
	assert_int_equal(got.who.start_ns, 1234);
	assert_int_equal(got.exec.parent.pid, 70);
	assert_int_equal(got.exec.counters.cpu_ns, 11);
	assert_int_equal(got.exec.counters.cancelled_write_bytes, 16);
	assert_int_equal(got.exec.maxrss_bytes, 3 * 4096);
	assert_string_equal(got.filename, "x.sh");
	assert_string_equal(got.exe, "/bin/bash");
	assert_string_equal(got.cwd, "/home/me");
	assert_string_equal(got.comm, "0123456789abcdef");
	assert_int_equal(got.exec.group_leader, 76);
	assert_int_equal(got.exec.exe_size_bytes, 1265648);
	assert_int_equal(got.exec.exe_modified_ns, UINT64_C(1682246096000000001));
	assert_int_equal(got.exec.flags, SKEP_EXEC_TTY | 2u << SKEP_EXEC_UNKNOWN_SHIFT);
	assert_int_equal(got.exec.parent_comm.len, 15);
	assert_memory_equal(got.exec.parent_comm.ptr, "0123456789abcde", 15);
	assert_string_equal(taught, "/slurm/job_1");
	assert_int_equal(taught_id, 99);
	/* redacted before it leaves, and not marked as cut for that */
	assert_memory_equal(got.argv, "x.sh\0--password\0***", 20);
	assert_int_equal(got.exec.argv.total, got.exec.argv.len);
	/* a cgroup's path without its beginning is not sent: the host finds the whole one */
	((struct proc_exec *)r)->flags |= PROC_EXEC_CGROUP_CUT;
	taught_id = 0;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), 0);
	assert_int_equal(taught_id, 0);
	assert_int_equal(got.exec.cgroup.len, 0);
	assert_memory_equal(got.argv, "x.sh\0--password\0***", 20);
	free(r);
}

static void cut_arguments_say_so(void **state)
{
	size_t size;
	struct proc_exec *r = exec_record(&size);

	(void)state;
	r->argv_total = 100000;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), 0);
	assert_int_equal(got.exec.argv.total, 100000);
	assert_true(got.exec.argv.len < 100000);
	free(r);
}

static void short_records_are_refused(void **state)
{
	size_t size;
	struct proc_exec *r = exec_record(&size);

	(void)state;
	for (size_t n = 0; n < size; n++)
		assert_int_equal(proc_decode_ring(NULL, &st, r, n), -EBADMSG);
	r->argv_len = 0xffffffff;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), -EBADMSG);
	r->h.type = 12345;
	assert_int_equal(proc_decode_ring(NULL, &st, r, size), -EBADMSG);
	assert_int_equal(got.n, 0);
	free(r);
}

static void oom_names_the_cgroup(void **state)
{
	struct {
		struct proc_oom oom;
		char path[8];
	} r = { .oom = { .h = { .type = PROC_OOM, .pid = 5, .start_ns = 6 },
			 .cgroup_id = 9,
			 .limit_pages = 2,
			 .peak_pages = 3,
			 .cgroup_len = 4 },
		.path = "b\0a" };

	(void)state;
	assert_int_equal(proc_decode_ring(NULL, &st, &r, sizeof(r)), 0);
	assert_string_equal(got.cgroup, "/a/b");
	assert_int_equal(got.oom.limit_bytes, 8192);
	r.oom.cgroup_cut = 1;
	assert_int_equal(proc_decode_ring(NULL, &st, &r, sizeof(r)), 0);
	assert_int_equal(got.oom.cgroup.len, 0); /* the host finds the whole path */
	r.oom.cgroup_len = 4000;
	assert_int_equal(proc_decode_ring(NULL, &st, &r, sizeof(r)), -EBADMSG);
}

/* Threads before and after their leader, and a thread without its leader. */
static void sweep_adds_threads_up(void **state)
{
	struct proc_thread t = { .h = { .type = PROC_THREAD, .pid = 10 },
				 .sums = { .cpu_ns = 5, .run_delay_ns = 1 },
				 .flags = PROC_LIVE_RUNNING };
	struct proc_leader l = { .h = { .type = PROC_LEADER, .pid = 10, .start_ns = 3 },
				 .sums = { .cpu_ns = 100 },
				 .threads = 3 };
	struct proc_thread orphan = { .h = { .type = PROC_THREAD, .pid = 11 }, .sums = { .cpu_ns = 7 } };
	int fd = memfd_create("sweep", MFD_CLOEXEC);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, &t, sizeof(t)), sizeof(t));
	assert_int_equal(write(fd, &l, sizeof(l)), sizeof(l));
	assert_int_equal(write(fd, &orphan, sizeof(orphan)), sizeof(orphan));
	assert_int_equal(write(fd, &t, sizeof(t)), sizeof(t));
	lseek(fd, 0, SEEK_SET);
	st.scan_buffer = malloc(64 * 1024);
	st.iter_fd = fd;
	others = (struct proc_others){ 1000, 100, 2000 }; /* from the last pass; the sums of processes that have gone */
	rules.excluded_ns[3] = 200;
	proc_ledger_begin(&st);
	others = (struct proc_others){ 1030, 101, 2040 };
	rules.excluded_ns[3] = 201;
	rules.excluded_ns[127] = 1;
	assert_false(proc_scan_step(NULL, &st, 0));
	assert_int_equal(got.posts, 2);
	assert_int_equal(got.post[0], 30 + 101);
	assert_int_equal(got.post[1], 40 + 202);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.live.counters.cpu_ns, 110);
	assert_int_equal(got.live.counters.run_delay_ns, 2);
	assert_true(got.live.flags & SKEP_LIVE_STATE_RUNNING);
	assert_int_equal(sweeps_ended, 1);
	assert_true(sweep_complete);
	free(st.scan_buffer);
}

static int process_read(struct skep_instance *inst, const struct skep_upid *who, uint32_t uid, uint32_t what,
			skep_process_cb cb, void *arg)
{
	(void)inst;
	assert_int_equal(who->pid, getpid());
	asked.n++;
	asked.uid = uid;
	asked.what = what;
	asked.cb = cb;
	asked.arg = arg;
	return asked.error;
}

static bool nobody_known(struct skep_instance *inst, const struct skep_upid *who)
{
	(void)inst;
	(void)who;
	return false;
}

/* When this process started, in field 22 of its stat (man 5 proc). */
static uint64_t my_start(void)
{
	unsigned long long ticks = 0;
	char text[1024] = "";
	FILE *f = fopen("/proc/self/stat", "re");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	fclose(f);
	assert_int_equal(sscanf(strrchr(text, ')') + 1,
				" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
				&ticks),
			 1);
	return ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* A pass that finds this process, which the host does not know yet. */
static void sweep_me(struct skep_host *ret_host)
{
	const struct proc_leader l = { .h = { .type = PROC_LEADER, .pid = (uint32_t)getpid(), .start_ns = my_start() },
				       .threads = 1,
				       .uid = 7 };
	int fd = memfd_create("sweep", MFD_CLOEXEC);

	*ret_host = *st.host;
	ret_host->process_known = nobody_known;
	ret_host->process_read = process_read;
	st.host = ret_host;
	assert_int_equal(write(fd, &l, sizeof(l)), sizeof(l));
	lseek(fd, 0, SEEK_SET);
	st.scan_buffer = malloc(64 * 1024);
	st.iter_fd = fd;
	assert_false(proc_scan_step(NULL, &st, 0));
	free(st.scan_buffer);
	st.scan_buffer = NULL;
	assert_int_equal(asked.n, 1);
	assert_int_equal(asked.uid, 7);
	assert_int_equal(asked.what, SKEP_READ_CMDLINE);
}

static void live_waits_for_its_arguments(void **state)
{
	const struct skep_process_text text = { .size = sizeof(text), .cmdline = { "a\0b", 4, 4 } };
	struct skep_host host;

	(void)state;
	sweep_me(&host);
	assert_int_equal(got.n, 0);
	assert_int_equal(sweeps_ended, 0);
	asked.cb(NULL, asked.arg, &text);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.live.argv.len, 4);
	assert_int_equal(got.live.argv.total, 4);
	assert_int_not_equal(got.live.exe.len, 0);
	assert_int_equal(sweeps_ended, 1);
	assert_true(sweep_complete);
}

static void live_that_is_stuck_is_marked(void **state)
{
	const struct skep_process_text stuck = { .size = sizeof(stuck), .error = -ETIMEDOUT };
	struct skep_host host;

	(void)state;
	sweep_me(&host);
	asked.cb(NULL, asked.arg, &stuck);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.live.argv.len, 0);
	assert_int_equal(got.live.argv.total, 1);
	assert_int_not_equal(got.live.exe.len, 0);
	assert_int_equal(sweeps_ended, 1);
}

static void live_that_is_not_read_is_marked(void **state)
{
	struct skep_host host;

	(void)state;
	asked.error = -EBUSY;
	sweep_me(&host);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.live.argv.total, 1);
	assert_int_equal(sweeps_ended, 1);
}

static void live_goes_before_what_happens_to_it(void **state)
{
	const struct proc_exit exit_record = {
		.h = { .type = PROC_EXIT, .pid = (uint32_t)getpid(), .start_ns = my_start() }
	};
	const struct skep_process_text text = { .size = sizeof(text), .cmdline = { "a\0b", 4, 4 } };
	struct skep_host host;

	(void)state;
	sweep_me(&host);
	assert_int_equal(proc_decode_ring(NULL, &st, &exit_record, sizeof(exit_record)), 0);
	assert_int_equal(got.n, 2);
	assert_int_equal(got.stream, STREAM_EXIT);
	assert_int_equal(got.live.argv.len, 0);
	assert_int_equal(got.live.argv.total, 1);
	assert_int_not_equal(got.live.exe.len, 0);
	asked.cb(NULL, asked.arg, &text);
	assert_int_equal(got.n, 2);
	assert_int_equal(sweeps_ended, 1);
}

static void live_that_is_gone_is_marked(void **state)
{
	const struct skep_process_text gone = { .size = sizeof(gone), .error = -ESRCH };
	struct skep_host host;

	(void)state;
	sweep_me(&host);
	asked.cb(NULL, asked.arg, &gone);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.live.argv.total, 1);
}

static void live_goes_out_at_the_end(void **state)
{
	struct skep_host host;

	(void)state;
	sweep_me(&host);
	proc_details_end(NULL, &st);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.live.argv.total, 1);
	assert_int_equal(sweeps_ended, 1);
}

static void sweep_cut_short_is_not_complete(void **state)
{
	struct proc_leader l = { .h = { .type = PROC_LEADER, .pid = 10, .start_ns = 3 }, .threads = 1 };
	int fd = memfd_create("sweep", MFD_CLOEXEC);

	(void)state;
	assert_int_equal(write(fd, &l, sizeof(l)), sizeof(l));
	assert_int_equal(write(fd, &l, sizeof(l) / 2), sizeof(l) / 2);
	lseek(fd, 0, SEEK_SET);
	st.scan_buffer = malloc(64 * 1024);
	st.iter_fd = fd;
	assert_false(proc_scan_step(NULL, &st, 0));
	assert_int_equal(got.n, 1);
	assert_int_equal(sweeps_ended, 1);
	assert_false(sweep_complete);
	assert_int_equal(got.posts, 0);
	free(st.scan_buffer);
}

static int count_record(void *arg, const void *data, size_t size)
{
	uint64_t *sum = arg, value;

	assert_int_equal(size, sizeof(value));
	memcpy(&value, data, sizeof(value));
	*sum = *sum * 10 + value;
	return 0;
}

/* Behind a record that a program is still writing lie others: the ring is not empty. */
static void ring_with_a_record_under_way(void **state)
{
	struct {
		uint32_t length, page;
		uint64_t value;
	} data[4] = { { 8, 0, 1 }, { 8u | 1u << 31, 0, 2 }, { 8u | 1u << 30, 0, 3 }, { 8, 0, 4 } };
	unsigned long consumer = 0, producer = sizeof(data);
	struct skep_ring ring = {
		.size = sizeof(data), .consumer = &consumer, .producer = &producer, .data = (unsigned char *)data
	};
	struct skep_drain_ring drained = { .watch = (struct skep_watch *)&ring, .cb = count_record };
	uint64_t sum = 0;

	(void)state;
	drained.ring = ring;
	drained.arg = &sum;
	assert_int_equal(skep_drain_ring_now(&drained), -EBUSY);
	assert_int_equal(sum, 1);
	assert_int_equal(consumer, 16); /* the kernel may use the room of the first one again */
	sum = consumer = 0;
	assert_int_equal(skep_ring_read(&ring, count_record, &sum), -EBUSY);
	assert_int_equal(sum, 1);
	data[1].length = 8;
	assert_int_equal(skep_ring_read_last(&ring, count_record, &sum), 0);
	assert_int_equal(sum, 124); /* the program discarded the third */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(paths_are_turned_round, setup),
		cmocka_unit_test_setup(exec_is_decoded, setup),
		cmocka_unit_test_setup(cut_arguments_say_so, setup),
		cmocka_unit_test_setup(short_records_are_refused, setup),
		cmocka_unit_test_setup(variables_that_were_asked_for, setup),
		cmocka_unit_test_setup(names_of_boundaries, setup),
		cmocka_unit_test_setup(oom_names_the_cgroup, setup),
		cmocka_unit_test_setup(sweep_adds_threads_up, setup),
		cmocka_unit_test_setup(sweep_cut_short_is_not_complete, setup),
		cmocka_unit_test_setup(ring_with_a_record_under_way, setup),
		cmocka_unit_test_setup(live_waits_for_its_arguments, setup),
		cmocka_unit_test_setup(live_that_is_stuck_is_marked, setup),
		cmocka_unit_test_setup(live_that_is_not_read_is_marked, setup),
		cmocka_unit_test_setup(live_goes_before_what_happens_to_it, setup),
		cmocka_unit_test_setup(live_that_is_gone_is_marked, setup),
		cmocka_unit_test_setup(live_goes_out_at_the_end, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
