/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_instance.c - the life of an instance: order of callbacks, watches, timers, background work, budgets,
 * objects that a plugin leaves open, failure and retry; and the two fake plugins, loaded as files, through all of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h> /* whose fail() is a macro: host->fail is called in brackets */

#include "core/plugin/plugin.h"
#include "tests/abi/support.h"

/* ---- a plugin whose callbacks obey the test ---------------------------------------------- */

struct probe {
	int64_t number; /* option */
	const struct skep_host *host;
	bool dirty; /* must be false in open(): a retry's state is fresh */
	struct skep_watch *watch;
	struct skep_timer *timer;
	int fds[2];
};

/* Orders to the callbacks, and a log of their calls. One test at a time. */
static struct {
	/* orders */
	int open_err, start_err;
	const char *why;
	bool watch_in_start, timer_in_start, work_in_start, leave_open, stop_in_callback, work_in_stop, late_close;
	unsigned sleep_us, timer_ms, repeat_ms;
	/* a diary, one letter an event */
	char diary[256];
	struct skep_instance *inst;
	unsigned ticks;
	bool worked, done, readable, release;
	unsigned events;
	int err;
} t;

static void note(char what)
{
	size_t n = strlen(t.diary);

	if (n + 1 < sizeof(t.diary))
		t.diary[n] = what;
}

static void on_watch(struct skep_instance *inst, void *arg, unsigned events)
{
	struct probe *probe = arg;
	char byte;

	note('w');
	t.events |= events;
	t.readable = true;
	if (read(probe->fds[0], &byte, 1) < 0)
		t.err = -errno;
	if (t.stop_in_callback)
		instance_stop(inst);
}

static void on_timer(struct skep_instance *inst, void *arg)
{
	struct probe *probe = arg;

	(void)inst;
	note('t');
	t.ticks++;
	if (t.sleep_us)
		usleep(t.sleep_us);
	if (t.ticks == 3) {
		probe->host->timer_close(probe->timer);
		probe->timer = NULL;
		t.done = true;
	}
}

static void on_work(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&t.release, __ATOMIC_ACQUIRE))
		usleep(500);
	__atomic_store_n(&t.worked, true, __ATOMIC_RELEASE);
}

static void on_short_work(void *arg)
{
	(void)arg;
	__atomic_store_n(&t.worked, true, __ATOMIC_RELEASE);
}

static void on_work_done(struct skep_instance *inst, void *arg)
{
	(void)inst;
	(void)arg;
	note('d');
	t.done = true;
}

static int probe_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct probe *probe = state;

	note('o');
	assert_false(probe->dirty);
	assert_int_equal(probe->number, 7);
	probe->dirty = true;
	probe->fds[0] = probe->fds[1] = -1;
	probe->host = host;
	if (t.open_err && t.why)
		return (host->fail)(inst, t.open_err, "open: %s", t.why);
	return t.open_err;
}

static int probe_start(struct skep_instance *inst, void *state)
{
	struct probe *probe = state;
	const struct skep_host *host = probe->host;

	note('s');
	if (t.watch_in_start) {
		assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, probe->fds), 0);
		assert_int_equal(host->watch_fd(inst, probe->fds[0], SKEP_READABLE, on_watch, probe, &probe->watch), 0);
	}
	if (t.timer_in_start)
		assert_int_equal(host->timer(inst, t.timer_ms, t.repeat_ms, on_timer, probe, &probe->timer), 0);
	if (t.work_in_start)
		assert_int_equal(host->work(inst, on_work, on_work_done, probe), 0);
	if (t.start_err && t.why)
		return (host->fail)(inst, t.start_err, "start: %s", t.why);
	return t.start_err;
}

static void probe_sample(struct skep_instance *inst, void *state)
{
	struct probe *probe = state;

	note('m');
	if (t.sleep_us)
		usleep(t.sleep_us);
	if (t.why)
		(probe->host->fail)(inst, -EIO, "sample: %s", t.why);
	if (t.stop_in_callback) {
		instance_stop(inst);
		/* close() must not run while a callback is on the stack. */
		assert_null(strchr(t.diary, 'x'));
		assert_null(strchr(t.diary, 'c'));
	}
}

static void probe_flush(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
	note('f');
}

static void probe_stop(struct skep_instance *inst, void *state)
{
	struct probe *probe = state;

	note('x');
	if (t.work_in_stop)
		assert_int_equal(probe->host->work(inst, on_work, on_work_done, probe), 0);
	if (t.leave_open)
		return;
	probe->host->watch_close(probe->watch);
	probe->watch = NULL;
	probe->host->timer_close(probe->timer);
	probe->timer = NULL;
}

static void probe_close(struct skep_instance *inst, void *state)
{
	struct probe *probe = state;

	(void)inst;
	note('c');
	if (t.late_close) {
		/* The host closed these after stop(); a plugin that closes them again here must not crash it. */
		probe->host->watch_close(probe->watch);
		probe->host->timer_close(probe->timer);
	}
	for (int i = 0; i < 2; i++)
		if (probe->fds[i] >= 0)
			close(probe->fds[i]);
}

static const struct skep_option probe_options[] = {
	{ .name = "number",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct probe, number),
	  .default_value = "3",
	  .help = "a number" },
	{ .name = NULL },
};

static const struct skep_field probe_fields[] = {
	{ .name = "n", .unit = "1", .type = SKEP_T_U64, .semantics = SKEP_S_DELTA, .offset = 0, .help = "n" },
};

