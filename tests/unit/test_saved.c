/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved*.c: what a chunk has, what one chunk after another adds up to, damaged chunks, bounds.
 * test_track_random shows that the saved numbers add up.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/process/saved.h"
#include "core/collect/collector.h"
#include "core/base/log.h"
#include "core/process/track_priv.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)

static struct fixture f;

static int set_up(void **state)
{
	(void)state;
	log_level(SKEP_LOG_ERROR);
	fixture_open(&f, false, T0);
	track_keep(f.track);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	fixture_close(&f);
	return 0;
}

/* ---- chunks -------------------------------------------------------------------------- */

#define CHUNKS_MOST 8

/* Chunks as the spool keeps them. */
static struct {
	char *bytes[CHUNKS_MOST];
	size_t size[CHUNKS_MOST], n;
} kept;

static void forget_chunks(void)
{
	while (kept.n > 0)
		free(kept.bytes[--kept.n]);
}

/* The tracker's next chunk; durable: the spool stores it.  Returns its size. */
static size_t commit(bool durable)
{
	struct saved_chunk chunk;

	saved_chunk(f.track, "boot", false, false, &chunk);
	if (durable && chunk.whole)
		forget_chunks();
	if (durable && chunk.size) {
		assert_true(kept.n < CHUNKS_MOST);
		kept.bytes[kept.n] = malloc(chunk.size);
		assert_non_null(kept.bytes[kept.n]);
		memcpy(kept.bytes[kept.n], chunk.bytes, chunk.size);
		kept.size[kept.n++] = chunk.size;
	}
	saved_stored(f.track, durable);
	return chunk.size;
}

/* Another skepd reads the kept chunks.  Returns the number of processes that wait. */
static size_t begin_next(struct fixture *next)
{
	char why[128];

	fixture_open(next, false, T0 + SECOND);
	for (size_t i = 0; i < kept.n; i++)
		assert_int_equal(saved_read(next->track, kept.bytes[i], kept.size[i], why, sizeof(why)), 0);
	assert_int_equal(saved_read_end(next->track), 0);
	return saved_left(next->track);
}

static void swept(struct fixture *next)
{
	track_sweep_end(next->track, true, T0 + SECOND);
	saved_settle(next->track, T0 + SECOND);
}

/* The same with this tracker's state, in place of this tracker. */
static void restart(void)
{
	size_t size;
	char *chunk = fixture_save(f.track, &size);

	fixture_close(&f);
	fixture_open(&f, false, T0 + SECOND);
	fixture_load(f.track, chunk, size);
	track_sweep_begin(f.track, T0 + SECOND, T0 + SECOND);
}

static void exec_of(uint32_t pid, uint32_t uid, uint32_t argv_len)
{
	static const char argv[30000];
	struct skep_process_exec rec = { .parent = { .pid = 9, .start_ns = 4 }, .comm = str("x"), .exe = str("/x"),
					 .uid = 100000 + pid, .payer = uid, /* a subordinate uid */
					 .argv = { argv, argv_len, argv_len } };

	tell_fork(&f, T0 + 1, pid, T0, 9, 4);
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 2, pid, T0, &rec);
}

static void end_of(uint32_t pid)
{
	tell_exit(&f, T0 + 4, pid, T0, 0);
	tell_final(&f, T0 + 5, pid, T0, 0, 10, 0);
}

static void begin_run(bool found)
{
	struct run_spec spec = { .id = "r1", .name = "n", .root = 10, .uid = 1 };
	struct run *run;

	tell_fork(&f, T0, 9, 4, 1, 3);
	tell_fork(&f, T0 + 1, 10, T0, 9, 4);
	track_sweep_begin(f.track, T0 + 2, T0 + 2);
	tell_live(&f, T0 + 2, 1, 3, 0, 0, 0, 0);
	tell_live(&f, T0 + 2, 9, 4, 1, 3, 0, 0);
	tell_live(&f, T0 + 2, 10, T0, 9, 4, 40, 0);
	track_sweep_end(f.track, true, T0 + 2);
	assert_int_equal(run_new(&f.track->runs, &spec, 5, &run), 0);
	assert_int_equal(track_run_root(f.track, run, T0 + 2), 0);
	run->alone = true;
	run->found = found;
}

