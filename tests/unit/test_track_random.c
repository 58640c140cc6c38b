/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_track_random.c - properties of the tracker over random forests of processes whose records are lost at
 * random, except final ones. Every process is delivered exactly once as a last image, its images add up to its final
 * counters to the last nanosecond, samples add up to records, and the table is empty at the end.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/process/saved.h"
#include "core/collect/collector.h"
#include "tests/unit/track_fixture.h"

#define T0 (100 * SECOND)
#define N_PROCESSES 600
#define ROUNDS 60

static uint64_t random_state;

static uint64_t rnd(uint64_t below)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (random_state >> 33) % below;
}

struct model {
	struct skep_upid upid, parent;
	struct skep_counters now; /* the true counters, final after its end */
	uint64_t exit_t;
	unsigned execs, exited, over;
	uint64_t facets;
};

static struct model models[N_PROCESSES];
static size_t n_models;

static void work(struct model *m)
{
	uint64_t *v = (uint64_t *)(void *)&m->now;

	for (size_t i = 0; i < sizeof(m->now) / sizeof(*v); i++)
		v[i] += rnd(4) == 0 ? rnd(1u << 30) : rnd(1000);
	/* user and system time are sampled by ticks: from nothing to more than the whole */
}

static void deliver(struct fixture *f, const struct model *m, enum skep_role role, unsigned loss_percent, uint64_t t,
		    const void *rec)
{
	if (rnd(100) < loss_percent)
		return;
	if (role == SKEP_ROLE_NONE) {
		track_facet(f->track, &fixture_facet, &m->upid, rec, f->now_ns);
		return;
	}
	track_record(f->track, role, &m->upid, t, rec, f->now_ns);
	if (rnd(50) == 0) /* a repeated record */
		track_record(f->track, role, &m->upid, t, rec, f->now_ns);
}

static void step(struct fixture *f, struct model *m, unsigned loss, uint64_t t)
{
	switch (rnd(5)) {
	case 0: {
		struct skep_process_exec rec = { .parent = m->parent, .comm = str("c"), .exe = str("/bin/tool") };
		static const char *const environs[] = { "SKEP_TASK=a", "SKEP_TASK=b", "SKEP_TASK=", "TERM=x" };
		char exe[32];

		work(m);
		snprintf(exe, sizeof(exe), "/bin/tool%u", (unsigned)rnd(7));
		rec.exe = rec.filename = str(exe);
		if (rnd(2) == 0)
			rec.environ = str(environs[rnd(4)]);
		rec.counters = m->now;
		rec.maxrss_bytes = rnd(1u << 20);
		m->execs++;
		deliver(f, m, SKEP_ROLE_PROC_EXEC, loss, t, &rec);
		break;
	}
	case 1: {
		struct skep_process_live rec = {
			.parent = m->parent, .comm = str("c"), .rss_bytes = rnd(1u << 20), .threads = 2
		};

		work(m);
		rec.counters = m->now;
		deliver(f, m, SKEP_ROLE_PROC_LIVE, loss, t, &rec);
		break;
	}
	case 2: {
		struct fixture_facet rec = { .widgets = rnd(10), .heat = 1 };

		m->facets += rec.widgets;
		deliver(f, m, SKEP_ROLE_NONE, 0, t, &rec);
		break;
	}
	default:
		work(m);
	}
}

static void finish(struct fixture *f, struct model *m, unsigned loss, uint64_t t)
{
	struct skep_process_exit exit = { .status = 0 };
	struct skep_process_final final = { .status = 1 << 8, .maxrss_bytes = 4096 };

	work(m);
	if (!m->exited) {
		m->exited = 1;
		m->exit_t = t;
		deliver(f, m, SKEP_ROLE_PROC_EXIT, loss, t, &exit);
		return;
	}
	final.counters = m->now;
	m->over = 1;
	deliver(f, m, SKEP_ROLE_PROC_FINAL, 0, t, &final);
}