static const struct skep_stream probe_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "probe.n",
	.help = "n",
	.record_size = 8,
	.n_fields = 1,
	.fields = probe_fields,
};

static const struct skep_stream *const probe_streams[] = { &probe_stream };

static const struct skep_plugin probe_desc = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "obedient",
	.version = "1.0",
	.summary = "does what the test says",
	.license = "Apache-2.0",
	.options = probe_options,
	.option_size = sizeof(struct skep_option),
	.n_streams = 1,
	.streams = probe_streams,
	.state_size = sizeof(struct probe),
	.open = probe_open,
	.start = probe_start,
	.sample = probe_sample,
	.stop = probe_stop,
	.close = probe_close,
	.flush = probe_flush,
};

static struct plugin probe_plugin = {
	.path = NULL,
	.note = { SKEP_NOTE_MAGIC, SKEP_ABI_MAJOR, SKEP_ABI_MINOR, SKEP_KIND_PROBE, "obedient", "1.0" },
	.desc = &probe_desc,
};

/* ---- what the host's side of the test receives ------------------------------------------------ */

static struct {
	unsigned n[8], lost, redacted, sweeps, complete;
	uint64_t drained, last_ns, widgets;
	double temperature;
	struct skep_upid last;
	char argv[64];
	uint32_t argv_len, status;
	uint64_t cpu_ns;
	char text[64];
	unsigned acked, retried, rejected;
	char why[64];
} got;

static void ops_emit(struct skep_instance *inst, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		     const void *rec)
{
	(void)inst;
	got.n[stream]++;
	got.last_ns = time_ns;
	if (who)
		got.last = *who;
	switch (inst->plugin->desc->streams[stream]->role) {
	case SKEP_ROLE_PROC_EXEC: {
		const struct skep_process_exec *exec = rec;

		got.argv_len = exec->argv.len;
		assert_true(exec->argv.len <= sizeof(got.argv));
		memcpy(got.argv, exec->argv.ptr, exec->argv.len);
		break;
	}
	case SKEP_ROLE_PROC_FINAL:
		got.status = ((const struct skep_process_final *)rec)->status;
		got.cpu_ns = ((const struct skep_process_final *)rec)->counters.cpu_ns;
		break;
	case SKEP_ROLE_FACET:
		memcpy(&got.widgets, rec, 8);
		memcpy(&got.temperature, (const char *)rec + 8, 8);
		break;
	case SKEP_ROLE_NONE:
		if (strcmp(inst->plugin->desc->streams[stream]->name, "fake.event") == 0) {
			const struct skep_str *text = rec;

			snprintf(got.text, sizeof(got.text), "%.*s", (int)text->len, text->ptr);
		}
		break;
	default:
		break;
	}
}

static void ops_drained(struct skep_instance *inst, uint64_t time_ns)
{
	(void)inst;
	got.drained = time_ns;
}

static void ops_sweep_begin(struct skep_instance *inst, uint64_t time_ns)
{
	(void)inst;
	(void)time_ns;
	got.sweeps++;
}

static void ops_sweep_end(struct skep_instance *inst, bool complete)
{
	(void)inst;
	got.complete += complete;
}

static void ops_lost(struct skep_instance *inst, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)inst;
	assert_int_equal(stream, 1);
	assert_int_equal(where, SKEP_LOSS_KERNEL);
	got.lost += (unsigned)n;
}

static unsigned ops_redact(struct skep_instance *inst, const char *exe, char *argv, uint32_t *len)
{
	(void)inst;
	assert_string_equal(exe, "/usr/bin/tool");
	argv[0] = 'T';
	*len -= 2;
	argv[*len - 1] = '\0';
	got.redacted++;
	return 1;
}

static void ops_batch_answer(struct skep_instance *inst, const struct skep_batch *batch,
			     const struct skep_batch_answer *answer)
{
	(void)inst;
	(void)batch;
	got.acked += answer->result == SKEP_BATCH_ACK;
	got.retried += answer->result == SKEP_BATCH_RETRY;
	got.rejected += answer->result == SKEP_BATCH_REJECT;
	snprintf(got.why, sizeof(got.why), "%s", answer->why ? answer->why : "");
}

static const struct instance_ops ops = {
	.emit = ops_emit,
	.drained = ops_drained,
	.sweep_begin = ops_sweep_begin,
	.sweep_end = ops_sweep_end,
	.lost = ops_lost,
	.redact = ops_redact,
	.batch_answer = ops_batch_answer,
};

static uv_loop_t loop;

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	memset(&got, 0, sizeof(got));
	return uv_loop_init(&loop);
}

static int teardown(void **state)
{
	(void)state;
	support_loop_close(&loop);
	return 0;
}

static struct skep_instance *obedient(void)
{
	return t.inst = support_instance(&loop, &probe_plugin, "{ \"number\": 7 }", &ops, NULL);
}

/* ---- life -------------------------------------------------------------------------------------- */

