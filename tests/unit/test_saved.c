/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved.c: damaged files of saved state. test_track_random shows that the saved numbers add up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/process/saved.h"
#include "core/collect/collector.h"
#include "core/base/log.h"
#include "core/process/track_priv.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)
#define HEAD "{\"skep_carry\":1,\"boot_id\":\"boot\"}\n"
#define ZEROES "[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]"
#define PROCESS(pid_, rest_) \
	"{\"pid\":" pid_ ",\"start\":5,\"image\":2,\"image_start\":7,\"flags\":0,\"approx\":0,\"threads_peak\":1," \
	"\"rss_peak\":0,\"maxrss_base\":0,\"maxrss\":0,\"base\":" ZEROES ",\"last\":" ZEROES rest_ "}\n"
#define RUN \
	"{\"run\":\"r1\",\"name\":\"n\",\"root\":10,\"root_start\":5,\"start\":5,\"seen\":3,\"uid\":1,\"rss_peak\":9,\"found\":true}\n"
#define NAMED \
	"{\"run\":\"r1\",\"name\":\"n\",\"root\":10,\"root_start\":5,\"start\":5,\"seen\":3,\"uid\":1,\"rss_peak\":9,\"found\":false}\n"

static struct fixture f;

static int set_up(void **state)
{
	(void)state;
	log_level(SKEP_LOG_ERROR);
	fixture_open(&f, false, T0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_close(&f);
	return 0;
}

/* The number of restored processes that wait; -1: the file was refused. */
static int read_text(const char *text)
{
	FILE *file = fmemopen((void *)text, strlen(text), "r");

	assert_non_null(file);
	assert_int_equal(saved_read(f.track, file, "test", "boot"), 0);
	fclose(file);
	return f.track->saved ? (int)saved_left(f.track) : -1;
}

static void other_files(void **state)
{
	(void)state;
	assert_int_equal(read_text("\n"), -1);
	assert_int_equal(read_text("hello\n"), -1);
	assert_int_equal(read_text("[]\n"), -1);
	assert_int_equal(read_text("{\"skep_carry\":2,\"boot_id\":\"boot\"}\n" PROCESS("10", "")), -1);
	assert_int_equal(read_text("{\"skep_carry\":1,\"boot_id\":\"another\"}\n" PROCESS("10", "")), -1);
	assert_int_equal(f.track->runs.n, 0);
}

static void bad_lines(void **state)
{
	(void)state;
	assert_int_equal(
		read_text(HEAD PROCESS("10", "") "{\"pid\":11}\n" PROCESS("0", "") PROCESS("-4", "") PROCESS(
			"4294967306", "") PROCESS("\"x\"", "") "\n{{{\n[1]\n" RUN RUN PROCESS("12", ",\"run\":\"r1\"")
				  PROCESS("13", ",\"run\":\"other\"") PROCESS(
					  "14", ",\"facets\":{\"x\":1,\"y\":[1,2],\"fixture.widgets\":[\"a\",{},2]}")
					  PROCESS("15", ",\"sampled\":[1,2]") "{\"pid\":16,\"start\""),
		5);
	assert_int_equal(f.track->runs.n, 1);
	/* each of these can be claimed */
	assert_int_equal(f.track->stats.unrestored, 10);
	for (uint32_t pid = 10; pid < 16; pid++)
		tell_live(&f, T0 + 1, pid, 5, 1, 0, 100, 0);
	assert_int_equal(saved_left(f.track), 0);
}

static void runs_go_on(void **state)
{
	const struct run *run;

	(void)state;
	/* It has executed twice and is the run's root: flags placed, confirmed, root. */
	assert_int_equal(
		read_text(
			HEAD RUN
			"{\"pid\":10,\"start\":5,\"image\":2,\"image_start\":7,\"flags\":224,\"approx\":0,\"threads_peak\":1,"
			"\"rss_peak\":0,\"maxrss_base\":0,\"maxrss\":0,\"base\":[40,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"
			"\"last\":[90,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"run\":\"r1\"}\n"),
		1);
	run = run_find(&f.track->runs, "r1");
	assert_non_null(run);
	assert_int_equal(run->seen, 3);
	track_sweep_begin(f.track, T0, T0);
	tell_live(&f, T0, 10, 5, 1, 0, 100, 0);
	track_sweep_end(f.track, true, T0);
	saved_settle(f.track, T0);
	assert_int_equal(run->members, 1);
	assert_int_equal(run->seen, 3); /* counted when it joined */
	assert_int_equal(f.track->cpu_ns, 10); /* since the state was saved */
	tell_exit(&f, T0 + 1, 10, 5, 0);
	tell_final(&f, T0 + 2, 10, 5, 0, 100, 0);
	assert_int_equal(fixture_image(&f, 10, 2)->r.cpu_ns, 60); /* the earlier images' records had the rest */
	assert_string_equal(fixture_image(&f, 10, 2)->run, "r1");
	assert_true(f.runs[0].over);
}

/* The root of a run that a user began by name ends before its `skep run` has reached the new skepd. */
static void a_run_waits_for_its_client(void **state)
{
	(void)state;
	assert_int_equal(read_text(HEAD NAMED PROCESS("10", ",\"run\":\"r1\"")), 1);
	track_sweep_begin(f.track, T0, T0);
	track_sweep_end(f.track, true, T0);
	saved_settle(f.track, T0);
	track_tick(f.track, T0 + 9 * SECOND);
	assert_int_equal(f.n_runs, 0);
	assert_false(run_find(&f.track->runs, "r1")->ended);
	track_tick(f.track, T0 + 11 * SECOND);
	assert_int_equal(f.n_runs, 1);
	assert_true(f.runs[0].over);
	assert_int_equal(f.runs[0].end_ns, T0);
}

/* The run's root ends while another process of the run is still unclaimed: the run stays until then. */
static void a_run_that_is_waited_for(void **state)
{
	(void)state;
	assert_int_equal(
		read_text(
			HEAD RUN
			"{\"pid\":10,\"start\":5,\"image\":2,\"image_start\":7,\"flags\":224,\"approx\":0,\"threads_peak\":1,"
			"\"rss_peak\":0,\"maxrss_base\":0,\"maxrss\":0,\"base\":[40,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"
			"\"last\":[90,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],\"run\":\"r1\"}\n" PROCESS("12",
												",\"run\":\"r1\"")),
		2);
	tell_live(&f, T0, 10, 5, 1, 0, 100, 0);
	tell_exit(&f, T0 + 1, 10, 5, 0);
	tell_final(&f, T0 + 2, 10, 5, 0, 100, 0);
	assert_true(f.runs[0].over);
	fixture_sample(&f);
	assert_int_equal(f.track->runs.n, 1);
	tell_live(&f, T0 + 3, 12, 5, 1, 0, 100, 0);
	fixture_sample(&f);
	assert_int_equal(f.track->runs.n, 0);
}

static void a_run_that_ended_meanwhile(void **state)
{
	(void)state;
	assert_int_equal(read_text(HEAD RUN PROCESS("10", ",\"run\":\"r1\"")), 1);
	track_sweep_begin(f.track, T0, T0);
	track_sweep_end(f.track, true, T0);
	saved_settle(f.track, T0);
	assert_null(f.track->saved);
	assert_int_equal(f.n_runs, 1);
	assert_true(f.runs[0].over);
	assert_string_equal(f.runs[0].id, "r1");
}

/* The saved identity survives with any bytes, and a process that no longer exists gets its record. */
static void who_they_are(void **state)
{
	char *saved;
	size_t size;
	struct skep_process_exec rec = {
		.parent = { .pid = 9, .start_ns = 4 },
		.comm = str("na me"),
		.exe = str("/o\"dd/\x01\xff %41/tool"),
		.cwd = str("/h\\e"),
		.cgroup_id = 77,
		.cgroup = str("/a b"),
		.uid = 1000,
		.gid = 100,
		.session = 8,
		.counters = { .cpu_ns = 5 },
	};
	const struct seen_process *seen;
	struct fixture next;
	struct proc *p;

	(void)state;
	rec.argv = (struct skep_str){ .ptr = "to\0\n\xc3%2", .len = 7, .total = 900 };
	tell_fork(&f, T0 + 1, 30, T0, 9, 4);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 2, 30, T0, &rec);
	saved = fixture_save(f.track, &size);

	fixture_open(&next, false, T0 + SECOND);
	fixture_load(next.track, saved, size);
	saved_restore(next.track);
	assert_int_equal(saved_left(next.track), 0);
	p = proctab_find(next.track->table, &(struct skep_upid){ .pid = 30, .start_ns = T0 });
	assert_non_null(p);
	assert_string_equal(p->program->exe->text, rec.exe.ptr);
	assert_int_equal(p->program->argv_len, 7);
	assert_int_equal(p->program->argv_total, 900);
	assert_memory_equal(p->program->argv, "to\0\n\xc3%2", 7);
	assert_string_equal(p->comm->text, "na me");
	assert_string_equal(p->cwd->text, "/h\\e");
	assert_string_equal(p->cgroup->text, "/a b");
	assert_int_equal(p->parent.pid, 9);
	assert_int_equal(p->uid, 1000);
	assert_int_equal(p->gid, 100);
	assert_int_equal(p->session, 8);
	track_sweep_begin(next.track, T0 + SECOND, T0 + SECOND);
	track_sweep_end(next.track, true, T0 + SECOND);
	saved_settle(next.track, T0 + SECOND);
	track_tick(next.track, T0 + 60 * SECOND);
	seen = fixture_image(&next, 30, 1);
	assert_string_equal(seen->state, "lost");
	assert_string_equal(seen->exe, rec.exe.ptr);
	fixture_close(&next);
}

