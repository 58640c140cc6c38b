/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter_people, filter_recorded, filter_live: who there is, and what rules decide about each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/filter_people.h"

static struct people recorded(const char *text)
{
	char path[] = "/tmp/skep-test-people-XXXXXX";
	struct people people = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(people_recorded("filter", path, &people), 0);
	unlink(path);
	return people;
}

static struct ruleset *rules(const char *const *specs) /* id, when, "i" exclude and inherit or "" exclude; three by three */
{
	struct ruleset *set = ruleset_new(&judge_schema, RULE_INCLUDE);
	struct filter_error error;

	assert_non_null(set);
	for (; *specs; specs += 3) {
		const struct rule_spec spec = { .id = specs[0], .when = specs[1], .when_len = strlen(specs[1]), .verdict = RULE_EXCLUDE, .inherit = *specs[2] };

		if (ruleset_add(set, &spec, &error))
			fail_msg("%s", error.what);
	}
	return set;
}

#define LINE(pid, parent, tool, more) \
	"{\"stream\":\"process.exit\",\"upid\":\"0a0b0c0d-" #pid "-1f\",\"parent_upid\":" parent ",\"pid\":" #pid ",\"tool\":\"" tool "\"" more "}\n"

static void the_fields(void **state)
{
	struct people people = recorded(
		"{\"stream\":\"run\",\"run\":\"r\"}\n" LINE(7, "null", "bwa mem",
							     ",\"exe\":\"/usr/bin/bwa\",\"filename\":\"\",\"argv\":[\"bwa\",\"mem\",\"\"],\"uid\":33,\"gid\":0,"
							     "\"container\":\"\",\"run\":\"r\",\"wrapper\":true,\"image\":2,\"cgroup\":\"/a\"") "\n{\"stream\":");
	const struct person *p = people.at;
	union filter_value v;

	(void)state;
	assert_int_equal(people.n, 1);
	assert_int_equal(people.unreadable, 2); /* an empty line, and half a line */
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_TOOL, &v), FILTER_KNOWN);
	assert_string_equal(v.text.ptr, "bwa mem");
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_ARGV, &v), FILTER_KNOWN);
	assert_int_equal(v.text.len, 9);
	assert_memory_equal(v.text.ptr, "bwa\0mem\0", 9);
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_FILENAME, &v), FILTER_UNKNOWN);
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_CONTAINER, &v), FILTER_KNOWN); /* known: none */
	assert_int_equal(v.text.len, 0);
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_UID, &v), FILTER_KNOWN);
	assert_int_equal(v.u, 33);
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_SESSION, &v), FILTER_UNKNOWN);
	assert_int_equal(judge_get(&p->subject, 0, JUDGE_WRAPPER, &v), FILTER_KNOWN);
	assert_true(v.b);
	assert_int_equal(judge_get(&p->subject, 1, JUDGE_UID, &v), FILTER_NOBODY);
	assert_true(p->keyed);
	assert_int_equal(p->key, rule_key(7, 0x1f)); /* the start is hexadecimal */
	assert_int_equal(p->image, 2);
	people_free(&people);
}

/* Parents come behind their children; of several images the last one is the parent. */
static void descent(void **state)
{
	static const char *const specs[] = { "a", "tool = 'cron'", "i", "b", "any parent.tool = 'cron'", "", "c", "parent.tool = 'second'", "", NULL };
	struct people people = recorded(LINE(4, "\"0a0b0c0d-3-1f\"", "date", "") LINE(3, "\"0a0b0c0d-2-1f\"", "sh", "") LINE(2, "\"0a0b0c0d-1-1f\"", "cron", "")
						LINE(1, "null", "init", "") LINE(6, "\"0a0b0c0d-5-1f\"", "x", "")
							LINE(5, "null", "second", ",\"image\":1") LINE(5, "null", "first", ",\"image\":0"));
	struct ruleset *set = rules(specs);

	(void)state;
	assert_int_equal(people.n, 7);
	people_judge(&people, set);
	assert_string_equal(people.at[0].decision.rule->id, "a"); /* not b: it is not judged */
	assert_int_equal(people.at[0].inherited->pid, 2);
	assert_int_equal(people.at[1].inherited->pid, 2);
	assert_string_equal(people.at[2].decision.rule->id, "a");
	assert_null(people.at[2].inherited);
	assert_null(people.at[3].decision.rule);
	assert_true(people.at[3].decision.include);
	assert_string_equal(people.at[4].decision.rule->id, "c");
	ruleset_unref(set);
	people_free(&people);
}