static void test_order(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	assert_int_equal(inst->state, INSTANCE_NEW);
	assert_string_equal(inst->name, "obedient");
	instance_sample(inst);
	instance_flush(inst);
	assert_int_equal(instance_start(inst), -EINVAL);
	assert_string_equal(t.diary, "");
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(inst->state, INSTANCE_OPEN);
	assert_int_equal(instance_open(inst), -EINVAL);
	assert_int_equal(instance_start(inst), 0);
	assert_int_equal(inst->state, INSTANCE_RUNNING);
	assert_null(inst->reason);
	instance_sample(inst);
	instance_flush(inst);
	assert_int_equal(instance_retry(inst), -EINVAL);
	instance_stop(inst);
	assert_int_equal(inst->state, INSTANCE_STOPPED);
	assert_true(instance_stopped(inst));
	instance_stop(inst);
	instance_sample(inst);
	assert_string_equal(t.diary, "osmfxc");
	assert_true(inst->busy_ns > 0);
	assert_int_equal(inst->overruns, 0);
	assert_null(instance_free(inst));
	assert_null(instance_free(NULL));
}

static void test_ends_early(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	/* Never opened: nothing to undo. */
	assert_null(instance_free(inst));
	inst = obedient();
	instance_stop(inst);
	assert_true(instance_stopped(inst));
	instance_free(inst);
	assert_string_equal(t.diary, "");
	/* Opened, never started: close() alone. */
	inst = obedient();
	assert_int_equal(instance_open(inst), 0);
	instance_stop(inst);
	assert_string_equal(t.diary, "oc");
	instance_free(inst);
	/* The same without a message, as in a check of the configuration. */
	memset(t.diary, 0, sizeof(t.diary));
	inst = obedient();
	assert_int_equal(instance_open(inst), 0);
	assert_null(instance_free(inst));
	assert_string_equal(t.diary, "oc");
}

static void test_watch(void **state)
{
	struct skep_instance *inst = obedient();
	struct skep_watch *other = (void *)inst;
	struct probe *probe;

	(void)state;
	t.watch_in_start = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	probe = inst->data;
	/* A watched descriptor; a regular file; an invalid number. */
	assert_int_equal(inst->host.watch_fd(inst, probe->fds[0], SKEP_READABLE, on_watch, probe, &other), -EEXIST);
	assert_int_equal(inst->host.watch_fd(inst, -1, SKEP_READABLE, on_watch, probe, &other), -EINVAL);
	assert_int_equal(inst->host.watch_fd(inst, probe->fds[1], 0, on_watch, probe, &other), -EINVAL);
	assert_int_equal(inst->host.watch_fd(inst, probe->fds[1], 64, on_watch, probe, &other), -EINVAL);
	assert_ptr_equal(other, inst);
	assert_int_equal(write(probe->fds[1], "a", 1), 1);
	support_loop_until(&loop, &t.readable);
	assert_int_equal(t.events, SKEP_READABLE);
	assert_string_equal(t.diary, "osw");
	/* A closed watch gets no further event. */
	inst->host.watch_close(probe->watch);
	inst->host.watch_close(probe->watch); /* a second close within one turn does no harm */
	inst->host.watch_close(NULL);
	assert_int_equal(inst->closing, 1);
	probe->watch = NULL;
	assert_int_equal(write(probe->fds[1], "b", 1), 1);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(inst->closing, 0);
	assert_string_equal(t.diary, "osw");
	support_instance_end(inst);
}

/* An error on the fd (here the other end was reset) is an event, and the watch continues. */
static void test_watch_error(void **state)
{
	struct skep_instance *inst = obedient();
	struct probe *probe;

	(void)state;
	t.watch_in_start = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	probe = inst->data;
	/* Unread data at close makes a local socket reset its peer: EPOLLERR and ECONNRESET. */
	assert_int_equal(write(probe->fds[0], "x", 1), 1);
	close(probe->fds[1]);
	probe->fds[1] = -1;
	support_loop_until(&loop, &t.readable);
	assert_int_equal(t.events, SKEP_READABLE);
	assert_int_equal(t.err, -ECONNRESET);
	t.readable = false;
	/* The plugin read the error: end of file, again readable. */
	support_loop_until(&loop, &t.readable);
	support_instance_end(inst);
}

static void test_timer(void **state)
{
	struct skep_instance *inst = obedient();
	uint64_t begin;

	(void)state;
	t.timer_in_start = true;
	t.timer_ms = 20;
	t.repeat_ms = 5;
	assert_int_equal(instance_open(inst), 0);
	/* The loop's present time is old after a long start(); the first shot must not come early. */
	uv_update_time(&loop);
	usleep(30000);
	begin = uv_hrtime();
	assert_int_equal(instance_start(inst), 0);
	support_loop_until(&loop, &t.done);
	assert_true(uv_hrtime() - begin >= 28000000);
	assert_int_equal(t.ticks, 3);
	usleep(10000);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(t.ticks, 3);
	inst->host.timer_close(NULL);
	support_instance_end(inst);
	assert_string_equal(t.diary, "ostttxc");
}

static void test_budget(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	assert_int_equal(inst->budget_ns, 5000000);
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	instance_sample(inst);
	assert_int_equal(inst->overruns, 0);
	t.sleep_us = 8000;
	instance_sample(inst);
	instance_sample(inst);
	assert_int_equal(inst->overruns, 2);
	assert_true(inst->worst_ns >= 8000000);
	assert_true(inst->busy_ns >= 16000000);
	/* The host logged one line, for the first overrun; the rest waits for its minute. */
	assert_int_equal(inst->warned_overruns, 1);
	/* With a larger budget no call exceeds it. */
	inst->budget_ns = 10000000000;
	instance_sample(inst);
	assert_int_equal(inst->overruns, 2);
	support_instance_end(inst);
}

