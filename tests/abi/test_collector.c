/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_collector.c - the collector as a whole, behind the plugin interface: a scripted probe; sinks that
 * accept, put off, refuse or hang; runs, failures, the ledger of records.
 */
#include <errno.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/collect/collector_priv.h"
#include "core/base/log.h"
#include "tests/abi/collector_fixture.h"
#include "tests/abi/support.h"
#include "tests/unit/dead_mount.h"

/* ---- tests --------------------------------------------------------------------- */

static const char pipeline[] =
	"0   exec  pid=100 start=0 parent=1 exe=/bin/sh argv=\"sh\\0x.sh\\0\" cpu_ns=3ms maxrss_bytes=1MiB uid=1000\n"
	"1ms fork  pid=101 parent=100 comm=sh\n"
	"2ms exec  pid=101 parent=100 exe=/opt/mapper argv=\"mapper\\0-t4\\0\" cpu_ns=1ms maxrss_bytes=1MiB\n"
	"3ms facet pid=101 widgets=5 temperature=36.6\n"
	"3ms event pid=101 text=hello\n"
	"4ms live  pid=101 parent=100 cpu_ns=500ms rss_bytes=64MiB rss_peak_bytes=70MiB threads=4\n"
	"5ms lost  stream=exec n=2 where=kernel\n"
	"6ms facet pid=101 widgets=2 temperature=30\n"
	"7ms exit  pid=101 signal=9 maxrss_bytes=80MiB\n"
	"8ms final pid=101 signal=9 cpu_ns=2s utime_ns=3ms stime_ns=1ms maxrss_bytes=80MiB read_bytes=1MiB\n"
	"9ms exit  pid=100 code=3 maxrss_bytes=2MiB\n"
	"9ms final pid=100 code=3 cpu_ns=10ms maxrss_bytes=2MiB\n";

static void a_run(void **state)
{
	struct collector_live live;
	struct collector_self self;
	long long cpu = 0;
	json_t *all, *r;

	(void)state;
	script(pipeline);
	start(true, SINK);
	begin("r1", 100);
	assert_int_equal(collector_processes(t.collector), 1);
	run_for(250);
	assert_int_equal(collector_live(t.collector, "r1", &live), 0);
	assert_int_equal(live.processes_total, 2);
	assert_int_equal(live.processes_alive, 0);
	assert_int_equal(live.lost, 2);
	assert_int_equal(collector_live(t.collector, "r2", &live), -ENOENT);
	end("r1", 3 << 8);
	books_balance(0);
	assert_int_equal(collector_lost_kernel(t.collector), 2);
	assert_int_equal(collector_processes(t.collector), 0);
	collector_self(t.collector, &self);
	assert_true(self.records >= 8);
	assert_int_equal(self.no_memory + self.invalid + self.processes_lost, 0);
	stop(0);

	all = written("out");
	r = record(all, "run", 0);
	assert_string_equal(string(r, "state"), "running");
	r = record(all, "run", 1);
	assert_string_equal(string(r, "state"), "ended");
	assert_string_equal(string(r, "run"), "r1");
	assert_string_equal(string(r, "name"), "a name");
	assert_string_equal(string(r, "cwd"), "/somewhere");
	assert_int_equal(json_array_size(json_object_get(r, "argv")), 2);
	assert_int_equal(number(r, "exit_code"), 3);
	assert_int_equal(number(r, "processes_seen"), 2);
	assert_int_equal(number(r, "rusage_cpu_ns"), 3000500000);
	assert_int_equal(number(r, "lost_kernel"), 2);
	assert_int_equal(number(r, "memory_peak_bytes"), 80 << 20);
	assert_true(number(r, "end_ns") > number(r, "start_ns"));
	assert_null(record(all, "run", 2));

	assert_int_equal(count(all, "process.exit"), 4);
	r = image(all, 101, 1);
	assert_string_equal(string(r, "run"), "r1");
	assert_string_equal(string(r, "pipeline"), "pipe");
	assert_string_equal(string(r, "tool"), "mapper");
	assert_string_equal(string(r, "state"), "exited");
	assert_int_equal(number(r, "signal"), 9);
	assert_int_equal(number(r, "exit_code"), -1);
	assert_int_equal(number(r, "cpu_ns"), 1999000000);
	assert_int_equal(number(r, "user_ns") + number(r, "system_ns"), 1999000000);
	assert_int_equal(number(r, "fake.facet.widgets"), 7);
	assert_int_equal(number(r, "read_bytes"), 1 << 20);
	assert_string_equal(string(image(all, 101, 0), "tool"), string(image(all, 100, 1), "tool"));
	assert_int_equal(number(image(all, 101, 0), "approx"), APPROX_SPLIT);
	assert_int_equal(number(image(all, 100, 1), "exit_code"), 3);
	assert_int_equal(number(image(all, 100, 1), "uid"), 1000);

	assert_string_equal(string(record(all, "fake.event", 0), "text"), "hello");
	r = record(all, "loss", 0);
	assert_string_equal(string(r, "stream"), "fake.exec");
	assert_string_equal(string(r, "where"), "kernel");
	assert_int_equal(number(r, "count"), 2);
	assert_null(record(all, "loss", 1));

	for (size_t i = 0; (r = record(all, "tool.sample", i)); i++)
		cpu += number(r, "cpu_ns");
	assert_int_equal(cpu, 2000000000 + 10000000);
	json_decref(all);
}