/* The samples of a live process and its last interval add up to the image's record. */
static void image_adds_up(const struct fixture *f, const struct seen_process *p, uint64_t *sampled_images)
{
	const struct seen_part *part = fixture_part(f, &p->r.upid, p->r.image);

	if (!part)
		return;
	(*sampled_images)++;
	assert_true(part->last <= 1);
	assert_int_equal(part->sum.cpu_ns, p->r.cpu_ns);
	assert_int_equal(part->sum.run_delay_ns, p->r.run_delay_ns);
	assert_int_equal(part->sum.run_count, p->r.run_count);
	assert_int_equal(part->sum.voluntary_switches, p->r.voluntary_switches);
	assert_int_equal(part->sum.involuntary_switches, p->r.involuntary_switches);
	assert_int_equal(part->sum.minor_faults, p->r.minor_faults);
	assert_int_equal(part->sum.major_faults, p->r.major_faults);
	assert_int_equal(part->sum.rchar_bytes, p->r.rchar_bytes);
	assert_int_equal(part->sum.wchar_bytes, p->r.wchar_bytes);
	assert_int_equal(part->sum.read_calls, p->r.read_calls);
	assert_int_equal(part->sum.write_calls, p->r.write_calls);
	assert_int_equal(part->sum.read_bytes, p->r.read_bytes);
	assert_int_equal(part->sum.write_bytes, p->r.write_bytes);
	assert_int_equal(part->sum.cancelled_write_bytes, p->r.cancelled_write_bytes);
	assert_int_equal(part->widgets, p->widgets);
}

/*
 * One skepd ends and another begins: delivered records stay, saved state has the facts about live processes, and the
 * first scan reports every live process.
 */
static void restart(struct fixture *f, uint64_t t)
{
	struct fixture kept;
	char *saved;
	size_t size;

	track_drained(f->track, UINT64_MAX, t);
	fixture_sample(f);
	track_samples_out(f->track, 500, t);
	fixture_settle(f);
	saved = fixture_save(f->track, &size);
	kept = *f;
	f->processes = NULL;
	f->samples = NULL;
	f->parts = NULL;
	fixture_close(f);
	fixture_open(f, false, t);
	f->processes = kept.processes;
	f->n_processes = kept.n_processes;
	f->room = kept.room;
	f->samples = kept.samples;
	f->n_samples = kept.n_samples;
	f->samples_room = kept.samples_room;
	f->parts = kept.parts;
	f->n_parts = kept.n_parts;
	f->parts_room = kept.parts_room;
	memcpy(f->parts_by_hash, kept.parts_by_hash, sizeof(f->parts_by_hash));
	fixture_load(f->track, saved, size);
	assert_non_null(f->track->saved);
	track_sweep_begin(f->track, t, t);
	for (size_t i = 0; i < n_models; i++) {
		const struct model *m = &models[i];
		struct skep_process_live rec = {
			.parent = m->parent, .counters = m->now, .comm = str("c"), .exe = str("/bin/x"), .threads = 1
		};

		if (m->over)
			continue;
		rec.flags = m->exited ? SKEP_LIVE_ZOMBIE : 0;
		track_record(f->track, SKEP_ROLE_PROC_LIVE, &m->upid, t, &rec, t);
	}
	track_sweep_end(f->track, true, t);
	assert_int_equal(saved_left(f->track), 0);
	saved_settle(f->track, t);
	assert_null(f->track->saved);
}

