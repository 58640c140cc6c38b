/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_details.c - behind the plugin interface: details that are attached and end,
 * signals, posts to the ledger, records about cgroups.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/collect/collector_priv.h"
#include "core/base/log.h"
#include "tests/abi/collector_fixture.h"

static struct {
	unsigned records, over;
	uint64_t id, n;
	bool last;
	char why[128];
} got;

static void on_record(void *arg, uint64_t id, const struct skep_record *r)
{
	const uint64_t *rec = r->data; /* id, n, value, last */

	(void)arg;
	assert_string_equal(r->stream->name, "detail.width");
	assert_int_equal(rec[0], id);
	assert_int_equal(rec[1], got.records + 1);
	got.records++;
	got.id = id;
	got.n = rec[1];
	got.last = rec[3];
	assert_int_equal(got.over, 0);
}

static void on_over(void *arg, uint64_t id, const char *why)
{
	(void)arg;
	got.over++;
	got.id = id;
	snprintf(got.why, sizeof(got.why), "%s", why);
}

static struct detail_spec spec(const char *detail)
{
	return (struct detail_spec){ .detail = detail, .on_record = on_record, .on_over = on_over };
}

static void begin_with(const char *options)
{
	char *probe;

	memset(&got, 0, sizeof(got));
	assert_true(asprintf(&probe, "{ \"plugin\": \"detail\"%s }, %s", options, PROBE) > 0);
	script("0 live pid=100 start=0 parent=1 exe=/bin/sh cpu_ns=1ms cgroup_id=55\n0 sweep_begin\n0 sweep_end complete=1\n");
	assert_int_equal(make(false, probe, SINK), 0);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	free(probe);
	log_level(SKEP_LOG_ERROR);
}

static void refused(const struct detail_spec *s, int err, const char *words)
{
	uint64_t id = 99;
	char *why = NULL;

	assert_int_equal(collector_attach(t.collector, s, &id, &why), err);
	assert_int_equal(id, 99);
	assert_non_null(why);
	if (!strstr(why, words))
		fail_msg("\"%s\" lacks \"%s\"", why, words);
	free(why);
}

static uint64_t attach(const struct detail_spec *s)
{
	uint64_t id = 0;
	char *why = NULL;
	int err = collector_attach(t.collector, s, &id, &why);

	if (err < 0)
		fail_msg("%s", why);
	assert_true(id > 0);
	return id;
}

static void what_is_refused(void **state)
{
	struct detail_spec s = spec("depth");

	(void)state;
	begin_with("");
	refused(&s, -ENOENT, "no probe has a detail \"depth\"; there are width, refuses");
	s.detail = "fake:width";
	refused(&s, -ENOENT, "no probe has a detail \"fake:width\"");
	s.detail = "opens";
	refused(&s, -ENOENT, "detail opens: plugin files is not loaded; add { \"plugin\": \"files\" } to probes");
	s.detail = "refuses";
	refused(&s, -ENOTSUP, "not on this machine");
	s.detail = "width";
	s.scope = SKEP_SCOPE_PID;
	s.pid = 1;
	refused(&s, -ENOTSUP, "width cannot be limited to a process");
	s.scope = SKEP_SCOPE_GROUP;
	s.run = "nobody";
	refused(&s, -ENOENT, "no live run \"nobody\"");
	s.scope = SKEP_SCOPE_CGROUP;
	s.cgroup = "/there/is/none";
	refused(&s, -ENOENT, "no cgroup \"/there/is/none\"");
	s.cgroup = "12x";
	refused(&s, -ENOENT, "no cgroup \"12x\"");
	assert_int_equal(collector_detach(t.collector, 1), -ENOENT);
	run_for(150);
	assert_int_equal(got.records, 0);
	assert_int_equal(got.over, 0);
}