/* Names of runs and tasks are bytes too: all values, and texts that look like an escape. */
static void names_that_are_not_text(void **state)
{
	const char *argv[] = { "a b", "", "\xff", NULL };
	char *saved, every[256 + 8], environ[300] = "SKEP_TASK=100%25 \xff\xed\xa0\x80 of \xc3\0LANE=%41\xff";
	size_t size;
	struct run_spec spec = { .id = "r\xfe",
				 .name = every,
				 .pipeline = "%ff\xe2\x82",
				 .cwd = "/tmp/\xff",
				 .root = 30,
				 .uid = 5,
				 .argv = argv,
				 .argv_total = 99 };
	struct skep_process_exec rec = { .parent = { .pid = 9, .start_ns = 4 },
					 .comm = str("\xff"),
					 .exe = str("/tmp/\xff") };
	const struct run *read;
	const struct task *task;
	struct contained in = { 0 };
	struct fixture next;
	struct run *run;

	(void)state;
	for (int i = 1; i < 256; i++)
		every[i - 1] = (char)i;
	memcpy(every + 255, "%41%zz%", 8);
	assert_int_equal(run_new(&f.track->runs, &spec, T0, &run), 0);
	run->root = (struct skep_upid){ .pid = 30, .start_ns = T0 };
	run->uid = 7; /* the process has changed its user since */
	rec.environ = (struct skep_str){ environ, 37, 37 };
	tell_fork(&f, T0, 9, 4, 1, 3);
	tell_fork(&f, T0 + 1, 30, T0, 9, 4);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 2, 30, T0, &rec);
	track_sweep_begin(f.track, T0 + 3, T0 + 3);
	tell_live(&f, T0 + 3, 1, 3, 0, 0, 0, 0);
	tell_live(&f, T0 + 3, 9, 4, 1, 3, 0, 0);
	tell_live(&f, T0 + 3, 30, T0, 9, 4, 0, 0);
	track_sweep_end(f.track, true, T0 + 3);
	assert_int_equal(f.track->tasks.n, 1);
	in.in[IN_POD] = str("p\xfe d");
	containment_note(&run->contained, f.track->intern, &in, true);
	containment_note(&f.track->tasks.first->contained, f.track->intern, &in, false);
	saved = fixture_save(f.track, &size);
	assert_int_equal(f.track->stats.unsaved, 0);

	fixture_open(&next, false, T0 + SECOND);
	fixture_load(next.track, saved, size);
	saved_restore(next.track);
	assert_int_equal(next.track->stats.unrestored, 0);
	read = run_find(&next.track->runs, "r\xfe");
	assert_non_null(read);
	assert_string_equal(read->name, every);
	assert_string_equal(read->pipeline, spec.pipeline);
	assert_string_equal(read->cwd, spec.cwd);
	assert_int_equal(read->argv_len, 7);
	assert_memory_equal(read->argv, "a b\0\0\xff", 7);
	assert_int_equal(read->argv_total, 99);
	assert_int_equal(read->owner, 5);
	assert_true(read->alone && read->restored && !read->ended);
	assert_string_equal(read->contained.in[IN_POD]->text, "p\xfe d");
	assert_int_equal(read->contained.from[IN_POD], CONTAINMENT_OF_ROOT);
	assert_null(read->contained.in[IN_UNIT]);
	task = next.track->tasks.first;
	assert_non_null(task);
	assert_string_equal(task->name->text, f.track->tasks.first->name->text);
	assert_string_equal(task->name->text, environ + 10);
	assert_string_equal(task->contained.in[IN_POD]->text, "p\xfe d");
	assert_int_equal(task->contained.from[IN_POD], CONTAINMENT_OF_MEMBER);
	assert_string_equal(
		proctab_find(next.track->table, &(struct skep_upid) { .pid = 30, .start_ns = T0 })->environ->text,
		"LANE=%41\xff");
	fixture_close(&next);
}