static void events_carry_their_context(void **state)
{
	json_t *all, *one = NULL;

	(void)state;
	script(pipeline);
	start(true, SINK);
	begin("r1", 100);
	end("r1", 0);
	stop(0);
	all = written("out");
	for (size_t i = 0; i < json_array_size(all); i++)
		if (strcmp(string(json_array_get(all, i), "stream"), "fake.event") == 0)
			one = json_array_get(all, i);
	assert_non_null(one);
	assert_string_equal(string(json_object_get(one, "context"), "run"), "r1");
	assert_string_equal(string(json_object_get(one, "context"), "tool"), "mapper");
	json_decref(all);
}

/* A facet probe that reports when the host asks: records of ended processes need not wait until its next interval. */
static void ended_processes_leave_when_the_probe_drains(void **state)
{
	(void)state;
	script(pipeline);
	assert_int_equal(make(false, "{ \"plugin\": \"fake\", \"script\": \"%1$s/script\", \"auto_drained\": false, "
			      "\"drains\": true }", SINK), 0);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	run_for(100);
	assert_int_equal(collector_processes(t.collector), 2);
	run_for(1700); /* less than TRACK_PATIENCE_NS */
	assert_int_equal(collector_processes(t.collector), 0);
	assert_int_equal(track_stats(collector_track(t.collector))->facet_late, 0);
	stop(0);
}

/* Every batch has a key of its own. */
static void keys_are_unique(json_t *all)
{
	const char *last = "";
	size_t changes = 0;
	json_t *seen = json_object();

	for (size_t i = 0; i < json_array_size(all); i++) {
		const char *key = string(json_array_get(all, i), "batch");

		if (strcmp(key, last) != 0) {
			assert_null(json_object_get(seen, key));
			json_object_set_new(seen, key, json_true());
			changes++;
		}
		last = key;
	}
	assert_true(changes > 0);
	json_decref(seen);
}

static void a_busy_sink_gets_all_in_the_end(void **state)
{
	json_t *all;

	(void)state;
	script(pipeline);
	start(true, "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/out\", \"mode\": \"retry_n\", \"n\": 3 }");
	begin("r1", 100);
	run_for(50);
	end("r1", 0);
	books_balance(0);
	stop(1000000000);
	all = written("out");
	assert_int_equal(count(all, "process.exit"), 4);
	assert_string_equal(string(record(all, "run", 1), "state"), "ended");
	keys_are_unique(all);
	json_decref(all);
}