static void records_and_their_end(void **state)
{
	struct detail_spec s = spec("detail:width"), second = spec("width");
	uint64_t id;
	json_t *all, *r;

	(void)state;
	second.on_record = NULL;
	second.on_over = NULL;
	begin_with("");
	id = attach(&s);
	attach(&second);
	refused(&s, -EBUSY, "only 2 at a time");
	run_for(350);
	assert_true(got.records >= 2);
	assert_false(got.last);
	assert_int_equal(collector_detach(t.collector, id), 0);
	assert_true(got.last); /* the last record, before the detail ends */
	assert_int_equal(got.over, 1);
	assert_string_equal(got.why, "detached");
	assert_int_equal(collector_detach(t.collector, id), -ENOENT);
	stop(0); /* ends the other detail before its probe stops */
	all = written("out");
	r = record(all, "detail.width", 0);
	assert_non_null(r);
	assert_int_equal(number(r, "detail.id"), id);
	assert_true(count(all, "detail.width") > got.records);
	json_decref(all);
}

static void its_time_is_over(void **state)
{
	struct detail_spec s = spec("width");

	(void)state;
	begin_with("");
	s.for_ns = 300000000;
	attach(&s);
	run_for(200);
	assert_int_equal(got.over, 0);
	run_for(500);
	assert_int_equal(got.over, 1);
	assert_true(got.last);
	assert_string_equal(got.why, "its time is over");
}

static void it_gives_up(void **state)
{
	struct detail_spec s = spec("width");

	(void)state;
	begin_with(", \"give_up\": 2");
	attach(&s);
	run_for(800);
	assert_int_equal(got.over, 1);
	assert_string_equal(got.why, "wide enough");
	assert_true(got.last);
}

static void of_a_run(void **state)
{
	struct detail_spec s = spec("width");
	uint64_t id = 0;
	char *why = NULL;
	json_t *all, *r;
	int err;

	(void)state;
	begin_with("");
	begin("r1", 100);
	s.scope = SKEP_SCOPE_GROUP;
	s.run = "a name";
	err = collector_attach(t.collector, &s, &id, &why);
	if (err == -ENOTSUP && geteuid() != 0) {
		free(why);
		print_message("not root: no verdict map\n");
		skip();
	}
	assert_int_equal(err, 0);
	run_for(150);
	end("r1", 0);
	assert_int_equal(got.over, 1);
	assert_string_equal(got.why, "its run has ended");
	stop(0);
	all = written("out");
	for (size_t i = 0; i < json_array_size(all); i++) {
		r = json_array_get(all, i);
		if (strcmp(json_string_value(json_object_get(r, "stream")), "detail.width") != 0)
			continue;
		assert_string_equal(string(json_object_get(r, "context"), "run"), "r1");
		assert_int_equal(number(json_object_get(r, "fields"), "value"), 1); /* the first group */
	}
	json_decref(all);
}

/* Reports a whole process. True: its record waits for a probe. */
static bool ended_waits(uint32_t pid, uint64_t end_ns)
{
	struct skep_upid upid = { .pid = pid, .start_ns = end_ns - 1 };
	struct track *track = t.collector->track;
	struct skep_process_final final = { 0 };
	struct skep_process_fork fork = { 0 };
	struct skep_process_exit exit = { 0 };

	track_record(track, SKEP_ROLE_PROC_FORK, &upid, end_ns - 1, &fork, end_ns);
	track_record(track, SKEP_ROLE_PROC_EXIT, &upid, end_ns, &exit, end_ns);
	track_record(track, SKEP_ROLE_PROC_FINAL, &upid, end_ns, &final, end_ns);
	return proctab_latest(track_table(track), pid) != NULL;
}

static void drained(const char *probe, uint64_t time_ns)
{
	for (struct skep_instance *inst = t.collector->instances; inst; inst = inst->next)
		if (strcmp(inst->name, probe) == 0)
			inst->host.drained(inst, time_ns);
}

/* The record waits until the probe of an attached detail has drained: records of the detail still find the process. */
static void the_ended_wait_for_its_probe(void **state)
{
	struct detail_spec s = spec("width");
	uint64_t now;

	(void)state;
	begin_with("");
	now = clock_boot_ns();
	drained("fake", UINT64_MAX - 1); /* fake has facets: the record would wait for it, too */
	attach(&s);
	collector_facets_drained(t.collector); /* as each tick does */
	assert_false(ended_waits(300, now)); /* no wait for a probe that never calls drained() */
	drained("detail", now);
	assert_true(ended_waits(301, now + 1));
	drained("detail", now + 1);
	assert_null(proctab_latest(track_table(t.collector->track), 301));
}

