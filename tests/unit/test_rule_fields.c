/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rule_fields, core/users: the fields of rules and their values for a process.
 */
#include <errno.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/rules/rule_fields.h"
#include "core/identify/users.h"

static struct users *users;

static const struct rule_subject *parent_of(const struct rule_subject *s)
{
	return s->owner;
}

static bool is(const char *text, const struct rule_subject *s)
{
	struct filter_error error;
	struct filter_expr *e = filter_expr_new(text, strlen(text), &rule_fields_schema, &error);
	bool result;

	if (!e)
		fail_msg("%s: %s", text, error.what);
	result = filter_expr_match(e, rule_field_get, s);
	filter_expr_free(e);
	return result;
}

/*
 * Every field has a name of its own and a help line. It is unknown before the test sets it and has that value
 * afterwards.
 */
static void every_field(void **state)
{
	struct rule_subject s, above;

	(void)state;
	assert_int_equal(rule_fields_schema.n, RULE_FIELDS);
	for (uint32_t f = 0; f < RULE_FIELDS; f++) {
		const struct filter_field *field = &rule_fields_schema.fields[f];
		union filter_value v;
		char text[64];

		assert_non_null(field->name);
		assert_non_null(field->help);
		for (uint32_t g = 0; g < f; g++)
			assert_string_not_equal(field->name, rule_fields_schema.fields[g].name);
		memset(&s, 0, sizeof(s));
		memset(&above, 0, sizeof(above));
		assert_int_equal(rule_field_get(&s, 0, f, &v), FILTER_UNKNOWN);
		assert_int_equal(rule_field_get(&s, 1, f, &v), FILTER_NOBODY);
		s.users = above.users = users;
		s.parent = parent_of;
		s.owner = &above;
		assert_int_equal(rule_field_get(&s, 0, f, &v), FILTER_UNKNOWN);
		assert_int_equal(rule_field_get(&s, 1, f, &v), FILTER_UNKNOWN);
		assert_int_equal(rule_field_get(&s, 2, f, &v), FILTER_NOBODY);
		if (field->type == FILTER_BOOL) {
			rule_subject_set_wrapper(&above, true);
		} else if (field->type == FILTER_UINT) {
			rule_subject_set_number(&above, f, 4711 + f);
		} else if (f == RULE_FIELD_USER || f == RULE_FIELD_GROUP) {
			rule_subject_set_number(&above, f == RULE_FIELD_USER ? RULE_FIELD_UID : RULE_FIELD_GID, 0);
		} else {
			rule_subject_set_text(&above, f, "x\0", 2);
		}
		assert_int_equal(rule_field_get(&s, 1, f, &v), FILTER_KNOWN);
		assert_int_equal(rule_field_get(&s, 0, f, &v), FILTER_UNKNOWN);
		if (field->type == FILTER_UINT)
			snprintf(text, sizeof(text), "%s = %u", field->name, 4711 + f);
		else if (field->type == FILTER_BOOL)
			snprintf(text, sizeof(text), "%s", field->name);
		else if (f == RULE_FIELD_USER || f == RULE_FIELD_GROUP)
			snprintf(text, sizeof(text), "%s = 'root'", field->name);
		else
			snprintf(text, sizeof(text), "%s = '%s'", field->name,
				 field->type == FILTER_LIST ? "x" : "x\\x00");
		assert_true(is(text, &above));
	}
}

/* '' is a value; unknown is none. */
static void empty_and_unknown(void **state)
{
	struct rule_subject s = { 0 };

	(void)state;
	assert_false(is("container = ''", &s));
	assert_false(is("container != 'x'", &s));
	rule_subject_set_text(&s, RULE_FIELD_CONTAINER, "", 0);
	assert_true(is("container = ''", &s));
	assert_true(is("container != 'x'", &s));
	assert_false(is("user = 'root'", &s));
	rule_subject_set_number(&s, RULE_FIELD_UID, 0);
	assert_false(is("user != 'root'", &s)); /* without a directory of users */
}

static void ancestors(void **state)
{
	struct rule_subject init = { 0 }, cron = { .parent = parent_of, .owner = &init },
			    sh = { .parent = parent_of, .owner = &cron };

	(void)state;
	rule_subject_set_text(&init, RULE_FIELD_TOOL, "systemd", 7);
	rule_subject_set_text(&cron, RULE_FIELD_TOOL, "cron", 4);
	assert_true(is("parent.tool = 'cron'", &sh));
	assert_true(is("any parent.tool = 'systemd'", &sh));
	assert_false(is("parent.tool = 'systemd'", &sh));
	assert_false(is("any parent.tool = 'sh'", &sh));
}

static void names(void **state)
{
	const struct passwd *pw = getpwuid(65534);
	const char *again;

	(void)state;
	assert_string_equal(users_user(users, 0), "root");
	assert_string_equal(users_group(users, 0), "root");
	again = users_user(users, 0);
	assert_ptr_equal(users_user(users, 0), again);
	if (pw)
		assert_string_equal(users_user(users, 65534), pw->pw_name);
	assert_null(users_user(users, 3999999999u));
	assert_null(users_user(users, 3999999999u));
	/* more ids than the table holds */
	for (uint32_t id = 1000000; id < 1005000; id++)
		assert_null(users_user(users, id));
	assert_string_equal(users_user(users, 0), "root");
	users_forget(users);
	assert_string_equal(users_group(users, 0), "root");
}

