/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_report_text.c - the text report of every situation of situations.c, compared with the files in
 * tests/unit/report/, and properties of every report. After an intended change SKEP_WRITE_GOLDEN=1
 * tests/unit/test_report_text writes the files anew; look at the difference before you commit it.
 */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "cli/base/command.h"
#include "cli/base/text.h"
#include "cli/report/report.h"
#include "cli/runs.h"
#include "tests/unit/reports.h"

static char *print(const struct lake_report *report, const struct paint_style *style)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	assert_int_equal(report_print(report, f, style), 0);
	assert_int_equal(fclose(f), 0);
	return text;
}

static char *read_file(const char *path)
{
	FILE *f = fopen(path, "r");
	char *text = NULL;
	size_t size = 0;

	if (!f)
		return NULL;
	if (getdelim(&text, &size, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	fclose(f);
	return text;
}

static void compare(const char *name, const char *text)
{
	const char *source = getenv("abs_srcdir");
	char *path = text_format("%s/tests/unit/report/%s.txt", source ? source : ".", name), *want;

	assert_non_null(path);
	if (getenv("SKEP_WRITE_GOLDEN")) {
		FILE *f = fopen(path, "w");

		assert_non_null(f);
		fputs(text, f);
		assert_int_equal(fclose(f), 0);
	}
	want = read_file(path);
	if (!want)
		fail_msg("%s: cannot be read", path);
	if (strcmp(text, want) != 0) {
		fprintf(stderr, "%s should be\n%s\nbut is\n%s\n", name, want, text);
		fail_msg("%s differs", name);
	}
	free(want);
	free(path);
}

static void golden(void **state)
{
	static const unsigned widths[] = { 80, 120 };

	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		struct reports *r = reports_situation(reports_situations[i]);

		assert_non_null(r);
		for (size_t w = 0; w < 2; w++) {
			struct paint_style style = {
				.width = widths[w],
				.colour = PAINT_NEVER,
				.unicode = PAINT_ALWAYS,
				.processes = strcmp(reports_situations[i], "tree") == 0 ||
					     strcmp(reports_situations[i], "names") == 0,
			};
			char *text = print(&r->report, &style),
			     *name = text_format("%s-%u", reports_situations[i], widths[w]);

			compare(name, text);
			free(text);
			free(name);
		}
		reports_free(r);
	}
}

static void ascii(void **state)
{
	const struct paint_style style = {
		.width = 80, .colour = PAINT_NEVER, .unicode = PAINT_NEVER, .processes = true
	};

	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		struct reports *r = reports_situation(reports_situations[i]);
		char *text = print(&r->report, &style);

		for (const char *p = text; *p; p++)
			assert_true(*p == '\n' || (*p >= ' ' && *p < 0x7f));
		if (strcmp(reports_situations[i], "oom") == 0)
			compare("oom-ascii", text);
		free(text);
		reports_free(r);
	}
}

/* No line is wider than the width, and line ends are the only control characters. */
static void fits(void **state)
{
	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		struct reports *r = reports_situation(reports_situations[i]);

		for (unsigned width = 80; width <= 200; width += 7) {
			const struct paint_style style = {
				.width = width, .colour = PAINT_NEVER, .unicode = PAINT_ALWAYS, .processes = true
			};
			char *text = print(&r->report, &style), *save = NULL;

			for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
				if (text_width(line) > width)
					fail_msg("%s at %u columns: %s", reports_situations[i], width, line);
				for (const char *p = line; *p; p++)
					assert_true((unsigned char)*p >= ' ' && *p != 0x7f);
			}
			free(text);
		}
		reports_free(r);
	}
}

/* Colours change nothing else: every sequence ends on its line. */
static void colours(void **state)
{
	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		struct reports *r = reports_situation(reports_situations[i]);
		struct paint_style style = {
			.width = 100, .colour = PAINT_ALWAYS, .unicode = PAINT_ALWAYS, .processes = true
		};
		char *coloured = print(&r->report, &style), *plain, *to = coloured;
		bool on = false;

		style.colour = PAINT_NEVER;
		plain = print(&r->report, &style);
		for (const char *from = coloured; *from;) {
			if (*from == '\033') {
				size_t n = strcspn(from, "m") + 1;

				on = strncmp(from, "\033[0m", 4) != 0;
				from += n;
				continue;
			}
			if (*from == '\n' && from[-1] != '\n')
				assert_true(!on || strncmp(from + 1, "  run", 5) == 0); /* the facts take two lines */
			*to++ = *from++;
		}
		*to = '\0';
		assert_false(on);
		assert_string_equal(coloured, plain);
		free(coloured);
		free(plain);
		reports_free(r);
	}
}