/*
 * All events in random order: sessions, their processes, runs by name, details of them, samples, ticks, reloads. The
 * test plays the kernel: a child inherits its parent's byte of the verdict map before any record reports the child.
 */
#define PID_FIRST 1000u
#define N_PIDS 2000u
#define STEPS 1500u
#define ATTACHED_MOST 16u

static struct {
	uint64_t state;
	struct process {
		uint64_t start_ns; /* 0: no process */
		struct skep_upid parent;
		uint32_t session;
	} processes[N_PIDS];
	uint32_t n, first_untold, n_named;
	uint64_t attached[ATTACHED_MOST]; /* ids; 0: free */
	unsigned attachments, reloads, over, endings;
	struct config *next; /* of the reload under way */
} dice;

static uint64_t rnd(uint64_t below)
{
	dice.state = dice.state * 6364136223846793005u + 1442695040888963407u;
	return (dice.state >> 33) % below;
}

static void record_of(uint32_t i, enum skep_role role, const void *rec)
{
	struct skep_upid upid = { .pid = PID_FIRST + i, .start_ns = dice.processes[i].start_ns };

	track_record(t.collector->track, role, &upid, clock_boot_ns(), rec, clock_boot_ns());
}

/* Fork records leave the ring late and in order. */
static void tell_forks(void)
{
	for (; dice.first_untold < dice.n; dice.first_untold++) {
		struct process *p = &dice.processes[dice.first_untold];
		struct skep_process_fork fork = { .parent = p->parent, .session = p->session };

		record_of(dice.first_untold, SKEP_ROLE_PROC_FORK, &fork);
	}
}

static void fork_of(uint32_t parent, bool leads)
{
	uint8_t *bytes = t.collector->verdict.bytes;
	uint32_t pid = PID_FIRST + dice.n;

	if (dice.n == N_PIDS)
		return;
	dice.processes[dice.n++] = (struct process) {
		.start_ns = clock_boot_ns(),
		.parent = parent >= PID_FIRST
				  ? (struct skep_upid) { .pid = parent,
							 .start_ns = dice.processes[parent - PID_FIRST].start_ns }
				  : proctab_holder(track_table(t.collector->track), parent)->upid,
		.session = leads ? pid : 100,
	};
	bytes[pid] = bytes[parent];
}

static uint32_t any_process(void)
{
	for (int tries = 0; dice.n > 0 && tries < 20; tries++) {
		uint32_t i = dice.n - 1 - (uint32_t)rnd(dice.n < 60 ? dice.n : 60);

		if (dice.processes[i].start_ns)
			return PID_FIRST + i;
	}
	return 100;
}

static void exit_of(uint32_t pid)
{
	struct skep_process_exit end = { 0 };
	struct skep_process_final final = { 0 };

	if (pid < PID_FIRST)
		return;
	tell_forks();
	record_of(pid - PID_FIRST, SKEP_ROLE_PROC_EXIT, &end);
	record_of(pid - PID_FIRST, SKEP_ROLE_PROC_FINAL, &final);
	dice.processes[pid - PID_FIRST].start_ns = 0;
}

static struct run *any_run(void)
{
	struct runs *runs = track_runs(t.collector->track);
	struct run *run = runs->first;

	for (size_t n = runs->n ? rnd(runs->n) : 0; n > 0; n--)
		run = run->next;
	return run;
}

static void on_ended(void *arg)
{
	(void)arg;
	dice.endings--;
}

static void end_by_name(const struct run *run)
{
	dice.endings++;
	collector_run_end(t.collector, run->id, 0, NULL, NULL, on_ended, NULL);
}

static void begin_or_end_by_name(void)
{
	char id[32];
	struct run_spec one = { .id = id, .name = "by name" };
	const struct run *run = rnd(2) ? any_run() : NULL;

	if (run) { /* also a run that a session began, and one that has ended */
		end_by_name(run);
		return;
	}
	fork_of(100, false);
	tell_forks();
	snprintf(id, sizeof(id), "named%u", dice.n_named++);
	one.root = (pid_t)(PID_FIRST + dice.n - 1);
	assert_true(dice.n == N_PIDS || collector_run_begin(t.collector, &one) == 0);
}