/* A slow timer counts like a slow sample. */
static void test_budget_of_timers(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	t.timer_in_start = true;
	t.timer_ms = t.repeat_ms = 1;
	t.sleep_us = 7000;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	support_loop_until(&loop, &t.done);
	assert_int_equal(inst->overruns, 3);
	support_instance_end(inst);
}

static void test_leftovers(void **state)
{
	struct skep_instance *inst;

	(void)state;
	for (int late = 0; late < 2; late++) {
		memset(&t, 0, sizeof(t));
		inst = obedient();
		t.watch_in_start = t.timer_in_start = t.leave_open = true;
		t.late_close = late;
		t.timer_ms = 1;
		assert_int_equal(instance_open(inst), 0);
		assert_int_equal(instance_start(inst), 0);
		instance_stop(inst);
		assert_int_equal(inst->state, INSTANCE_STOPPED);
		assert_int_equal(inst->closing, 2);
		assert_false(instance_stopped(inst));
		/* Too early: refused, and the instance stays intact. */
		assert_null(instance_free(inst));
		usleep(3000);
		uv_run(&loop, UV_RUN_NOWAIT);
		assert_true(instance_stopped(inst));
		assert_string_equal(t.diary, "osxc");
		instance_free(inst);
	}
}

static void test_work(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	t.work_in_start = t.work_in_stop = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	assert_int_equal(inst->working, 1);
	/* stop() waits for the work, and the instance accepts nothing more. */
	instance_stop(inst);
	assert_int_equal(inst->state, INSTANCE_RUNNING);
	instance_sample(inst);
	assert_int_equal(instance_submit(inst, NULL), -ESHUTDOWN);
	assert_int_equal(inst->host.work(inst, on_work, on_work_done, NULL), -ESHUTDOWN);
	usleep(2000);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_string_equal(t.diary, "os");
	__atomic_store_n(&t.release, true, __ATOMIC_RELEASE);
	support_loop_until(&loop, &t.done);
	assert_true(__atomic_load_n(&t.worked, __ATOMIC_ACQUIRE));
	/*
	 * Work that stop() requests is the last: close() waits for it, and the host can leave it behind like any other.
	 */
	assert_int_equal(inst->working, 1);
	assert_true(instance_waits_for_work(inst));
	assert_string_equal(t.diary, "osdx");
	assert_int_equal(inst->host.work(inst, on_work, on_work_done, NULL), -ESHUTDOWN);
	t.done = false;
	support_loop_until(&loop, &t.done);
	assert_int_equal(inst->working, 0);
	assert_string_equal(t.diary, "osdxdc");
	assert_true(instance_stopped(inst));
	instance_free(inst);
}

/* More hanging calls than libuv's pool has threads: another instance's work still runs, and the loop turns. */
static void test_work_that_hangs(void **state)
{
	struct skep_instance *stuck = obedient(), *other = obedient();
	bool all = false;

	(void)state;
	assert_int_equal(instance_open(stuck), 0);
	assert_int_equal(instance_start(stuck), 0);
	assert_int_equal(instance_open(other), 0);
	assert_int_equal(instance_start(other), 0);
	for (int i = 0; i < 8; i++)
		assert_int_equal(stuck->host.work(stuck, on_work, on_work_done, NULL), 0);
	assert_int_equal(other->host.work(other, on_short_work, on_work_done, NULL), 0);
	support_loop_until(&loop, &t.done);
	assert_true(t.worked);
	assert_int_equal(other->working, 0);
	assert_int_equal(stuck->working, 8);
	instance_look_at_work(stuck);
	assert_int_equal(stuck->stuck_ns, 0);
	stuck->stuck_after_ns = 1000000;
	usleep(2000);
	instance_look_at_work(stuck);
	instance_look_at_work(other);
	assert_true(stuck->stuck_ns >= 1000000);
	assert_int_equal(other->stuck_ns, 0);
	assert_false(instance_waits_for_work(stuck));
	instance_stop(stuck);
	assert_true(instance_waits_for_work(stuck));
	support_instance_end(other); /* waits for no hanging call */
	/* The hanging call returns after all. */
	__atomic_store_n(&t.release, true, __ATOMIC_RELEASE);
	for (int i = 0; i < 100000 && !all; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		all = instance_stopped(stuck);
		usleep(1000);
	}
	assert_true(all);
	assert_int_equal(stuck->working, 0);
	instance_look_at_work(stuck);
	assert_int_equal(stuck->stuck_ns, 0);
	instance_free(stuck);
}

/* A cancelled end becomes a failure, which the host retries. */
static void test_stop_recalled(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	t.work_in_start = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	instance_stop(inst);
	instance_stop_recall(inst);
	__atomic_store_n(&t.release, true, __ATOMIC_RELEASE);
	support_loop_until(&loop, &t.done);
	assert_int_equal(inst->state, INSTANCE_FAILED);
	t.work_in_start = false;
	assert_int_equal(instance_retry(inst), 0);
	assert_string_equal(t.diary, "osdxcos");
	support_instance_end(inst);
}