static void a_refusing_sink_is_counted(void **state)
{
	struct collector_stream_stats s;

	(void)state;
	script(pipeline);
	start(true,
	      "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/no\", \"name\": \"no\", \"mode\": \"reject\" }, " SINK);
	begin("r1", 100);
	end("r1", 0);
	books_balance(0);
	s = stat_of("process.exit", "no");
	assert_int_equal(s.seen, 4);
	assert_int_equal(s.delivered, 0);
	assert_int_equal(s.lost[SKEP_LOSS_SINK], 4);
	s = stat_of("process.exit", "fakesink");
	assert_int_equal(s.delivered, 4);
	stop(0);
}

static void a_stuck_sink_delays_nobody(void **state)
{
	struct collector_stream_stats s;
	json_t *all;

	(void)state;
	script(pipeline);
	start(true,
	      "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/stuck\", \"name\": \"stuck\", \"delay\": \"1h\" }, " SINK);
	begin("r1", 100);
	collector_run_end(t.collector, "r1", 0, NULL, NULL, on_run_done, NULL);
	run_for(400);
	assert_false(t.run_done); /* before 10 s are over */
	all = written("out");
	assert_int_equal(count(all, "process.exit"), 4);
	assert_string_equal(string(record(all, "run", 1), "state"), "ended");
	json_decref(all);
	books_balance(1000);
	assert_int_equal(stat_of("process.exit", "stuck").pending, 4);
	stop(100000000);
	assert_true(t.run_done); /* on_run_done() was called */
	books_balance(0);
	s = stat_of("process.exit", "stuck");
	assert_int_equal(s.lost[SKEP_LOSS_SINK], 4);
	assert_int_equal(stat_of("process.exit", "fakesink").lost[SKEP_LOSS_SINK], 0);
}

/* Three sinks whose work() never returns, as on a file system whose server is gone: they use six threads. */
static void work_that_hangs_delays_nobody(void **state)
{
	const char *gates[] = { "a.gate", "b.gate", "c.gate" };
	struct collector_self self;
	uint64_t began_ns;
	json_t *all;

	(void)state;
	script(pipeline);
	for (size_t i = 0; i < 3; i++)
		fifo(gates[i], false);
	start(true, "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/a\", \"name\": \"a\", \"mode\": \"work\" }, "
		    "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/b\", \"name\": \"b\", \"mode\": \"work\" }, "
		    "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/c\", \"name\": \"c\", \"mode\": \"work\" }, "
		    "{ \"plugin\": \"fakesink\", \"path\": \"%1$s/out\", \"mode\": \"work\" }");
	begin("r1", 100);
	collector_run_end(t.collector, "r1", 0, NULL, NULL, on_run_done, NULL);
	run_for(1000);
	all = written("out");
	assert_int_equal(count(all, "process.exit"), 4);
	assert_string_equal(string(record(all, "run", 1), "state"), "ended");
	json_decref(all);
	/* The collector ends all the same: it drains, and waits 2 s for work under way. */
	began_ns = uv_hrtime();
	stop(100000000);
	assert_in_range(uv_hrtime() - began_ns, 0, 80000000000u);
	assert_true(collector_left_behind(t.collector));
	collector_self(t.collector, &self);
	assert_int_equal(self.left_behind, 3);
	books_balance(0);
	assert_int_equal(stat_of("process.exit", "a").lost[SKEP_LOSS_SINK], 4);
	assert_int_equal(stat_of("process.exit", "fakesink").delivered, 4);
	assert_ptr_equal(collector_free(t.collector), NULL); /* frees nothing, because the threads use it */
	/* The threads return after all, and read the batches that they had. */
	for (size_t i = 0; i < 3; i++)
		fifo(gates[i], true);
	for (int i = 0; i < 100000 && collector_left_behind(t.collector); i++)
		run_for(10);
	assert_false(collector_left_behind(t.collector));
}

