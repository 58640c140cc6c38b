/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/filter/filter_processes, filter_recorded, filter_live: which processes exist, and how rules decide about each.
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

#include "cli/filter/filter_processes.h"

static struct filter_processes recorded(const char *text)
{
	char path[] = "/tmp/skep-test-processes-XXXXXX";
	struct filter_processes processes = { 0 };
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	assert_int_equal(processes_recorded("filter", path, &processes), 0);
	unlink(path);
	return processes;
}

/* id, when, "i" exclude and inherit or "" exclude; three by three */
static struct ruleset *rules(const char *const *specs)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	struct filter_error error;

	assert_non_null(set);
	for (; *specs; specs += 3) {
		const struct rule_spec spec = { .id = specs[0],
						.when = specs[1],
						.when_len = strlen(specs[1]),
						.verdict = RULE_EXCLUDE,
						.inherit = *specs[2] };

		if (ruleset_add(set, &spec, &error))
			fail_msg("%s", error.what);
	}
	return set;
}

#define LINE(pid, parent, tool, more) \
	"{\"stream\":\"process.exit\",\"upid\":\"0a0b0c0d-" #pid "-1f\",\"parent_upid\":" parent ",\"pid\":" #pid \
	",\"tool\":\"" tool "\"" more "}\n"

static void the_fields(void **state)
{
	struct filter_processes processes = recorded("{\"stream\":\"run\",\"run\":\"r\"}\n" LINE(
		7, "null", "bwa mem",
		",\"exe\":\"/usr/bin/bwa\",\"filename\":\"\",\"argv\":[\"bwa\",\"mem\",\"\"],\"uid\":33,\"gid\":0,"
		"\"container\":\"\",\"run\":\"r\",\"wrapper\":true,\"image\":2,\"cgroup\":\"/a\"") "\n{\"stream\":");
	const struct filter_process *p = processes.at;
	union filter_value v;

	(void)state;
	assert_int_equal(processes.n, 1);
	assert_int_equal(processes.unreadable, 2); /* an empty line, and half a line */
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_TOOL, &v), FILTER_KNOWN);
	assert_string_equal(v.text.ptr, "bwa mem");
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_ARGV, &v), FILTER_KNOWN);
	assert_int_equal(v.text.len, 9);
	assert_memory_equal(v.text.ptr, "bwa\0mem\0", 9);
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_FILENAME, &v), FILTER_UNKNOWN);
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_CONTAINER, &v), FILTER_KNOWN); /* known: none */
	assert_int_equal(v.text.len, 0);
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_UID, &v), FILTER_KNOWN);
	assert_int_equal(v.u, 33);
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_SESSION, &v), FILTER_UNKNOWN);
	assert_int_equal(rule_field_get(&p->subject, 0, RULE_FIELD_WRAPPER, &v), FILTER_KNOWN);
	assert_true(v.b);
	assert_int_equal(rule_field_get(&p->subject, 1, RULE_FIELD_UID, &v), FILTER_NOBODY);
	assert_true(p->keyed);
	assert_int_equal(p->key, rule_key(7, 0x1f)); /* the start is a hexadecimal number */
	assert_int_equal(p->image, 2);
	processes_free(&processes);
}

/* Parents listed after their children; with several images the last one is the parent. */
static void descent(void **state)
{
	static const char *const specs[] = { "a", "tool = 'cron'",          "i", "b", "any parent.tool = 'cron'", "",
					     "c", "parent.tool = 'second'", "",  NULL };
	struct filter_processes processes =
		recorded(LINE(4, "\"0a0b0c0d-3-1f\"", "date", "") LINE(3, "\"0a0b0c0d-2-1f\"", "sh", "")
				 LINE(2, "\"0a0b0c0d-1-1f\"", "cron", "") LINE(1, "null", "init", "")
					 LINE(6, "\"0a0b0c0d-5-1f\"", "x", "") LINE(5, "null", "second", ",\"image\":1")
						 LINE(5, "null", "first", ",\"image\":0"));
	struct ruleset *set = rules(specs);

	(void)state;
	assert_int_equal(processes.n, 7);
	processes_evaluate(&processes, set);
	assert_string_equal(processes.at[0].decision.rule->id, "a"); /* not b, which is never evaluated */
	assert_int_equal(processes.at[0].inherited->pid, 2);
	assert_int_equal(processes.at[1].inherited->pid, 2);
	assert_string_equal(processes.at[2].decision.rule->id, "a");
	assert_null(processes.at[2].inherited);
	assert_null(processes.at[3].decision.rule);
	assert_true(processes.at[3].decision.include);
	assert_string_equal(processes.at[4].decision.rule->id, "c");
	ruleset_unref(set);
	processes_free(&processes);
}