/* A process that has not changed is in no later chunk; a process that has ended leaves the state. */
static void one_chunk_after_another(void **state)
{
	struct fixture next;
	size_t first;

	(void)state;
	exec_of(10, 1, 2);
	exec_of(11, 1, 2);
	exec_of(12, 1, 2);
	first = commit(true);
	assert_true(first > 100);
	assert_int_equal(commit(true), 0);
	tell_exec(&f, T0 + 3, 11, T0, "/y", 40, 0);
	end_of(12);
	assert_true(commit(true) < first);
	exec_of(13, 1, 2);
	end_of(10);
	assert_true(commit(true) > 0);
	assert_int_equal(kept.n, 3);
	assert_int_equal(begin_next(&next), 2);
	saved_restore(next.track, T0 + SECOND);
	assert_int_equal(next.track->stats.unrestored, 0);
	assert_non_null(proctab_find(next.track->table, &(struct skep_upid){ .pid = 13, .start_ns = T0 }));
	assert_string_equal(proctab_find(next.track->table, &(struct skep_upid){ .pid = 11, .start_ns = T0 })->program->exe->text, "/y");
	fixture_close(&next);
	forget_chunks();
}

/* Tasks and runs that have gone are not restored, and no record says that they were lost. */
static void groups_that_have_gone(void **state)
{
	struct skep_process_exec rec = { .parent = { .pid = 9, .start_ns = 4 }, .comm = str("x"), .exe = str("/x") };
	struct fixture next;

	(void)state;
	begin_run(true);
	rec.environ = (struct skep_str){ "SKEP_TASK=a", 12, 12 };
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 3, 10, T0, &rec);
	assert_int_equal(f.track->tasks.n, 1);
	commit(true);
	end_of(10);
	fixture_settle(&f);
	assert_int_equal(f.n_tasks, 1);
	fixture_sample(&f);
	assert_int_equal(f.track->runs.n, 0);
	commit(true);
	assert_int_equal(kept.n, 2);
	begin_next(&next);
	assert_int_equal(next.track->runs.n, 0);
	assert_int_equal(next.track->tasks.n, 0);
	fixture_close(&next);
	forget_chunks();
}

/* What the spool could not store is in the next chunk. */
static void a_chunk_that_is_not_stored(void **state)
{
	struct fixture next;

	(void)state;
	exec_of(10, 1, 2);
	commit(true);
	exec_of(11, 1, 2);
	commit(false);
	exec_of(12, 1, 2);
	commit(false);
	commit(true);
	assert_int_equal(kept.n, 2);
	assert_int_equal(begin_next(&next), 3);
	fixture_close(&next);
	forget_chunks();
}

/* Children that execute nothing share their parent's arguments, in the state too. */
static void a_program_is_there_once(void **state)
{
	struct fixture next;
	const struct proc *a, *b;

	(void)state;
	exec_of(10, 1, 30000);
	for (uint32_t pid = 100; pid < 1100; pid++)
		tell_fork(&f, T0 + 3, pid, T0, 10, T0);
	assert_true(commit(true) < 30000 + 1001 * 200);
	assert_int_equal(begin_next(&next), 1001);
	saved_restore(next.track, T0 + SECOND);
	a = proctab_find(next.track->table, &(struct skep_upid){ .pid = 100, .start_ns = T0 });
	b = proctab_find(next.track->table, &(struct skep_upid){ .pid = 101, .start_ns = T0 });
	assert_ptr_equal(a->program, b->program);
	assert_int_equal(a->program->argv_len, 30000);
	fixture_close(&next);
	forget_chunks();
}

/* What changes again and again makes the chunks grow; the whole state then takes their place. */
static void chunks_give_way_to_a_whole_state(void **state)
{
	struct saved_chunk chunk;
	size_t sum = 0, largest = 0;
	unsigned whole = 0;

	(void)state;
	exec_of(10, 1, 2);
	for (uint32_t i = 0; i < 200; i++) {
		exec_of(1000 + i, 1, 20000 + i);
		saved_chunk(f.track, "boot", false, false, &chunk);
		saved_stored(f.track, true);
		sum = chunk.whole ? chunk.size : sum + chunk.size;
		largest = sum > largest ? sum : largest;
		whole += chunk.whole;
		end_of(1000 + i);
	}
	assert_true(largest < 1200000);
	assert_true(whole >= 3 && whole <= 6);
}