/* The lists of members of runs and tasks agree with the processes' pointers. */
static void lists_hold(const struct fixture *f)
{
	uint64_t in_runs = 0, in_tasks = 0, listed = 0;

	for (const struct proc *p = proctab_first(f->track->table); p; p = p->next) {
		in_runs += p->run != NULL;
		in_tasks += p->task != NULL;
	}
	for (const struct run *run = f->track->runs.first; run; run = run->next) {
		uint64_t n = 0;

		for (const struct proc *p = run->procs; p; p = p->run_next, n++)
			assert_ptr_equal(p->run, run);
		assert_int_equal(n, run->members);
		listed += n;
	}
	assert_int_equal(listed, in_runs);
	listed = 0;
	for (const struct task *task = f->track->tasks.first; task; task = task->next) {
		uint64_t n = 0;

		for (const struct proc *p = task->procs; p; p = p->task_next, n++)
			assert_ptr_equal(p->task, task);
		assert_int_equal(n, task->members);
		listed += n;
	}
	assert_int_equal(listed, in_tasks);
}

static void one_round(uint64_t seed, bool runs_only, unsigned loss, bool drain, unsigned restarts)
{
	struct fixture f;
	const char *argv[] = { "x", NULL };
	struct run_spec spec = { .id = "r", .argv = argv, .cwd = "/", .root = 1000 };
	struct run *run = NULL;
	uint64_t sampled_images = 0;
	uint64_t t = T0 + 1, cpu = 0, sampled = 0, delay = 0, delay_sampled = 0;
	size_t alive;
	bool restarted = false;

	random_state = seed;
	fixture_open(&f, runs_only, T0);
	if (drain)
		track_drained(f.track, T0, T0);
	if (runs_only) {
		assert_int_equal(run_new(&f.track->runs, &spec, T0, &run), 0);
		assert_int_equal(track_run_root(f.track, run, T0), 0);
	}
	memset(models, 0, sizeof(models));
	models[0].upid = (struct skep_upid){ .pid = 1000, .start_ns = T0 - 5 * (uint64_t)runs_only + 1 };
	n_models = 1;
	alive = 1;
	while (alive > 0) {
		struct model *m = &models[rnd(n_models)];

		t += rnd(1000);
		f.now_ns = t;
		if (m->over)
			m = &models[n_models - 1 - rnd(n_models < 20 ? n_models : 20)];
		if (m->over)
			for (m = models; m->over; m++)
				;
		if (!m->exited && n_models < N_PROCESSES && rnd(3) == 0) {
			struct model *child = &models[n_models++];
			struct skep_process_fork rec = { .parent = m->upid, .comm = str("f") };

			/* pids repeat */
			child->upid = (struct skep_upid){ .pid = 2000 + (uint32_t)rnd(200), .start_ns = t };
			child->parent = m->upid;
			t++;
			f.now_ns = t;
			alive++;
			deliver(&f, child, SKEP_ROLE_PROC_FORK, loss, child->upid.start_ns, &rec);
		} else if (m->exited || (rnd(8) == 0 && (m != models || n_models == N_PROCESSES))) {
			finish(&f, m, loss, t);
			alive -= m->over;
		} else {
			step(&f, m, loss, t);
		}
		if (rnd(40) == 0) {
			fixture_sample(&f);
			lists_hold(&f);
		}
		if (restarts > 0 && rnd(400) == 0) {
			restarts--;
			restarted = true;
			restart(&f, t);
			if (drain)
				track_drained(f.track, t, t);
		}
		if (rnd(20) == 0) {
			track_samples_out(f.track, rnd(3) * 500, t);
			fixture_settle(&f);
		}
		if (rnd(30) == 0) {
			track_sweep_begin(f.track, t, t);
			/* a complete scan would call a process lost whose records the test dropped */
			track_sweep_end(f.track, false, t);
			track_tick(f.track, t);
		}
		if (drain && rnd(10) == 0)
			track_drained(f.track, t - rnd(2000), t);
	}
	if (drain)
		track_drained(f.track, t, t);
	fixture_sample(&f);

	/* A facet can arrive after all other records of its process: then the table has no entry left. */
	assert_int_equal(proctab_count(f.track->table), 0);
	for (size_t i = 0; i < n_models; i++) {
		const struct model *m = &models[i];
		struct skep_counters sum = { 0 };
		uint64_t halves = 0, widgets = 0, images = 0, last_image = 0;
		unsigned last = 0;

		for (size_t k = 0; k < f.n_processes; k++) {
			const struct seen_process *p = &f.processes[k];

			if (p->r.upid.pid != m->upid.pid || p->r.upid.start_ns != m->upid.start_ns)
				continue;
			assert_int_equal(p->r.image, images); /* in order, with no gap */
			images++;
			image_adds_up(&f, p, &sampled_images);
			last += p->r.last;
			last_image = p->r.image;
			sum.cpu_ns += p->r.cpu_ns;
			sum.run_delay_ns += p->r.run_delay_ns;
			sum.run_count += p->r.run_count;
			sum.voluntary_switches += p->r.voluntary_switches;
			sum.involuntary_switches += p->r.involuntary_switches;
			sum.minor_faults += p->r.minor_faults;
			sum.major_faults += p->r.major_faults;
			sum.rchar_bytes += p->r.rchar_bytes;
			sum.wchar_bytes += p->r.wchar_bytes;
			sum.read_calls += p->r.read_calls;
			sum.write_calls += p->r.write_calls;
			sum.read_bytes += p->r.read_bytes;
			sum.write_bytes += p->r.write_bytes;
			sum.cancelled_write_bytes += p->r.cancelled_write_bytes;
			assert_int_equal(p->r.user_ns + p->r.system_ns, p->r.cpu_ns);
			halves += p->r.user_ns + p->r.system_ns;
			widgets += p->widgets;
			assert_true(p->r.end_ns >= p->r.start_ns);
			assert_string_equal(p->run, runs_only ? "r" : "");
		}
		assert_int_equal(last, 1);
		assert_true(last_image <= m->execs * 2); /* repeated execs count as images; no others are invented */
		sum.utime_ns = m->now.utime_ns;
		sum.stime_ns = m->now.stime_ns;
		if (memcmp(&sum, &m->now, sizeof(sum)) != 0)
			print_error("seed %" PRIu64 ": process %zu of %zu does not add up\n", seed, i, n_models);
		assert_memory_equal(&sum, &m->now, sizeof(sum));
		assert_int_equal(halves, m->now.cpu_ns);
		if (widgets != m->facets)
			print_error("seed %" PRIu64 ": process %zu: widgets; execs %u images %" PRIu64 "\n", seed, i,
				    m->execs, images);
		assert_int_equal(widgets, m->facets);
		cpu += sum.cpu_ns;
		delay += sum.run_delay_ns;
	}
	for (size_t i = 0; i < f.n_samples; i++) {
		sampled += f.samples[i].r.cpu_ns;
		delay_sampled += f.samples[i].r.run_delay_ns;
	}
	if (loss < 50) /* otherwise the rounds show nothing about them */
		assert_true(sampled_images > 20);
	if (!restarted || loss == 0) { /* records lost before a restart are not put into an interval after it */
		assert_int_equal(sampled, cpu);
		assert_int_equal(delay_sampled, delay);
	}
	assert_int_equal(f.track->stats.no_memory, 0);
	if (run) {
		assert_int_equal(run->members, 0);
		assert_int_equal(run->alive, 0);
		assert_int_equal(run->rss_bytes, 0);
		assert_int_equal(run->seen, n_models);
	}
	fixture_close(&f);
}

static void nothing_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS / 4; seed++)
		one_round(seed, seed % 2, 0, seed % 3 == 0, 0);
}

static void much_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		one_round(seed * 7919, seed % 2, (unsigned)(seed % 4) * 25, seed % 3 == 0, 0);
}

static void all_but_finals_lost(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 8; seed++)
		one_round(seed * 104729, true, 100, false, 0);
}

static void across_restarts(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS / 3; seed++)
		one_round(seed * 6151, false, (unsigned)(seed % 3) * 20, seed % 2, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_lost),
		cmocka_unit_test(much_lost),
		cmocka_unit_test(all_but_finals_lost),
		cmocka_unit_test(across_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