static void on_any_over(void *arg, uint64_t id, const char *why)
{
	uint64_t *slot = arg;

	(void)why;
	assert_true(*slot == 0 || *slot == id);
	*slot = 0;
	dice.over++;
	/* A client closes its connection: its other details end from inside this one's end. */
	if (rnd(4) == 0)
		collector_detach(t.collector, dice.attached[rnd(ATTACHED_MOST)]);
}

static void attach_any(void)
{
	static const char *const names[] = { "detail:width", "other:width" };
	const struct run *run = any_run();
	struct detail_spec s = {
		.detail = names[rnd(2)], .scope = SKEP_SCOPE_GROUP, .run = run ? run->id : "", .on_over = on_any_over
	};
	uint64_t *slot = &dice.attached[rnd(ATTACHED_MOST)], id = 0;
	char *why = NULL;

	if (*slot)
		return;
	if (rnd(4) == 0)
		s.scope = SKEP_SCOPE_HOST;
	if (rnd(4) == 0)
		s.for_ns = 1;
	s.arg = slot;
	if (collector_attach(t.collector, &s, &id, &why) == 0) {
		*slot = id;
		dice.attachments++;
	}
	free(why);
}

static void on_reloaded(void *arg, int err, struct diag *diag, struct reload_report *report)
{
	(void)arg;
	(void)diag;
	(void)report;
	if (err == 0) {
		config_free(t.config);
		t.config = dice.next;
		dice.reloads++;
	} else {
		config_free(dice.next);
	}
	dice.next = NULL;
}

static void reload_any(void)
{
	static const char *const probes[] = {
		"{ \"plugin\": \"detail\" }, { \"plugin\": \"detail\", \"name\": \"other\" }, " PROBE,
		"{ \"plugin\": \"detail\", \"give_up\": 2 }, { \"plugin\": \"detail\", \"name\": \"other\" }, " PROBE,
		"{ \"plugin\": \"detail\" }, " PROBE,
	};

	if (dice.next)
		return;
	dice.next = parse(probes[rnd(3)], SINK);
	assert_int_equal(collector_reload(t.collector, dice.next, false, on_reloaded, NULL), 0);
}

static void step(void)
{
	struct collector *c = t.collector;

	switch (rnd(12)) {
	case 0:
		fork_of(100, true);
		break;
	case 1:
	case 2:
		fork_of(any_process(), false);
		break;
	case 3:
	case 4:
		exit_of(any_process());
		break;
	case 5:
		begin_or_end_by_name();
		break;
	case 6:
	case 7:
		attach_any();
		break;
	case 8:
		collector_detach(c, dice.attached[rnd(ATTACHED_MOST)]);
		break;
	case 9:
		collector_sample_out(c);
		break;
	case 10:
		collector_details_tick(c, clock_boot_ns());
		break;
	default:
		if (rnd(8) == 0)
			reload_any();
		uv_run(&t.loop, UV_RUN_NOWAIT);
	}
	if (rnd(4) == 0)
		tell_forks();
}

/* Only runs with an attached detail have a group, and only their processes have its byte. */
static void groups_are_in_use(void)
{
	const struct collector *c = t.collector;
	uint64_t of_runs = 0;

	for (const struct run *run = track_runs(c->track)->first; run; run = run->next) {
		assert_int_equal(run->group != 0, run->group_users > 0);
		assert_false(run->group && of_runs & 1ull << run->group);
		of_runs |= run->group ? 1ull << run->group : 0;
	}
	assert_int_equal(of_runs, c->groups);
	for (uint32_t pid = 0; pid < c->verdict.pids; pid += pid < PID_FIRST + N_PIDS ? 1 : 997)
		if (c->verdict.bytes[pid] < SKEP_VERDICT_EXCLUDED && c->verdict.bytes[pid] & SKEP_VERDICT_GROUPS)
			assert_true(c->groups & 1ull << (c->verdict.bytes[pid] & SKEP_VERDICT_GROUPS));
}