/* A lake on a file system whose server is gone: the start, the other sink and the end do not wait for the lake. */
static void a_dead_file_system_delays_nobody(void **state)
{
	const char *dirs = getenv("SKEP_PLUGIN_DIRS");
	char *folder = support_path(t.dir, "lake"), *copy = support_path(t.dir, "lake.so"), *built, *bytes;
	uint64_t began_ns = uv_hrtime();
	struct delivery_queue q;
	size_t size;
	json_t *all;
	int fuse;

	(void)state;
	assert_true(asprintf(&built, "%s/lake.so", dirs ? dirs : "plugins-run") > 0);
	fuse = access(built, R_OK) == 0 ? dead_mount(folder) : -1;
	if (fuse < 0) {
		free(folder);
		free(copy);
		free(built);
		skip(); /* built without the lake, or no FUSE here */
	}
	alarm(120); /* a start that opens the lake on the loop would never return */
	bytes = support_read(built, &size);
	support_write(copy, bytes, size, 0644);
	script(pipeline);
	start(true, "{ \"plugin\": \"lake\", \"path\": \"%1$s/lake\", \"required\": true }, " SINK);
	assert_in_range(uv_hrtime() - began_ns, 0, 100000000000u);
	begin("r1", 100);
	collector_run_end(t.collector, "r1", 0, NULL, NULL, on_run_done, NULL);
	run_for(1000);
	all = written("out");
	assert_int_equal(count(all, "process.exit"), 4);
	json_decref(all);
	for (const struct skep_instance *inst = collector_instances(t.collector); inst; inst = inst->next)
		if (strcmp(inst->name, "lake") == 0) {
			q = delivery_sink_queue(((const struct instance_data *)inst->extra)->sink);
			assert_true(q.held);
			assert_non_null(strstr(q.why, "does not answer"));
		}
	began_ns = uv_hrtime();
	stop(100000000);
	assert_in_range(uv_hrtime() - began_ns, 0, 100000000000u);
	assert_true(collector_left_behind(t.collector));
	books_balance(0);
	assert_int_equal(stat_of("process.exit", "lake").lost[SKEP_LOSS_SINK], 4);
	assert_ptr_equal(collector_free(t.collector), NULL);
	dead_mount_end(fuse, folder);
	for (int i = 0; i < 100000 && collector_left_behind(t.collector); i++)
		run_for(10);
	assert_false(collector_left_behind(t.collector));
	alarm(0);
	free(bytes);
	free(built);
	free(copy);
	free(folder);
}

static void a_failing_probe_comes_back(void **state)
{
	char *flag = support_path(t.dir, "flag");
	json_t *all;

	(void)state;
	script("0 event text=here\n");
	support_write(flag, "", 0, 0644);
	assert_int_equal(make(false,
			      "{ \"plugin\": \"fake\", \"script\": \"%1$s/script\", \"fail_while\": \"%1$s/flag\" }",
			      SINK),
			 0);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	assert_int_equal(t.diag.n_errors, 0);
	assert_int_equal(t.diag.n, 1);
	assert_int_equal(t.diag.entries[0].severity, DIAG_WARNING);
	assert_non_null(strstr(t.diag.entries[0].text, "flag"));
	assert_int_equal(collector_instances(t.collector)->state, INSTANCE_FAILED);
	run_for(100);
	assert_int_equal(unlink(flag), 0);
	run_for(1700);
	assert_int_equal(collector_instances(t.collector)->state, INSTANCE_RUNNING);
	stop(1000000000);
	all = written("out");
	assert_string_equal(string(record(all, "fake.event", 0), "text"), "here");
	json_decref(all);
	free(flag);
}

static void a_run_needs_its_life_cycle(void **state)
{
	char *flag = support_path(t.dir, "flag");

	(void)state;
	script("0 event text=here\n");
	support_write(flag, "", 0, 0644);
	assert_int_equal(make(true,
			      "{ \"plugin\": \"fake\", \"script\": \"%1$s/script\", \"fail_while\": \"%1$s/flag\" }",
			      SINK),
			 0);
	assert_int_equal(collector_start(t.collector, &t.diag), -EBUSY);
	assert_int_equal(t.diag.n_errors, 1);
	free(flag);
}