static void test_stop_inside_callback(void **state)
{
	struct skep_instance *inst = obedient();
	struct probe *probe;

	(void)state;
	t.stop_in_callback = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	instance_sample(inst);
	assert_string_equal(t.diary, "osmxc");
	assert_true(instance_stopped(inst));
	instance_free(inst);

	/* From the loop: the plugin closes the watch in its own callback. */
	memset(&t, 0, sizeof(t));
	inst = obedient();
	t.stop_in_callback = t.watch_in_start = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	probe = inst->data;
	assert_int_equal(write(probe->fds[1], "a", 1), 1);
	support_loop_until(&loop, &t.readable);
	assert_string_equal(t.diary, "oswxc");
	support_instance_end(inst);
}

/* ---- failure -------------------------------------------------------------------------------------- */

static void test_open_fails(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	t.open_err = -EPERM;
	t.why = "needs CAP_BPF";
	assert_int_equal(instance_open(inst), -EPERM);
	assert_int_equal(inst->state, INSTANCE_FAILED);
	assert_string_equal(inst->reason, "open: needs CAP_BPF");
	assert_string_equal(t.diary, "oc");
	/* Idle and closed: may be freed without a stop. */
	assert_null(instance_free(inst));
}

static void test_start_fails_and_retry(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	t.start_err = -ENOENT;
	t.why = "no such hook";
	t.watch_in_start = t.timer_in_start = true;
	t.timer_ms = 1;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), -ENOENT);
	assert_int_equal(inst->state, INSTANCE_FAILED);
	assert_string_equal(inst->reason, "start: no such hook");
	/* close(), not stop(); the host closed everything that start() left open. */
	assert_string_equal(t.diary, "osc");
	assert_int_equal(inst->closing, 2);
	instance_sample(inst);
	assert_string_equal(t.diary, "osc");
	/* A second failure, this time without a message of the plugin. */
	t.why = NULL;
	assert_int_equal(instance_retry(inst), -ENOENT);
	assert_string_equal(inst->reason, "No such file or directory");
	assert_string_equal(t.diary, "oscosc");
	/* A positive result is a failure too. */
	t.start_err = 5;
	assert_int_equal(instance_retry(inst), -EINVAL);
	/* Now it succeeds. */
	t.start_err = 0;
	assert_int_equal(instance_retry(inst), 0);
	assert_int_equal(inst->state, INSTANCE_RUNNING);
	assert_null(inst->reason);
	support_instance_end(inst);
	assert_string_equal(t.diary, "oscoscoscosxc");
}

static void test_start_fails_at_work(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	t.start_err = -EIO;
	t.work_in_start = true;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), -EIO);
	assert_int_equal(inst->state, INSTANCE_FAILED);
	assert_int_equal(instance_retry(inst), -EBUSY);
	assert_string_equal(t.diary, "os");
	__atomic_store_n(&t.release, true, __ATOMIC_RELEASE);
	support_loop_until(&loop, &t.done);
	assert_string_equal(t.diary, "osdc");
	t.start_err = 0;
	t.work_in_start = false;
	assert_int_equal(instance_retry(inst), 0);
	support_instance_end(inst);
	/* A FAILED instance that is stopped becomes STOPPED and is not tried again. */
	memset(&t, 0, sizeof(t));
	t.start_err = -EIO;
	inst = obedient();
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), -EIO);
	instance_stop(inst);
	assert_true(instance_stopped(inst));
	assert_int_equal(instance_retry(inst), -EINVAL);
	instance_free(inst);
}

/* fail() in a callback without a result is logged, changes no state, and is not the reason of a later failure. */
static void test_fail_in_void_callback(void **state)
{
	struct skep_instance *inst = obedient();

	(void)state;
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	t.why = "a passing trouble";
	instance_sample(inst);
	assert_int_equal(inst->state, INSTANCE_RUNNING);
	assert_null(inst->reason);
	assert_null(inst->failing);
	support_instance_end(inst);
}

static void test_counters_and_streams(void **state)
{
	struct skep_instance *inst = obedient();
	struct skep_counter *a, *b;
	char name[] = "obedient.things";
	uint64_t n = 1;

	(void)state;
	a = inst->host.counter(inst, name, "things");
	name[0] = 'X'; /* the host has its own copy */
	b = inst->host.counter(inst, "obedient.others", NULL);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(inst->host.counter(inst, "obedient.things", "things"), a);
	inst->host.counter_add(a, 2);
	inst->host.counter_add(a, 3);
	inst->host.counter_set(b, 9);
	inst->host.counter_add(NULL, 1);
	assert_int_equal(a->value, 5);
	assert_int_equal(b->value, 9);
	assert_string_equal(a->name, "obedient.things");
	assert_string_equal(b->help, "");
	/* Records of a stream that does not exist are dropped. */
	inst->host.emit(inst, 0, NULL, 1, &n);
	inst->host.emit(inst, 1, NULL, 1, &n);
	inst->host.lost(inst, 1, SKEP_LOSS_KERNEL, 1);
	assert_int_equal(got.n[0], 1);
	assert_int_equal(got.n[1], 0);
	assert_int_equal(got.lost, 0);
	instance_free(inst);
}

/* ---- the fake plugins, as files ------------------------------------------------------------------------ */

static struct plugin *load(const char *dir, const char *name, uint32_t kind)
{
	const char *const dirs[] = { dir, NULL };
	struct plugin *plugin = NULL;
	struct diag diag;
	char *path;