static void any_order(void **state)
{
	unsigned attachments = 0, reloads = 0;

	(void)state;
	begin_with("");
	if (!t.collector->verdict.bytes) {
		print_message("not root: no verdict map\n");
		skip();
	}
	log_level(SKEP_LOG_ERROR);
	run_for(150);
	for (uint64_t seed = 1; seed <= 4; seed++) {
		memset(&dice, 0, sizeof(dice));
		dice.state = seed * 7919;
		for (unsigned i = 0; i < STEPS; i++) {
			step();
			groups_are_in_use();
		}
		for (uint32_t i = 0; i < dice.n; i++)
			if (dice.processes[i].start_ns)
				exit_of(PID_FIRST + i);
		for (const struct run *run = track_runs(t.collector->track)->first; run; run = run->next)
			end_by_name(run);
		attachments += dice.attachments;
		reloads += dice.reloads;
		while (dice.next || dice.endings > 0)
			run_for(20);
		collector_details_tick(t.collector, clock_boot_ns());
		for (unsigned i = 0; i < ATTACHED_MOST; i++)
			collector_detach(t.collector, dice.attached[i]);
		collector_sample_out(t.collector);
		groups_are_in_use();
		assert_int_equal(t.collector->groups, 0);
		assert_null(t.collector->attachments);
		/* every reference is gone, so all runs were freed */
		assert_null(track_runs(t.collector->track)->first);
		assert_int_equal(dice.over, dice.attachments);
	}
	assert_true(attachments > 100 && reloads > 10);
}

static void signals_are_kept(void **state)
{
	const struct skep_instance *inst;

	(void)state;
	begin_with("");
	for (inst = collector_instances(t.collector); strcmp(inst->name, "detail") != 0; inst = inst->next)
		assert_non_null(inst->next);
	assert_string_equal(inst->signals->name, "width");
	assert_int_equal(inst->signals->state, SKEP_SIGNAL_OK);
	assert_string_equal(inst->signals->how, "ruler");
	assert_string_equal(inst->signals->why, "");
	assert_string_equal(inst->signals->next->name, "depth");
	assert_string_equal(inst->signals->next->why, "no such thing");
	assert_null(inst->signals->next->next);
}

static void the_books(void **state)
{
	long long whole = 0, half = 0, within = 0, left = 0, n = 0;
	json_t *all, *r;

	(void)state;
	begin_with("");
	run_for(150);
	begin("r1", 100);
	run_for(350);
	end("r1", 0);
	stop(0);
	all = written("out");
	for (size_t i = 0; (r = record(all, "ledger", i)); i++) {
		const char *item = string(r, "item"), *kind = string(r, "kind");

		if (strcmp(string(r, "account"), "test") != 0)
			continue;
		assert_true(number(r, "interval_ns") > 0);
		if (strcmp(string(r, "run"), "r1") == 0)
			n++;
		if (strcmp(item, "whole") == 0) {
			assert_string_equal(kind, "reference");
			whole += number(r, "amount");
		} else if (strcmp(item, "half") == 0) {
			assert_string_equal(kind, "part");
			half += number(r, "amount");
		} else if (strcmp(item, "within") == 0) {
			assert_string_equal(kind, "memo");
			within += number(r, "amount");
		} else {
			assert_string_equal(kind, "unattributed");
			left += number(r, "amount");
		}
	}
	assert_true(whole > 0);
	assert_int_equal(whole, 2 * half);
	assert_int_equal(left, half);
	assert_int_equal(within * 10, whole * 3);
	assert_int_equal(n, 4); /* a run's ledger: one line each */
	r = record(all, "detail.group", 0);
	assert_int_equal(number(r, "cgroup.id"), 77);
	json_decref(all);
}

static void live_cgroups(void **state)
{
	json_t *all, *r = NULL;

	(void)state;
	begin_with("");
	run_for(350);
	stop(0);
	all = written("out");
	for (size_t i = 0; record(all, "detail.group", i); i++)
		r = record(all, "detail.group", i);
	assert_non_null(r);
	assert_int_equal(number(r, "members"), 55); /* the sum of ids: one process in that cgroup */
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(records_and_their_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(its_time_is_over, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_gives_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_a_run, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_ended_wait_for_its_probe, set_up, tear_down),
		cmocka_unit_test_setup_teardown(any_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(signals_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_books, set_up, tear_down),
		cmocka_unit_test_setup_teardown(live_cgroups, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