/* Of two users, the one with more is left out, and counted; the other's processes are there. */
static void a_user_with_too_much(void **state)
{
	struct fixture next;

	(void)state;
	log_level(SKEP_LOG_ERROR - 1);
	saved_most(f.track, 400000);
	exec_of(10, 1, 20000);
	exec_of(11, 2, 20000);
	commit(true);
	assert_int_equal(f.track->stats.unsaved, 0);
	for (uint32_t pid = 100; pid < 120; pid++)
		exec_of(pid, 1, 20000 + pid);
	exec_of(12, 2, 2);
	assert_true(commit(true) < 100000);
	assert_int_equal(kept.n, 1); /* a whole state, without the user */
	assert_int_equal(f.track->stats.unsaved, 21);
	assert_int_equal(begin_next(&next), 2);
	fixture_close(&next);
	/* still left out; then most of it is gone, and the next whole state has the user again */
	exec_of(130, 1, 2);
	commit(true);
	assert_int_equal(f.track->stats.unsaved, 22);
	for (uint32_t pid = 100; pid < 120; pid++)
		end_of(pid);
	forget_chunks();
	saved_most(f.track, 400000);
	{
		struct saved_chunk chunk;

		saved_chunk(f.track, "boot", true, false, &chunk);
		assert_true(chunk.whole);
		kept.bytes[0] = malloc(chunk.size);
		memcpy(kept.bytes[0], chunk.bytes, chunk.size);
		kept.size[0] = chunk.size;
		kept.n = 1;
		saved_stored(f.track, true);
	}
	assert_int_equal(begin_next(&next), 4);
	fixture_close(&next);
	forget_chunks();
}

/* Each user has little, and there are too many. */
static void too_many_users(void **state)
{
	struct fixture next;
	size_t left;

	(void)state;
	log_level(SKEP_LOG_ERROR - 1);
	saved_most(f.track, 100000);
	for (uint32_t i = 0; i < 400; i++)
		exec_of(1000 + i, 5000 + i, 1000 + i);
	assert_true(commit(true) <= 100000);
	left = begin_next(&next);
	assert_true(left > 10 && left < 100);
	assert_int_equal(left + f.track->stats.unsaved, 400);
	fixture_close(&next);
	forget_chunks();
}

/* ---- other bytes ----------------------------------------------------------------------- */

static int read_bytes(const void *bytes, size_t size)
{
	struct fixture next;
	char why[128] = "";
	int err;

	fixture_open(&next, false, T0 + SECOND);
	err = saved_read(next.track, bytes, size, why, sizeof(why));
	assert_true(err == 0 || (err == -EBADMSG && why[0]));
	if (err == 0 && saved_read_end(next.track) == 0) {
		saved_restore(next.track, T0 + SECOND);
		for (uint32_t pid = 9; pid < 14; pid++)
			tell_live(&next, T0 + SECOND, pid, T0, 1, 0, 100, 0);
		swept(&next);
	}
	fixture_close(&next);
	return err;
}

/* A state with each kind of item. */
static char *rich(size_t *ret_size)
{
	struct skep_process_exec rec = { .parent = { .pid = 9, .start_ns = 4 }, .comm = str("x"), .exe = str("/usr/bin/make"),
					 .argv = { "make\0-j", 8, 8 }, .cwd = str("/src") };
	const struct skep_upid who = { .pid = 11, .start_ns = T0 };
	const struct fixture_facet facet = { .widgets = 7 };

	tell_fork(&f, T0, 9, 4, 1, 3);
	tell_fork(&f, T0 + 1, 10, T0, 9, 4);
	rec.environ = (struct skep_str){ "SKEP_TASK=a", 12, 12 };
	tell(&f, SKEP_ROLE_PROC_EXEC, T0 + 2, 10, T0, &rec);
	tell_fork(&f, T0 + 1, 11, T0, 10, T0);
	track_sweep_begin(f.track, T0 + 3, T0 + 3);
	tell_live(&f, T0 + 3, 1, 3, 0, 0, 0, 0);
	tell_live(&f, T0 + 3, 9, 4, 1, 3, 0, 0);
	tell_live(&f, T0 + 3, 10, T0, 9, 4, 0, 0);
	tell_live(&f, T0 + 3, 11, T0, 10, T0, 0, 0);
	track_sweep_end(f.track, true, T0 + 3);
	track_facet(f.track, &fixture_facet, &who, &facet, T0 + 3);
	return fixture_save(f.track, ret_size);
}