/* A file may contain any bytes. */
static void circles(void **state)
{
	static const char *const specs[] = { "a", "any parent.tool = 'nobody'", "i", NULL };
	struct filter_processes processes =
		recorded(LINE(1, "\"0a0b0c0d-2-1f\"", "a", "") LINE(2, "\"0a0b0c0d-1-1f\"", "b", "")
				 LINE(3, "\"0a0b0c0d-3-1f\"", "c", "")
					 LINE(4, "\"0a0b0c0d-1-1f\"", "d",
					      "") "{\"stream\":\"process.exit\",\"upid\":5,\"argv\":[1,null]}\n");
	struct ruleset *set = rules(specs);

	(void)state;
	assert_int_equal(processes.n, 5);
	processes_evaluate(&processes, set);
	for (size_t i = 0; i < processes.n; i++)
		assert_null(processes.at[i].decision.rule);
	assert_false(processes.at[4].keyed);
	ruleset_unref(set);
	processes_free(&processes);
}

static void not_of_ours(void **state)
{
	struct filter_processes processes = { 0 };

	(void)state;
	assert_int_equal(processes_recorded("filter", "/nonexistent", &processes), 1);
	assert_int_equal(processes_recorded("filter", "/dev/null", &processes), 1);
}

/* This process, its child and the child's arguments, as skepd would see them. */
static void who_lives(void **state)
{
	struct filter_processes processes = { 0 };
	const struct filter_process *me, *child;
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
	/* until env has executed cat */
	for (int i = 0; i < 500; i++) {
		assert_int_equal(processes_live("filter", NULL, &processes), 0);
		child = processes_find(&processes, (uint32_t)pid);
		if (child && strcmp(process_word(child, RULE_FIELD_COMM), "cat") == 0)
			break;
		processes_free(&processes);
		usleep(10000);
	}
	child = processes_find(&processes, (uint32_t)pid);
	me = processes_find(&processes, (uint32_t)getpid());
	assert_non_null(child);
	assert_non_null(me);
	assert_ptr_equal(child->parent, me);
	assert_string_equal(process_word(child, RULE_FIELD_TOOL), "cat");
	assert_true(strlen(process_word(child, RULE_FIELD_EXE)) > 4);
	assert_true(*process_word(child, RULE_FIELD_CGROUP) == '/');
	assert_string_equal(process_word(child, RULE_FIELD_CWD), process_word(me, RULE_FIELD_CWD));
	assert_int_equal(rule_field_get(&child->subject, 0, RULE_FIELD_ARGV, &v), FILTER_KNOWN);
	assert_int_equal(v.text.len, sizeof("cat\0-\0password=***"));
	assert_memory_equal(v.text.ptr, "cat\0-\0password=***", v.text.len);
	assert_int_equal(rule_field_get(&child->subject, 0, RULE_FIELD_UID, &v), FILTER_KNOWN);
	assert_int_equal(v.u, getuid());
	assert_int_equal(rule_field_get(&child->subject, 0, RULE_FIELD_SESSION, &v), FILTER_KNOWN);
	assert_int_equal(v.u, getsid(0));
	assert_int_equal(rule_field_get(&child->subject, 0, RULE_FIELD_PID_NS, &v), FILTER_KNOWN);
	assert_true(v.u > 0);
	assert_int_equal(rule_field_get(&child->subject, 0, RULE_FIELD_RUN, &v), FILTER_UNKNOWN);
	assert_null(processes_find(&processes, 4000000000u));
	processes_free(&processes);
	close(gate[0]);
	close(gate[1]);
	waitpid(pid, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_fields),  cmocka_unit_test(descent),   cmocka_unit_test(circles),
		cmocka_unit_test(not_of_ours), cmocka_unit_test(who_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