/* No memory for a string as long as one process's arguments. */
static void *short_of_memory(size_t size)
{
	return size > 20000 ? NULL : malloc(size);
}

static void count_line(void *arg, const struct skep_upid *upid, char *text)
{
	unsigned *pids = arg;

	if (text)
		*pids |= 1u << upid->pid;
	free(text);
}

/* skepd counts a process that it cannot save and saves the others; the process has its turn again. */
static void one_that_cannot_be_saved(void **state)
{
	char *saved, *argv = calloc(1, 30000);
	size_t size;
	struct skep_process_exec rec = { .parent = { .pid = 9, .start_ns = 4 }, .comm = str("x"), .exe = str("/x") };
	struct fixture next;
	unsigned pids = 0;

	(void)state;
	assert_non_null(argv);
	log_level(SKEP_LOG_ERROR - 1);
	track_keep(f.track, false);
	for (uint32_t pid = 10; pid < 15; pid++) {
		tell_fork(&f, T0 + 1, pid, T0, 9, 4);
		rec.argv = (struct skep_str){ argv, pid == 12 ? 30000 : 2, pid == 12 ? 30000 : 2 };
		tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 2, pid, T0, &rec);
	}
	json_set_alloc_funcs(short_of_memory, free);
	saved_changed(f.track, count_line, &pids);
	assert_int_equal(pids, 1u << 10 | 1u << 11 | 1u << 13 | 1u << 14);
	assert_int_equal(f.track->stats.unsaved, 1);
	saved = fixture_save(f.track, &size);
	assert_int_equal(f.track->stats.unsaved, 2);
	json_set_alloc_funcs(malloc, free);
	pids = 0;
	saved_changed(f.track, count_line, &pids);
	assert_int_equal(pids, 1u << 12);

	fixture_open(&next, false, T0 + SECOND);
	fixture_load(next.track, saved, size);
	assert_int_equal(saved_left(next.track), 4);
	fixture_close(&next);
	free(argv);
}