static void not_a_state(void **state)
{
	size_t size;
	char *chunk = rich(&size);

	(void)state;
	assert_int_equal(read_bytes("", 0), -EBADMSG);
	assert_int_equal(read_bytes("hello", 5), -EBADMSG);
	assert_true(saved_of_boot(chunk, size, "boot"));
	assert_false(saved_of_boot(chunk, size, "boo"));
	assert_false(saved_of_boot(chunk, size, "another"));
	assert_int_equal(read_bytes(chunk, size), 0);
	chunk[2]++; /* the version */
	assert_int_equal(read_bytes(chunk, size), -EBADMSG);
	free(chunk);
}

/* Any damage is an error with its place, or a state that can be claimed. */
static void damaged(void **state)
{
	size_t size, refused = 0;
	char *chunk = rich(&size);

	(void)state;
	for (size_t cut = 0; cut < size; cut++)
		refused += read_bytes(chunk, cut) < 0;
	assert_true(refused > size / 2);
	for (size_t i = 0; i < size; i++)
		for (unsigned bit = 0; bit < 8; bit += 3) {
			chunk[i] = (char)(chunk[i] ^ 1 << bit);
			read_bytes(chunk, size);
			chunk[i] = (char)(chunk[i] ^ 1 << bit);
		}
	free(chunk);
}

/* ---- runs -------------------------------------------------------------------------------- */

static void runs_go_on(void **state)
{
	const struct run *run;

	(void)state;
	begin_run(true);
	tell_exec(&f, T0 + 3, 10, T0, "/x", 40, 0);
	tell_live(&f, T0 + 4, 10, T0, 9, 4, 90, 0);
	restart();
	run = run_find(&f.track->runs, "r1");
	assert_non_null(run);
	assert_int_equal(run->seen, 1);
	tell_live(&f, T0 + SECOND, 10, T0, 9, 4, 100, 0);
	swept(&f);
	assert_int_equal(run->members, 1);
	assert_int_equal(run->seen, 1);        /* counted when it joined */
	assert_int_equal(f.track->cpu_ns, 10); /* since the state was saved */
	tell_exit(&f, T0 + SECOND + 1, 10, T0, 0);
	tell_final(&f, T0 + SECOND + 2, 10, T0, 0, 100, 0);
	assert_int_equal(fixture_image(&f, 10, 1)->r.cpu_ns, 60); /* the earlier image's record had the rest */
	assert_string_equal(fixture_image(&f, 10, 1)->run, "r1");
	assert_true(f.runs[0].over);
}

/* The root of a run that a user began by name ends before its `skep run` has reached the new skepd. */
static void a_run_waits_for_its_client(void **state)
{
	(void)state;
	begin_run(false);
	restart();
	swept(&f);
	track_tick(f.track, T0 + 10 * SECOND);
	assert_int_equal(f.n_runs, 0);
	assert_false(run_find(&f.track->runs, "r1")->ended);
	track_tick(f.track, T0 + 12 * SECOND);
	assert_int_equal(f.n_runs, 1);
	assert_true(f.runs[0].over);
	assert_int_equal(f.runs[0].end_ns, T0 + SECOND);
}

/* The run's root ends while another process of the run is still unclaimed: the run stays until then. */
static void a_run_that_is_waited_for(void **state)
{
	(void)state;
	begin_run(true);
	tell_fork(&f, T0 + 3, 12, T0, 10, T0);
	restart();
	assert_int_equal(saved_left(f.track), 4);
	tell_live(&f, T0 + SECOND, 10, T0, 9, 4, 100, 0);
	tell_exit(&f, T0 + SECOND + 1, 10, T0, 0);
	tell_final(&f, T0 + SECOND + 2, 10, T0, 0, 100, 0);
	assert_true(f.runs[0].over);
	fixture_sample(&f);
	assert_int_equal(f.track->runs.n, 1);
	tell_live(&f, T0 + SECOND + 3, 12, T0, 1, 0, 100, 0);
	tell_exit(&f, T0 + SECOND + 4, 12, T0, 0);
	tell_final(&f, T0 + SECOND + 5, 12, T0, 0, 100, 0);
	swept(&f);
	fixture_sample(&f);
	assert_int_equal(f.track->runs.n, 0);
}