static atomic_bool let;
static unsigned answered;

/* Stands in for a directory whose server is slow or gone. */
static int directory(uint32_t id, bool group, char **ret)
{
	while (!atomic_load(&let))
		usleep(1000);
	if (id == 3)
		return -EIO;
	return id == 2 ? 0 : asprintf(ret, "%s%u", group ? "g" : "u", id) < 0 ? -ENOMEM : 0;
}

static void on_changed(void *arg)
{
	(void)arg;
	answered++;
}

static void turn_until_answered(uv_loop_t *loop, unsigned n)
{
	for (int i = 0; i < 100000 && answered < n; i++) {
		uv_run(loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	assert_int_equal(answered, n);
}

static void assert_becomes(uv_loop_t *loop, struct users *u, uint32_t uid, const char *name)
{
	for (int i = 0; i < 100000 && !users_user(u, uid); i++) {
		uv_run(loop, UV_RUN_NOWAIT);
		usleep(1000);
	}
	while (uv_run(loop, UV_RUN_NOWAIT) != 0) /* an answer that the table waited for is still on its way */
		usleep(1000);
	assert_non_null(users_user(u, uid));
	assert_string_equal(users_user(u, uid), name);
}

static void names_that_take_their_time(void **state)
{
	struct users *u;
	uint64_t began;
	uv_loop_t loop;

	(void)state;
	assert_int_equal(uv_loop_init(&loop), 0);
	u = users_new(&loop, on_changed, NULL);
	assert_non_null(u);
	/* From a file: the answer comes at once, with the loop or without. */
	assert_becomes(&loop, u, 0, "root");
	answered = 0; /* once, where this machine was too busy for the wait */
	users_source = directory;
	began = uv_hrtime();
	for (uint32_t id = 1; id < 5000; id++)
		assert_null(users_user(u, id));
	assert_null(users_group(u, 1));
	assert_in_range(uv_hrtime() - began, 0, 20000000000); /* it waits for one; 5000 would take 50 s */
	for (int i = 0; i < 100000 && users_late_ns(u) == 0; i++)
		usleep(1000);
	assert_true(users_late_ns(u) > 0);
	assert_string_equal(users_user(u, 0), "root"); /* known names still work */
	atomic_store(&let, true);
	/* 64 look-ups ran, of which 2 has no name and 3 failed; the others found no room */
	turn_until_answered(&loop, 63);
	assert_string_equal(users_user(u, 1), "u1");
	assert_null(users_user(u, 2));
	assert_null(users_user(u, 3));
	assert_becomes(&loop, u, 400, "u400");
	/* A reload: the old name counts until the new one arrives. */
	atomic_store(&let, false);
	users_forget(u);
	assert_string_equal(users_user(u, 1), "u1");
	/* users_stop() waits for no look-up. */
	users_stop(u);
	assert_string_equal(users_user(u, 1), "u1");
	assert_null(users_user(u, 600));
	users_free(u);
	atomic_store(&let, true);
	while (uv_run(&loop, UV_RUN_NOWAIT) != 0)
		;
	assert_int_equal(uv_loop_close(&loop), 0);
}

static atomic_char generation = 'a'; /* a thread reads it */

static int local_file(uint32_t id, bool group, char **ret)
{
	(void)group;
	return asprintf(ret, "%c%u", generation, id) < 0 ? -ENOMEM : 0;
}

/* On a busy machine the caller may miss its wait, so the test tries several times. */
static bool names_without_a_turn_of_the_loop(void)
{
	const char *name;
	struct users *u;
	uv_loop_t loop;
	bool right;

	generation = 'a';
	assert_int_equal(uv_loop_init(&loop), 0);
	u = users_new(&loop, NULL, NULL);
	assert_non_null(u);
	right = users_user(u, 10) && users_user(u, 11) && users_group(u, 12);
	/* A reload before the loop has seen the answer: the second answer counts. */
	generation = 'b';
	users_forget(u);
	name = users_user(u, 10);
	right = right && name && strcmp(name, "b10") == 0;
	while (uv_run(&loop, UV_RUN_NOWAIT) != 0)
		usleep(1000);
	name = users_user(u, 10);
	right = right && name && strcmp(name, "b10") == 0;
	users_stop(u);
	users_free(u);
	while (uv_run(&loop, UV_RUN_NOWAIT) != 0)
		;
	assert_int_equal(uv_loop_close(&loop), 0);
	return right;
}

static void names_of_several_ids_at_once(void **state)
{
	bool right = false;

	(void)state;
	users_source = local_file;
	for (int i = 0; i < 10000 && !right; i++)
		right = names_without_a_turn_of_the_loop();
	assert_true(right);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field),
		cmocka_unit_test(empty_and_unknown),
		cmocka_unit_test(ancestors),
		cmocka_unit_test(names),
		cmocka_unit_test(names_that_take_their_time),
		cmocka_unit_test(names_of_several_ids_at_once),
	};
	int failed;

	users = users_new(NULL, NULL, NULL);
	if (!users)
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	users_free(users);
	return failed;
}