static void what_cannot_open(void **state)
{
	(void)state;
	script("0 nonsense\n");
	/* not required: a warning; the sink's missing option and the unknown plugin are errors */
	assert_int_equal(make(false, PROBE, SINK), 0);
	assert_int_equal(t.diag.n_errors, 0);
	assert_int_equal(t.diag.n, 1);
	stop(0);
	collector_free(t.collector);
	t.collector = NULL;
	t.stopped = false;
	config_free(t.config);
	diag_clear(&t.diag);
	assert_int_equal(make(false, PROBE ", { \"plugin\": \"nosuch\" }", SINK), -ENOENT);
	assert_int_equal(t.diag.n_errors, 1);
}

static void those_alive_at_the_end(void **state)
{
	json_t *all;

	(void)state;
	/* flush() plays the script to its end, so the scan is complete when the run's end needs it. */
	script("0   exec  pid=100 start=0 exe=/bin/sh cpu_ns=0\n"
	       "0   fork  pid=101 parent=100 comm=d\n"
	       "0   exec  pid=101 exe=/opt/daemon cpu_ns=1ms\n"
	       "0   fork  pid=102 parent=101 comm=z\n"
	       "1ms exit  pid=100 code=0\n"
	       "1ms exit  pid=102 code=4\n"
	       "1ms final pid=100 code=0 cpu_ns=5ms\n"
	       "1s  sweep_begin\n"
	       "1s  live  pid=101 parent=1 cpu_ns=70ms rss_bytes=1MiB\n"
	       "1s  live  pid=102 parent=101 cpu_ns=2ms flags=1\n"
	       "1s  sweep_end\n");
	start(true, SINK);
	begin("r1", 100);
	run_for(30);
	end("r1", 0);
	books_balance(0);
	stop(0);
	all = written("out");
	assert_string_equal(string(image(all, 101, 1), "state"), "running");
	assert_int_equal(number(image(all, 101, 1), "cpu_ns"), 69000000);
	assert_string_equal(string(image(all, 102, 0), "state"), "zombie");
	assert_int_equal(number(image(all, 102, 0), "cpu_ns"), 2000000);
	assert_int_equal(number(image(all, 102, 0), "exit_code"), 4);
	assert_int_equal(number(record(all, "run", 1), "processes_seen"), 3);
	json_decref(all);
}

static struct {
	const struct skep_plugin *lifecycle, *other; /* as the plugins are */
	unsigned lifecycle_flushes, other_flushes, other_drains;
} counted;

static void count_lifecycle_flush(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
	counted.lifecycle_flushes++;
}

static void count_other_flush(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
	counted.other_flushes++;
}

static void count_other_drain(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
	counted.other_drains++;
}

static struct plugin *plugin_of(const char *name)
{
	for (const struct skep_instance *inst = collector_instances(t.collector); inst; inst = inst->next)
		if (strcmp(inst->name, name) == 0)
			return (struct plugin *)(uintptr_t)inst->plugin;
	fail();
	return NULL;
}

static void count_done(void *arg)
{
	if (++*(unsigned *)arg == 8)
		t.run_done = true;
}

/* Eight runs wait for a zombie each: skepd reads its probes once a turn, not once for each run. */
static void many_runs_that_end_slowly(void **state)
{
	struct skep_plugin lifecycle, other;
	struct plugin *fake, *detail;
	char id[8], text[2048] = "";
	unsigned done = 0;
	json_t *all;

	(void)state;
	for (int pid = 100; pid < 108; pid++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "0 live pid=%d start=0 parent=1 exe=/bin/sh\n%s", pid,
			 pid == 107 ? "0 sweep_begin\n0 sweep_end complete=1\n" : "");
	for (int pid = 200; pid < 208; pid++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "60s fork pid=%d parent=%d\n60s live pid=%d parent=%d flags=1\n", pid, pid - 100, pid, pid - 100);
	script(text);
	assert_int_equal(make(false, "{ \"plugin\": \"detail\" }, " PROBE, SINK), 0);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	fake = plugin_of("fake");
	detail = plugin_of("detail");
	memset(&counted, 0, sizeof(counted));
	counted.lifecycle = fake->desc;
	counted.other = detail->desc;
	lifecycle = *fake->desc;
	lifecycle.flush = count_lifecycle_flush;
	other = *detail->desc;
	other.flush = count_other_flush;
	other.drain = count_other_drain;
	run_for(50);
	fake->desc = &lifecycle;
	for (int pid = 100; pid < 108; pid++) {
		snprintf(id, sizeof(id), "r%d", pid);
		begin(id, pid);
	}
	fake->desc = counted.lifecycle;
	collector_flush(t.collector); /* the zombies begin */
	fake->desc = &lifecycle;
	detail->desc = &other;
	counted.lifecycle_flushes = 0;
	for (int pid = 100; pid < 108; pid++) {
		snprintf(id, sizeof(id), "r%d", pid);
		collector_run_end(t.collector, id, 0, NULL, NULL, count_done, &done);
	}
	support_loop_until(&t.loop, &t.run_done);
	fake->desc = counted.lifecycle;
	detail->desc = counted.other;
	/* one flush when the ends begin, one after each sweep; a turn at which no probe is flushed drains once */
	assert_in_range(counted.other_flushes, 1, 8);
	assert_in_range(counted.lifecycle_flushes, 1, counted.other_flushes + counted.other_drains);
	stop(1000000000);
	all = written("out");
	assert_int_equal(count(all, "run"), 16);
	json_decref(all);
}