static void make_widgets(uint64_t n)
{
	const struct skep_upid who = { .pid = 10, .start_ns = T0 };
	const struct fixture_facet rec = { .widgets = n };

	track_facet(f.track, &fixture_facet, &who, &rec, T0 + 3);
}

/* The widgets of the process by the saved lines, and by the facets that were saved apart. */
static void assert_restored(char *lines, size_t lines_size, const void *facets, size_t size, uint64_t widgets)
{
	struct fixture next;

	fixture_open(&next, false, T0 + SECOND);
	fixture_load(next.track, lines, lines_size); /* frees them */
	saved_facets_read(next.track, facets, size);
	for (size_t cut = 0; cut < size; cut++) /* a damaged piece changes nothing more */
		saved_facets_read(next.track, facets, cut);
	tell_exit(&next, T0 + 9, 10, T0, 0);
	tell_final(&next, T0 + 10, 10, T0, 0, 1000, 0);
	assert_int_equal(fixture_image(&next, 10, 0)->widgets, widgets);
	fixture_close(&next);
}

/* Facets of a sampling probe do not change the line; the piece with all facets has them. */
static void facets_that_were_saved_apart(void **state)
{
	const struct skep_upid who = { .pid = 10, .start_ns = T0 };
	const struct fixture_facet rec = { 0 };
	struct skep_stream sampled = fixture_facet;
	size_t before_size, after_size, size;
	char *before, *after;
	unsigned pids = 0;
	void *facets;

	(void)state;
	sampled.flags = SKEP_STREAM_SAMPLE;
	track_keep(f.track, false);
	tell_fork(&f, T0 + 1, 10, T0, 9, 4);
	make_widgets(3);
	saved_changed(f.track, count_line, &pids);
	assert_int_equal(pids, 1u << 10);
	pids = 0;
	track_facet(f.track, &sampled, &who, &rec, T0 + 3);
	saved_changed(f.track, count_line, &pids);
	assert_int_equal(pids, 0);

	before = fixture_save(f.track, &before_size);
	make_widgets(4);
	assert_int_equal(saved_facets(f.track, &facets, &size), 0);
	make_widgets(5);
	after = fixture_save(f.track, &after_size);
	assert_restored(before, before_size, facets, size, 7);
	assert_restored(after, after_size, facets, size, 12);
	free(facets);
}