	diag_init(&diag);
	assert_true(asprintf(&path, "%s/%s.so", dir, name) > 0);
	/* Never writes over a loaded file: its pages are those of the file. */
	if (access(path, F_OK) < 0)
		support_plugin_copy(name, dir);
	free(path);
	if (plugin_load(dirs, name, kind, &diag, &plugin) < 0)
		fail_msg("%s", support_error(&diag));
	diag_clear(&diag);
	return plugin;
}

static struct skep_instance *fake(const char *dir, const char *script, const char *more)
{
	char *path = support_path(dir, "script"), *json;
	struct skep_instance *inst;

	support_write(path, script, strlen(script), 0644);
	assert_true(asprintf(&json, "{ \"script\": \"%s\"%s }", path, more) > 0);
	inst = support_instance(&loop, load(dir, "fake", SKEP_KIND_PROBE), json, &ops, NULL);
	free(json);
	free(path);
	return inst;
}

static void test_fake_probe(void **state)
{
	char *dir = support_dir_new();
	struct skep_instance *inst = fake(dir,
					  "# the whole repertoire\n"
					  "0    sweep_begin\n"
					  "0    live  pid=1 start=0 exe=/sbin/init rss_bytes=4MiB\n"
					  "0    sweep_end\n"
					  "0    sweep_begin\n"
					  "0    sweep_end complete=0\n"
					  "\n"
					  "1ms  fork  pid=100 parent=1 comm=sh # a comment\n"
					  "+1ms exec  pid=100 parent=1 exe=/usr/bin/tool argv=\"tool\\0a b\\0xy\"\n"
					  "+0   facet pid=100 widgets=3 temperature=36.5\n"
					  "+0   event text=\"said \\\"hello\\\"\"\n"
					  "+0   oom   pid=100 limit_bytes=1GiB\n"
					  "+1ms exit  pid=100 code=3\n"
					  "+0   lost  stream=exec n=5 where=kernel\n"
					  "+0   final pid=100 code=3 cpu_ns=1500ms\n"
					  "1h   drained\n",
					  ", \"base\": \"1s\"");

	(void)state;
	/* "1h" is not a valid number: an error with file and line, and nothing runs. */
	assert_int_equal(instance_open(inst), -EINVAL);
	assert_non_null(strstr(inst->reason, "/script:16: a line begins with its time"));
	support_instance_end(inst);

	inst = fake(dir,
		    "0    sweep_begin\n"
		    "0    live  pid=1 start=0 exe=/sbin/init rss_bytes=4MiB\n"
		    "0    sweep_end\n"
		    "0    sweep_begin\n"
		    "0    sweep_end complete=0\n"
		    "1ms  fork  pid=100 parent=1 comm=sh # a comment\n"
		    "+1ms exec  pid=100 parent=1 exe=/usr/bin/tool argv=\"tool\\0a b\\0xy\"\n"
		    "+0   facet pid=100 widgets=3 temperature=36.5\n"
		    "+0   event text=\"said \\\"hello\\\"\"\n"
		    "+0   oom   pid=100 limit_bytes=1GiB\n"
		    "+1ms exit  pid=100 code=3\n"
		    "+0   lost  stream=exec n=5 where=kernel\n"
		    "+0   final pid=100 code=3 cpu_ns=1500ms\n"
		    "60m  drained\n"
		    "+1s  event text=late\n",
		    ", \"base\": \"1s\"");
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	assert_int_equal(got.n[4], 0);
	instance_flush(inst);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(got.n[i], 1);
	assert_int_equal(got.n[7], 2);
	assert_string_equal(got.text, "late");
	assert_int_equal(got.sweeps, 2);
	assert_int_equal(got.complete, 1);
	assert_int_equal(got.lost, 5);
	assert_int_equal(got.last.pid, 100);
	assert_int_equal(got.last.start_ns, 1001000000);
	assert_int_equal(got.last_ns, 3602000000000);
	assert_true(got.drained >= 3602000000000);
	assert_int_equal(got.status, 0x300);
	assert_int_equal(got.cpu_ns, 1500000000);
	assert_int_equal(got.widgets, 3);
	assert_true(got.temperature == 36.5);
	/* Redacted before it left: "tool\0a b\0xy\0" less two bytes, with a capital letter. */
	assert_int_equal(got.redacted, 1);
	assert_int_equal(got.argv_len, 10);
	assert_memory_equal(got.argv, "Tool\0a b\0", 10);
	assert_int_equal(inst->counters->value, 9);
	support_instance_end(inst);
	support_dir_remove(dir);
}

/* Played by the clock, without flush: each line no earlier than its time. A sleep is an overrun. */
static void test_fake_probe_by_the_clock(void **state)
{
	char *dir = support_dir_new();
	struct skep_instance *inst = fake(dir, "5ms event text=one\n40ms event text=two\n+0 sleep for=10ms\n", "");
	uint64_t begin;

	(void)state;
	assert_int_equal(instance_open(inst), 0);
	begin = uv_hrtime();
	assert_int_equal(instance_start(inst), 0);
	while (got.n[7] < 2 && uv_hrtime() - begin < 100000000000) {
		uv_run(&loop, UV_RUN_NOWAIT);
		if (got.n[7] == 1)
			assert_string_equal(got.text, "one");
	}
	assert_int_equal(got.n[7], 2);
	assert_true(uv_hrtime() - begin >= 39000000);
	assert_true(got.drained > 0);
	assert_int_equal(inst->overruns, 1);
	support_instance_end(inst);
	support_dir_remove(dir);
}

