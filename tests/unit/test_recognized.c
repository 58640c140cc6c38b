/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_recognized.c - what `skep recognize RUN` says of a run that has ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/report/recognized.h"
#include "tests/unit/reports.h"

static struct reports *run(void)
{
	struct reports *r = reports_new("nightly", "snakemake", 8);
	struct lake_process *p;
	struct lake_task *t;

	reports_kind(reports_add(r, 0, "snakemake", "snakemake", 0, 1000, 10))->scopes = "cron > snakemake";
	p = reports_add(r, 0, "sh", "sh", 100, 100, 1);
	reports_kind(p)->execed = false; /* a fork that an exec replaced at once */
	reports_kind(p)->state = "replaced";
	p = reports_add(r, 0, "gzip", "gzip x", 100, 400, 20);
	p->task = "sort";
	reports_kind(p)->step = "xargs: gzip";
	reports_kind(p)->scopes = "cron > snakemake > xargs";
	t = reports_task(r, "sort", 100, 500, 20);
	t->sample = "s1\n";
	t->attempt = 2;
	t->scopes = "cron > snakemake";
	t = reports_task(r, "named", 200, 500, 20);
	t->engine = "";
	t->name_source = "environ";
	t = reports_task(r, "lives", 300, 0, 20);
	t->engine = t->name_source = "";
	reports_finish(r, 1000, 0, 0);
	return r;
}

static void test_text(void **state)
{
	static const struct paint_style plain = { .width = 100, .colour = PAINT_NEVER, .unicode = PAINT_NEVER };
	struct reports *r = run();
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	assert_int_equal(recognized_print(&r->report, out, &plain), 0);
	fclose(out);
	assert_string_equal(text, "\n"
				  "task       try  begun by   name from  engines around it\n"
				  "sort s1\\n    2  snakemake  argv       cron > snakemake\n"
				  "named           SKEP_TASK  environ    none\n"
				  "lives           ?          ?          none\n"
				  "\n"
				  "process  tool       task  step         engines around it\n"
				  "   4000  snakemake  none               cron > snakemake\n"
				  "   4002  gzip       sort  xargs: gzip  cron > snakemake > xargs\n"
				  "\n"
				  "The tables come from the lake, which has the names of the engines, the outermost first.  skepd "
				  "knows the facts\n"
				  "that it read, and the run without the engines, only while a process lives.  skep recognize "
				  "--list prints the\n"
				  "files that describe the engines.\n");
	free(text);
	reports_free(r);
}

static void test_json(void **state)
{
	struct reports *r = run();
	json_t *o = recognized_json(&r->report), *one;

	(void)state;
	assert_non_null(o);
	assert_int_equal(json_array_size(json_object_get(o, "tasks")), 3);
	one = json_array_get(json_object_get(o, "tasks"), 0);
	assert_string_equal(json_string_value(json_object_get(one, "engine")), "snakemake");
	assert_string_equal(json_string_value(json_object_get(one, "scopes")), "cron > snakemake");
	assert_string_equal(json_string_value(json_object_get(one, "name_source")), "argv");
	assert_int_equal(json_array_size(json_object_get(o, "processes")), 2);
	one = json_array_get(json_object_get(o, "processes"), 1);
	assert_string_equal(json_string_value(json_object_get(one, "tool")), "gzip");
	assert_string_equal(json_string_value(json_object_get(one, "step")), "xargs: gzip");
	assert_string_equal(json_string_value(json_object_get(one, "scopes")), "cron > snakemake > xargs");
	json_decref(o);
	reports_free(r);
}

/* A run with more tasks and processes than a screen: the tables say how many they leave out. */
static void test_many(void **state)
{
	struct reports *r = reports_new("many", "make", 8);
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	for (uint64_t i = 0; i < 502; i++) {
		reports_add(r, 0, "cc", "cc", i, i + 1, 1);
		reports_task(r, "cc", i, i + 1, 1);
	}
	reports_finish(r, 1000, 0, 0);
	assert_int_equal(recognized_print(&r->report, out, NULL), 0);
	fclose(out);
	assert_non_null(strstr(text, "\n2 tasks more: skep recognize --json\n"));
	assert_non_null(strstr(text, "\n2 processes more: skep recognize --json\n"));
	free(text);
	reports_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