static void samples_that_were_saved_apart(void **state)
{
	const struct skep_upid who = { .pid = 10, .start_ns = T0 };
	const struct proc *p;
	struct fixture next;
	size_t lines_size, size;
	char *lines;
	void *samples;

	(void)state;
	tell_fork(&f, T0 + 1, 10, T0, 9, 4);
	lines = fixture_save(f.track, &lines_size);
	tell_live(&f, T0 + 5, 10, T0, 9, 4, 400, 0);
	track_samples_out(f.track, 0, T0 + 6);
	assert_int_equal(saved_samples(f.track, &samples, &size), 0);

	fixture_open(&next, false, T0 + SECOND);
	fixture_load(next.track, lines, lines_size); /* frees them */
	saved_sampled(next.track, samples, size);
	saved_restore(next.track);
	p = proctab_find(next.track->table, &who);
	assert_non_null(p);
	assert_int_equal(p->last.cpu_ns, 400);
	assert_non_null(p->sampled);
	assert_int_equal(p->sampled->counters.cpu_ns, 400);
	fixture_close(&next);
	free(samples);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(other_files, set_up, tear_down),
		cmocka_unit_test_setup_teardown(bad_lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(runs_go_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_its_client, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_is_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_ended_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_they_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_not_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(one_that_cannot_be_saved, set_up, tear_down),
		cmocka_unit_test_setup_teardown(facets_that_were_saved_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(samples_that_were_saved_apart, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