/* The rows of the tools table add up to the totals; the last row sums the tools without a row. */
static void rows(void **state)
{
	struct reports *r = reports_situation("many");

	(void)state;
	for (size_t n = 1; n < 20; n++) {
		const struct paint_style style = {
			.width = 100, .rows = n, .colour = PAINT_NEVER, .unicode = PAINT_ALWAYS
		};
		char *text = print(&r->report, &style), *at = strstr(text, "\nTools\n");
		unsigned long calls = 0, lines = 0, count;

		assert_non_null(at);
		at = strchr(at + strlen("\nTools\n"), '\n') + 1;
		while (*at != '\n') {
			char *end = strchr(at, '\n'), *number;

			*end = '\0';
			number = strstr(at, "  ");
			assert_non_null(number);
			number += strspn(number, " ");
			for (count = 0; *number != ' '; number++)
				count = *number == ',' ? count : count * 10 + (unsigned long)(*number - '0');
			calls += count;
			lines++;
			at = end + 1;
		}
		assert_int_equal(calls, 5000);
		assert_true(lines <= n + 1);
		free(text);
	}
	reports_free(r);
}

static void full_stream(void **state)
{
	struct reports *r = reports_situation("single");
	FILE *f = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(report_print(&r->report, f, NULL), -ENOSPC);
	assert_int_equal(report_json_print(&r->report, f), -ENOSPC);
	fclose(f);
	reports_free(r);
}

static void runs(void **state)
{
	static const char *const names[] = { "success", "failure", "interrupted", "running", "many", "names" };
	static const unsigned widths[] = { 80, 120 };
	struct lake_run list[6];
	struct reports *all[6];
	struct lake_runs found = { .n = 6, .runs = list };
	char *text_of_list = NULL;
	size_t size_of_list;
	FILE *listed;
	json_t *json;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		all[i] = reports_situation(names[i]);
		list[i] = all[i]->report.run;
	}
	for (size_t w = 0; w < 2; w++) {
		struct paint_style style = { .width = widths[w], .colour = PAINT_NEVER, .unicode = PAINT_ALWAYS };
		char *text = NULL, *name = text_format("runs-%u", widths[w]);
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_non_null(f);
		assert_int_equal(runs_print(&found, f, &style), 0);
		fclose(f);
		compare(name, text);
		free(text);
		free(name);
	}

	list[2].engine = "snakemake"; /* then the table has a column of engines */
	for (size_t w = 0; w < 2; w++) {
		struct paint_style style = { .width = w ? 120 : 150, .colour = PAINT_NEVER, .unicode = PAINT_ALWAYS };
		char *text = NULL;
		size_t size;
		FILE *f = open_memstream(&text, &size);

		assert_non_null(f);
		assert_int_equal(runs_print(&found, f, &style), 0);
		fclose(f);
		assert_non_null(strstr(text, " engine "));
		assert_non_null(strstr(text, " snakemake "));
		free(text);
	}
	listed = open_memstream(&text_of_list, &size_of_list);
	assert_int_equal(runs_json(&found, listed), 0);
	fclose(listed);
	json = json_loads(text_of_list, 0, NULL);
	free(text_of_list);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 2), "engine")), "snakemake");
	assert_int_equal(json_array_size(json), 6);
	assert_string_equal(json_string_value(json_object_get(json_array_get(json, 0), "name")), "variants-nightly");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(json_array_get(json, 4), "totals"), "processes")),
		5000);
	json_decref(json);
	for (size_t i = 0; i < 6; i++)
		reports_free(all[i]);
}

extern const struct command cmd_runs;

/* --since and --until are read before the lake: a wrong value is wrong usage, a right one comes as far as the lake. */
static void run_options(void **state)
{
	static const struct {
		const char *option, *value;
		int status;
	} cases[] = {
		{ "--since", "2h", 1 },
		{ "--until", "2026-11-21T03:48:15Z", 1 },
		{ "--since", "2026-11-21T03:48:15.5+01:00", 1 },
		{ "--since", "yesterday", 2 },
		{ "--until", "2026-11-21T03:48:15", 2 },
		{ "--since", "2026-11-21T03:48:15+1", 2 },
		{ "--user", "root", 1 },
		{ "--user", "4294967294", 1 },
		{ "--user", "no such user", 2 },
		{ "--state", "failed", 1 },
		{ "--state", "bad", 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *argv[] = { (char[]){ "runs" }, (char[]){ "--lake" }, (char[]){ "/nonexistent" },
				 (char *)(uintptr_t)cases[i].option, (char *)(uintptr_t)cases[i].value, NULL };

		optind = 0;
		if (cmd_runs.run(5, argv) != cases[i].status)
			fail_msg("%s %s", cases[i].option, cases[i].value);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden),  cmocka_unit_test(ascii), cmocka_unit_test(fits),
		cmocka_unit_test(colours), cmocka_unit_test(rows),  cmocka_unit_test(full_stream),
		cmocka_unit_test(runs),    cmocka_unit_test(run_options),
	};

	/* The widths of letters come from the locale; C.UTF-8 is part of glibc since 2.35, Debian has had it longer. */
	if (!setlocale(LC_ALL, "C.UTF-8")) {
		fprintf(stderr, "skip: there is no locale C.UTF-8\n");
		return 77;
	}
	setenv("TZ", "UTC0", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