static void a_run_that_ended_meanwhile(void **state)
{
	(void)state;
	begin_run(true);
	restart();
	swept(&f);
	assert_null(f.track->saved);
	assert_int_equal(f.n_runs, 1);
	assert_true(f.runs[0].over);
	assert_string_equal(f.runs[0].id, "r1");
}

/* A shell's pipeline keeps the status of its last command when an earlier command ends after the restart. */
static void a_pipeline_keeps_its_status(void **state)
{
	struct run *run;

	(void)state;
	begin_run(true);
	run = run_find(&f.track->runs, "r1");
	run->job_group = run->job_session = 10;
	run->peers = true;
	run->status = 1 << 8;
	run->status_of_ns = T0 + 1; /* the last command, which the shell started after process 10, has ended */
	restart();
	tell_live(&f, T0 + SECOND, 10, T0, 9, 4, 100, 0);
	swept(&f);
	tell_exit(&f, T0 + SECOND + 1, 10, T0, 13);
	tell_final(&f, T0 + SECOND + 2, 10, T0, 13, 100, 0);
	assert_true(f.runs[0].over);
	assert_int_equal(run_find(&f.track->runs, "r1")->status, 1 << 8);
}

/* ---- texts --------------------------------------------------------------------------------- */

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
	saved_restore(next.track, T0 + SECOND);
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
	saved_restore(next.track, T0 + SECOND);
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

/* ---- figures that are saved apart -------------------------------------------------------------- */

static void make_widgets(uint64_t n)
{
	const struct skep_upid who = { .pid = 10, .start_ns = T0 };
	const struct fixture_facet rec = { .widgets = n };

	track_facet(f.track, &fixture_facet, &who, &rec, T0 + 3);
}

/* The widgets of the process by the saved chunk, and by the facets that were saved apart. */
static void assert_restored(char *chunk, size_t chunk_size, const void *facets, size_t size, uint64_t widgets)
{
	struct fixture next;

	fixture_open(&next, false, T0 + SECOND);
	fixture_load(next.track, chunk, chunk_size); /* frees them */
	saved_facets_read(next.track, facets, size);
	for (size_t cut = 0; cut < size; cut++) /* a damaged piece changes nothing more */
		saved_facets_read(next.track, facets, cut);
	tell_exit(&next, T0 + 9, 10, T0, 0);
	tell_final(&next, T0 + 10, 10, T0, 0, 1000, 0);
	assert_int_equal(fixture_image(&next, 10, 0)->widgets, widgets);
	fixture_close(&next);
}

/* Facets of a sampling probe do not change the process's item; the piece with all facets has them. */
static void facets_that_were_saved_apart(void **state)
{
	const struct skep_upid who = { .pid = 10, .start_ns = T0 };
	const struct fixture_facet rec = { 0 };
	struct skep_stream sampled = fixture_facet;
	size_t before_size, after_size, size;
	char *before, *after;
	void *facets;

	(void)state;
	sampled.flags = SKEP_STREAM_SAMPLE;
	tell_fork(&f, T0 + 1, 10, T0, 9, 4);
	make_widgets(3);
	assert_true(commit(true) > 0);
	track_facet(f.track, &sampled, &who, &rec, T0 + 3);
	assert_int_equal(commit(true), 0);
	forget_chunks();

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
	saved_restore(next.track, T0 + SECOND);
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
		cmocka_unit_test_setup_teardown(one_chunk_after_another, set_up, tear_down),
		cmocka_unit_test_setup_teardown(groups_that_have_gone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_chunk_that_is_not_stored, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_program_is_there_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(chunks_give_way_to_a_whole_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_user_with_too_much, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_users, set_up, tear_down),
		cmocka_unit_test_setup_teardown(not_a_state, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(runs_go_on, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_waits_for_its_client, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_is_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_run_that_ended_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pipeline_keeps_its_status, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_they_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_that_are_not_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(facets_that_were_saved_apart, set_up, tear_down),
		cmocka_unit_test_setup_teardown(samples_that_were_saved_apart, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