static void test_fake_probe_recovers(void **state)
{
	char *dir = support_dir_new(), *flag = support_path(dir, "flag"), *more;
	struct skep_instance *inst;

	(void)state;
	support_write(flag, "", 0, 0644);
	assert_true(asprintf(&more, ", \"fail_while\": \"%s\"", flag) > 0);
	inst = fake(dir, "0 event text=a\n", more);
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), -EBUSY);
	assert_non_null(strstr(inst->reason, "/flag is there; remove it"));
	assert_int_equal(instance_retry(inst), -EBUSY);
	assert_int_equal(unlink(flag), 0);
	assert_int_equal(instance_retry(inst), 0);
	instance_flush(inst);
	assert_int_equal(got.n[7], 1);
	support_instance_end(inst);
	free(more);
	free(flag);
	support_dir_remove(dir);
}

static const char *const bad_scripts[][2] = {
	{ "nonsense\n", ":1: a line begins with its time" },
	{ "5ms\n", ":1: after the time comes" },
	{ "0 event\n0 dance\n", ":2: after the time comes" },
	{ "5ms event\n1ms event\n", ":2: time 1ms goes back" },
	{ "0 fork comm=x\n", ":1: fork needs pid=" },
	{ "0 fork pid=1 tail=2\n", ":1: fork has no key \"tail\"" },
	{ "0 fork pid=1 uid=x\n", ":1: uid=x is no number" },
	{ "0 fork pid=1 uid=4294967296\n", ":1: uid=4294967296 is above 32 bits" },
	{ "0 fork pid=99999999999\n", ":1: pid=99999999999 is no number" },
	{ "0 exit pid=1 maxrss_bytes=18446744073709551615GiB\n", "is no number" },
	{ "0 event text=\"open\n", ":1: a quote is not closed" },
	{ "0 event text=\"\\q\"\n", ":1: unknown escape" },
	{ "0 event text\n", ":1: \"text\" is no KEY=VALUE" },
	{ "0 lost stream=river n=1\n", ":1: stream=river" },
	{ "0 lost stream=exec where=abroad\n", ":1: where=abroad" },
	{ "0 facet pid=1 temperature=hot\n", ":1: temperature=hot" },
};

static void test_fake_probe_bad_scripts(void **state)
{
	char *dir = support_dir_new();

	(void)state;
	for (size_t i = 0; i < sizeof(bad_scripts) / sizeof(bad_scripts[0]); i++) {
		struct skep_instance *inst = fake(dir, bad_scripts[i][0], "");

		if (instance_open(inst) >= 0 || !strstr(inst->reason, bad_scripts[i][1]))
			fail_msg("script %zu: \"%s\" lacks \"%s\"", i, inst->reason ? inst->reason : "",
				 bad_scripts[i][1]);
		support_instance_end(inst);
	}
	support_dir_remove(dir);
}

/* ---- the sink -------------------------------------------------------------------------------------------- */

struct every {
	uint64_t u, time;
	int64_t i;
	double f, not_a_number;
	struct skep_str str, cut, bad_utf8, list, nothing;
	struct skep_upid upid, nobody;
	uint8_t hash[16], ip4[16], ip6[16], yes;
};

#define E(m_, t_) SKEP_FIELD(struct every, m_, #m_, t_, SKEP_S_ATTRIBUTE, "", "x")
static const struct skep_field every_fields[] = {
	E(u, SKEP_T_U64),       E(time, SKEP_T_TIME),        E(i, SKEP_T_I64),
	E(f, SKEP_T_F64),       E(not_a_number, SKEP_T_F64), E(str, SKEP_T_STR),
	E(cut, SKEP_T_STR),     E(bad_utf8, SKEP_T_STR),     E(list, SKEP_T_STRV),
	E(nothing, SKEP_T_STR), E(upid, SKEP_T_UPID),        E(nobody, SKEP_T_UPID),
	E(hash, SKEP_T_HASH),   E(ip4, SKEP_T_IP),           E(ip6, SKEP_T_IP),
	E(yes, SKEP_T_BOOL),
};
static const struct skep_stream every_stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "every",
	.help = "every type",
	.record_size = sizeof(struct every),
	.n_fields = sizeof(every_fields) / sizeof(every_fields[0]),
	.fields = every_fields,
};

#define STR(text_)                                                                   \
	{                                                                            \
		.ptr = (text_), .len = sizeof(text_) - 1, .total = sizeof(text_) - 1 \
	}
static const struct every every_record = {
	.u = UINT64_MAX,
	.time = 5,
	.i = -7,
	.f = 0.5,
	.not_a_number = __builtin_nan(""),
	.str = STR("a \"b\" \\ \n\001 \303\244"),
	.cut = { .ptr = "cut", .len = 3, .total = 10 },
	.bad_utf8 = STR("\377\303"),
	.list = STR("one\0\0three\0"),
	.upid = { .pid = 42, .start_ns = 0x1234 },
	.hash = { 0xde, 0xad },
	.ip4 = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1 },
	.ip6 = { [15] = 1 },
	.yes = 1,
};
static const struct skep_context every_context = { .size = sizeof(every_context),
						   .run = STR("r1"),
						   .tool = STR("sort") };
static const struct skep_record record = {
	.size = sizeof(record),
	.stream = &every_stream,
	.upid = { .pid = 42, .start_ns = 0x1234 },
	.time_ns = 99,
	.data = &every_record,
	.context = &every_context,
};
static const struct skep_record *const records[] = { &record };
static const struct skep_batch batch = {
	.size = sizeof(batch), .n = 1, .id = 1, .key = "host/1/1", .records = records
};