/* A file may say anything. */
static void circles(void **state)
{
	static const char *const specs[] = { "a", "any parent.tool = 'nobody'", "i", NULL };
	struct people people = recorded(LINE(1, "\"0a0b0c0d-2-1f\"", "a", "") LINE(2, "\"0a0b0c0d-1-1f\"", "b", "") LINE(3, "\"0a0b0c0d-3-1f\"", "c", "")
						LINE(4, "\"0a0b0c0d-1-1f\"", "d", "") "{\"stream\":\"process.exit\",\"upid\":5,\"argv\":[1,null]}\n");
	struct ruleset *set = rules(specs);

	(void)state;
	assert_int_equal(people.n, 5);
	people_judge(&people, set);
	for (size_t i = 0; i < people.n; i++)
		assert_null(people.at[i].decision.rule);
	assert_false(people.at[4].keyed);
	ruleset_unref(set);
	people_free(&people);
}

static void not_of_ours(void **state)
{
	struct people people = { 0 };

	(void)state;
	assert_int_equal(people_recorded("filter", "/nonexistent", &people), 1);
	assert_int_equal(people_recorded("filter", "/dev/null", &people), 1);
}

/* Ourselves, our child and its argument list, as skepd would see it. */
static void who_lives(void **state)
{
	struct people people = { 0 };
	const struct person *me, *child;
	union filter_value v;
	int gate[2];
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(gate), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		close(gate[1]);
		if (dup2(gate[0], 0) == 0)
			execlp("env", "env", "A=1", "cat", "-", "password=hunter2", (char *)NULL);
		_exit(1);
	}
	/* until env has become cat */
	for (int i = 0; i < 500; i++) {
		assert_int_equal(people_live("filter", NULL, &people), 0);
		child = people_find(&people, (uint32_t)pid);
		if (child && strcmp(person_word(child, JUDGE_COMM), "cat") == 0)
			break;
		people_free(&people);
		usleep(10000);
	}
	child = people_find(&people, (uint32_t)pid);
	me = people_find(&people, (uint32_t)getpid());
	assert_non_null(child);
	assert_non_null(me);
	assert_ptr_equal(child->parent, me);
	assert_string_equal(person_word(child, JUDGE_TOOL), "cat");
	assert_true(strlen(person_word(child, JUDGE_EXE)) > 4);
	assert_true(*person_word(child, JUDGE_CGROUP) == '/');
	assert_string_equal(person_word(child, JUDGE_CWD), person_word(me, JUDGE_CWD));
	assert_int_equal(judge_get(&child->subject, 0, JUDGE_ARGV, &v), FILTER_KNOWN);
	assert_int_equal(v.text.len, sizeof("cat\0-\0password=***"));
	assert_memory_equal(v.text.ptr, "cat\0-\0password=***", v.text.len);
	assert_int_equal(judge_get(&child->subject, 0, JUDGE_UID, &v), FILTER_KNOWN);
	assert_int_equal(v.u, getuid());
	assert_int_equal(judge_get(&child->subject, 0, JUDGE_SESSION, &v), FILTER_KNOWN);
	assert_int_equal(v.u, getsid(0));
	assert_int_equal(judge_get(&child->subject, 0, JUDGE_PID_NS, &v), FILTER_KNOWN);
	assert_true(v.u > 0);
	assert_int_equal(judge_get(&child->subject, 0, JUDGE_RUN, &v), FILTER_UNKNOWN);
	assert_null(people_find(&people, 4000000000u));
	people_free(&people);
	close(gate[0]);
	close(gate[1]);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields), cmocka_unit_test(descent), cmocka_unit_test(circles), cmocka_unit_test(not_of_ours), cmocka_unit_test(who_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
