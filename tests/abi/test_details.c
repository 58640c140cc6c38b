/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_details.c - what ABI 1.1 adds, behind the plugin border: details that are
 * attached and end, signals, posts to the ledger, records about cgroups.
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

#include "core/ledger.h"
#include "core/log.h"
#include "core/plugin.h"
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
	assert_true(got.last); /* the last part, before it is over */
	assert_int_equal(got.over, 1);
	assert_string_equal(got.why, "detached");
	assert_int_equal(collector_detach(t.collector, id), -ENOENT);
	stop(0); /* ends the other one before its probe stops */
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
		assert_int_equal(number(json_object_get(r, "fields"), "value"), 1); /* the first group there is */
	}
	json_decref(all);
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
	assert_int_equal(n, 4); /* a run's books: one line each */
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
	assert_int_equal(number(r, "members"), 55); /* the sum of ids: one process, in that cgroup */
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
		cmocka_unit_test_setup_teardown(signals_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_books, set_up, tear_down),
		cmocka_unit_test_setup_teardown(live_cgroups, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