static void the_whole_host(void **state)
{
	json_t *all;

	(void)state;
	script("0   sweep_begin\n"
	       "0   live  pid=1 start=0 parent=0 session=1 exe=/sbin/init\n"
	       "0   live  pid=50 start=0 parent=1 session=50 exe=/usr/sbin/sshd\n"
	       "0   sweep_end\n"
	       "1ms fork  pid=60 parent=50 session=50 comm=sshd\n"
	       "2ms exec  pid=60 session=60 exe=/usr/bin/nextflow argv=\"nextflow\\0run\\0\"\n"
	       "3ms fork  pid=61 parent=60 session=60 comm=x\n"
	       "4ms exit  pid=61 code=0\n"
	       "4ms final pid=61 code=0 cpu_ns=4ms\n"
	       "5ms exit  pid=60 code=1\n"
	       "5ms final pid=60 code=1 cpu_ns=9ms\n");
	start(false, SINK);
	run_for(150);
	collector_flush(t.collector);
	stop(1000000000);
	all = written("out");
	assert_int_equal(count(all, "run"), 2);
	assert_string_equal(string(record(all, "run", 0), "state"), "running");
	assert_string_equal(string(record(all, "run", 0), "name"), "nextflow run");
	assert_string_equal(string(record(all, "run", 1), "state"), "ended");
	assert_int_equal(number(record(all, "run", 1), "exit_code"), 1);
	assert_int_equal(number(record(all, "run", 1), "processes_seen"), 2);
	assert_string_equal(string(image(all, 61, 0), "run"), string(record(all, "run", 0), "run"));
	json_decref(all);
}

static void odd_calls(void **state)
{
	struct run_spec spec = { .id = "r1", .root = 100 };

	(void)state;
	script("");
	start(true, SINK);
	assert_int_equal(collector_run_begin(t.collector, &spec), 0);
	assert_int_equal(collector_run_begin(t.collector, &spec), -EEXIST);
	spec.id = "";
	assert_int_equal(collector_run_begin(t.collector, &spec), -EINVAL);
	/* another run cannot have that root */
	spec.id = "r2";
	assert_int_equal(collector_run_begin(t.collector, &spec), -EBUSY);
	end("nosuch", 0);
	stop(0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_run),
		TEST(ended_processes_leave_when_the_probe_drains),
		TEST(events_carry_their_context),
		TEST(a_busy_sink_gets_all_in_the_end),
		TEST(a_refusing_sink_is_counted),
		TEST(a_stuck_sink_delays_nobody),
		TEST(work_that_hangs_delays_nobody),
		TEST(a_dead_file_system_delays_nobody),
		TEST(a_failing_probe_comes_back),
		TEST(a_run_needs_its_life_cycle),
		TEST(what_cannot_open),
		TEST(those_alive_at_the_end),
		TEST(the_whole_host),
		TEST(many_runs_that_end_slowly),
		TEST(odd_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