static struct skep_instance *fakesink(const char *dir, const char *more)
{
	struct skep_instance *inst;
	char *json;

	assert_true(asprintf(&json, "{ \"path\": \"%s/out\"%s }", dir, more) > 0);
	inst = support_instance(&loop, load(dir, "fakesink", SKEP_KIND_SINK), json, &ops, NULL);
	free(json);
	assert_int_equal(instance_submit(inst, &batch), -ESHUTDOWN);
	assert_int_equal(instance_open(inst), 0);
	assert_int_equal(instance_start(inst), 0);
	return inst;
}

static void test_fakesink_writes(void **state)
{
	char *dir = support_dir_new(), *path = support_path(dir, "out"), *text;
	struct skep_instance *inst = fakesink(dir, "");
	json_error_t error;
	json_t *line;
	size_t size;

	(void)state;
	assert_int_equal(instance_submit(inst, &batch), 0);
	assert_int_equal(got.acked, 1);
	assert_int_equal(inst->counters->value, 1);
	text = support_read(path, &size);
	assert_string_equal(
		text,
		"{\"stream\":\"every\",\"batch\":\"host/1/1\",\"upid\":\"01234567-42-1234\",\"time_ns\":99,"
		"\"context\":{\"run\":\"r1\",\"pipeline\":\"\",\"task\":\"\",\"tool\":\"sort\",\"container\":\"\"},"
		"\"fields\":{\"u\":18446744073709551615,\"time\":5,\"i\":-7,\"f\":0.5,\"not_a_number\":null,"
		"\"str\":\"a \\\"b\\\" \\\\ \\u000a\\u0001 "
		"\303\244\",\"cut\":\"cut\342\200\246\",\"bad_utf8\":\"\357\277\275\357\277\275\","
		"\"list\":[\"one\",\"\",\"three\"],\"nothing\":\"\",\"upid\":\"01234567-42-1234\",\"nobody\":\"\","
		"\"hash\":\"dead0000000000000000000000000000\",\"ip4\":\"127.0.0.1\",\"ip6\":\"::1\",\"yes\":true}}\n");
	/* Another JSON parser accepts it (2^64 - 1 exceeds jansson's integers). */
	memcpy(strstr(text, "18446744073709551615"), "9223372036854775807 ", 20);
	line = json_loads(text, 0, &error);
	if (!line)
		fail_msg("%s", error.text);
	json_decref(line);
	free(text);
	support_instance_end(inst);
	free(path);
	support_dir_remove(dir);
}

static void test_fakesink_modes(void **state)
{
	char *dir = support_dir_new();
	struct skep_instance *inst = fakesink(dir, ", \"mode\": \"retry_n\", \"n\": 2");

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(instance_submit(inst, &batch), 0);
	assert_int_equal(got.retried, 2);
	assert_int_equal(got.acked, 1);
	support_instance_end(inst);

	inst = fakesink(dir, ", \"mode\": \"reject\"");
	assert_int_equal(instance_submit(inst, &batch), 0);
	assert_int_equal(got.rejected, 1);
	assert_string_equal(got.why, "ordered to refuse");
	support_instance_end(inst);

	got.acked = 0;
	inst = fakesink(dir, ", \"mode\": \"slow\", \"delay\": \"10ms\"");
	assert_int_equal(instance_submit(inst, &batch), 0);
	assert_int_equal(instance_submit(inst, &batch), 0);
	assert_int_equal(got.acked, 0);
	for (int i = 0; i < 100000 && got.acked < 2; i++) {
		uv_run(&loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	assert_int_equal(got.acked, 2);
	/* Stopped with one batch under way: no answer comes any more. */
	assert_int_equal(instance_submit(inst, &batch), 0);
	support_instance_end(inst);
	assert_int_equal(got.acked, 2);

	if (access("/dev/full", W_OK) == 0) {
		/* A full disk gives a retry, never an acknowledgement. */
		char *full = support_path(dir, "out");

		assert_int_equal(unlink(full), 0);
		assert_int_equal(symlink("/dev/full", full), 0);
		inst = fakesink(dir, "");
		got.retried = 0;
		assert_int_equal(instance_submit(inst, &batch), 0);
		assert_int_equal(got.retried, 1);
		assert_int_equal(got.acked, 2);
		support_instance_end(inst);
		free(full);
	}
	support_dir_remove(dir);
}

int main(void)
{
#define T(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_order),
		T(test_ends_early),
		T(test_watch),
		T(test_watch_error),
		T(test_timer),
		T(test_budget),
		T(test_budget_of_timers),
		T(test_leftovers),
		T(test_work),
		T(test_work_that_hangs),
		T(test_stop_recalled),
		T(test_stop_inside_callback),
		T(test_open_fails),
		T(test_start_fails_and_retry),
		T(test_start_fails_at_work),
		T(test_fail_in_void_callback),
		T(test_counters_and_streams),
		T(test_fake_probe),
		T(test_fake_probe_by_the_clock),
		T(test_fake_probe_recovers),
		T(test_fake_probe_bad_scripts),
		T(test_fakesink_writes),
		T(test_fakesink_modes),
	};

	return cmocka_run_group_tests_name("instances", tests, NULL, NULL);
}
