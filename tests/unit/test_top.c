/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_top.c - the model of `skep top`: sums of live and ended processes by group, CPU now, order, filter,
 * the way into rows, merged processes, and names of hostile programs on the screen.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "cli/top/cells.h"
#include "cli/top/filter.h"
#include "cli/top/print.h"

#define S UINT64_C(1000000000)

struct fixture {
	struct top_model *model;
	struct top_view view;
	struct top_rows rows;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	f->model = top_model_new();
	assert_non_null(f->model);
	f->view.sort = TOP_CPU;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	top_rows_free(&f->rows);
	top_view_free(&f->view);
	top_model_free(f->model);
	free(f);
	return 0;
}

/* A process of run "r1", task "align", user 7, that began at second `pid`. */
static struct top_process process(uint32_t pid, uint32_t image, uint64_t cpu_ns, struct top_names *names)
{
	*names = (struct top_names){ .run = "r1", .task = "align", .tool = "bwa", .user = "ada", .uid = 7, .comm = "bwa",
				     .argv = "bwa\0mem", .argv_len = 8, .start_ns = pid * S, .ppid = 1 };
	return (struct top_process){ .key = { pid * S, pid, image }, .names = names, .state = 'S', .exit_code = -1,
				     .figures = { .cpu_ns = cpu_ns, .run_delay_ns = cpu_ns / 10, .rss_bytes = 100,
						  .rss_peak_bytes = 100 + pid, .read_bytes = 5 } };
}

static void live(struct fixture *f, uint32_t pid, uint64_t cpu_ns)
{
	struct top_names names;
	struct top_process p = process(pid, 0, cpu_ns, &names);

	assert_int_equal(top_model_live(f->model, &p), 0);
}

static void ended(struct fixture *f, uint32_t pid, uint32_t image, uint64_t cpu_ns, bool last, int code)
{
	struct top_names names;
	struct top_process p = process(pid, image, cpu_ns, &names);

	p.last = last;
	p.exit_code = code;
	p.failed = code > 0;
	assert_int_equal(top_model_ended(f->model, &p), 0);
}

static const struct top_row *rows(struct fixture *f, size_t n)
{
	assert_int_equal(top_rows_build(&f->rows, f->model, &f->view), 0);
	assert_int_equal(f->rows.n, n);
	return f->rows.rows;
}

static void test_sums(void **state)
{
	struct fixture *f = *state;
	const struct top_row *r;

	live(f, 10, 3 * S);
	ended(f, 11, 0, 4 * S, true, 2);
	r = rows(f, 1);
	assert_int_equal(r->figures.cpu_ns, 7 * S);
	assert_int_equal(r->figures.run_delay_ns, 7 * S / 10);
	assert_int_equal(r->figures.read_bytes, 10);
	assert_int_equal(r->figures.rss_bytes, 100); /* of the live one */
	assert_int_equal(r->figures.rss_peak_bytes, 111);
	assert_int_equal(r->alive, 1);
	assert_int_equal(r->ended, 1);
	assert_int_equal(r->failed, 1);
	assert_int_equal(r->state, 'S');
	ended(f, 10, 0, 5 * S, true, 0); /* now the live one ends: its final figures replace the last ones */
	r = rows(f, 1);
	assert_int_equal(r->figures.cpu_ns, 9 * S);
	assert_int_equal(r->alive, 0);
	assert_int_equal(r->ended, 2);
	assert_int_equal(r->state, '-');
	assert_int_equal(r->figures.rss_bytes, 0);
}

static void test_exec(void **state)
{
	struct fixture *f = *state;

	live(f, 10, 2 * S);
	ended(f, 10, 0, 3 * S, false, -1); /* it executes another program */
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 3 * S);
	assert_int_equal(f->rows.rows->alive, 1);
	assert_int_equal(f->rows.rows->ended, 0);
	ended(f, 10, 1, 1 * S, true, 0);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 4 * S);
	assert_int_equal(f->rows.rows->ended, 1);
	live(f, 10, 2 * S); /* a row that was on its way when the process ended */
	f->view.group = TOP_PROCESS;
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 4 * S); /* both images are one process */
	assert_int_equal(f->rows.rows->item->key.image, 1);
}

static void test_earlier(void **state)
{
	struct fixture *f = *state;
	struct top_names names;
	struct top_process p = process(11, 0, 4 * S, &names);

	p.last = true;
	ended(f, 11, 0, 4 * S, true, 0);
	assert_int_equal(top_model_earlier(f->model, &p), 0); /* the lake has it as well: once */
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 4 * S);
	p = process(12, 0, 6 * S, &names);
	p.last = true;
	assert_int_equal(top_model_earlier(f->model, &p), 0);
	top_model_pass(f->model, 20 * S);
	top_model_pass(f->model, 30 * S);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 10 * S);
	assert_true(f->rows.rows->cores == 0); /* its use is older than this interval */
}

static void test_gone(void **state)
{
	struct fixture *f = *state;

	live(f, 10, S);
	live(f, 11, S);
	top_model_gone(f->model, 10, 10 * S);
	top_model_gone(f->model, 10, 10 * S);
	assert_int_equal(rows(f, 1)->alive, 1);
	ended(f, 11, 0, S, true, 0);
	top_model_gone(f->model, 11, 11 * S); /* an ended one stays */
	assert_int_equal(rows(f, 1)->ended, 1);
}

static void test_cores(void **state)
{
	struct fixture *f = *state;

	live(f, 10, 100 * S);
	top_model_pass(f->model, 200 * S);
	assert_true(rows(f, 1)->cores == 0); /* one sample is no interval */
	live(f, 10, 103 * S);
	live(f, 204, 1 * S);               /* began since */
	live(f, 20, 50 * S);               /* an old one that the first list lacked */
	ended(f, 205, 0, 2 * S, true, 0);  /* began and ended since: no sample ever saw it */
	top_model_pass(f->model, 206 * S);
	assert_true(rows(f, 1)->cores == 1.0); /* (3 + 1 + 2) / 6 */
	top_model_pass(f->model, 212 * S);
	assert_true(rows(f, 1)->cores == 0);
}

static void test_merged(void **state)
{
	struct fixture *f = *state;

	for (uint32_t pid = 10; pid < 60; pid++)
		ended(f, pid, 0, S, true, pid % 2 ? 0 : 1);
	top_model_bound(f->model, 10);
	for (uint32_t pid = 60; pid < 70; pid++)
		ended(f, pid, 0, S, true, 0);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 60 * S);
	assert_int_equal(f->rows.rows->ended, 60);
	assert_int_equal(f->rows.rows->failed, 25);
	f->view.group = TOP_PROCESS;
	assert_int_equal(rows(f, 11)->ended, 50); /* ten keep a row, the others share one */
	assert_int_equal(f->rows.rows->item->key.pid, 0);
	top_model_pass(f->model, 100 * S);
	top_model_pass(f->model, 101 * S);
	assert_true(f->rows.totals.cores == 0);
}

/* Run "r000007" with one process, second `n`; the first run has not ended. */
static void add_run(struct fixture *f, uint32_t n)
{
	char id[16];
	const struct top_run run = { .id = id, .name = "cron", .engine = "", .start_ns = n * S, .ended = n > 1 };
	struct top_names names;
	struct top_process p = process(n, 0, S, &names);

	snprintf(id, sizeof(id), "r%06u", n);
	names.run = id;
	p.last = true;
	assert_int_equal(top_model_run(f->model, &run), 0);
	assert_int_equal(top_model_ended(f->model, &p), 0);
}

static void test_many_runs(void **state)
{
	struct fixture *f = *state;
	const struct top_row *earlier = NULL;
	const uint32_t most = 90000;
	char *label;

	top_model_bound(f->model, 10);
	for (uint32_t n = 1; n <= most; n++) {
		add_run(f, n);
		if (n % 1000 == 0)
			top_model_pass(f->model, n * S);
	}
	assert_int_equal(top_rows_build(&f->rows, f->model, &f->view), 0);
	assert_in_range(f->rows.n, 1000, 40000); /* not a row for each run */
	assert_int_equal(f->rows.totals.ended, most);
	assert_int_equal(f->rows.totals.figures.cpu_ns, most * S);
	for (size_t i = 0; i < f->rows.n; i++)
		if (strcmp(f->rows.rows[i].item->names->run, "(ended earlier)") == 0)
			earlier = &f->rows.rows[i];
	assert_non_null(earlier);
	assert_int_equal(earlier->ended, most - f->rows.n + 1);
	label = top_row_label(f->model, earlier);
	assert_string_equal(label, "(ended earlier)");
	free(label);
	assert_non_null(top_model_run_of(f->model, "r000001"));
	assert_null(top_model_run_of(f->model, "r000002"));
	assert_non_null(top_model_run_of(f->model, "r090000"));
}

static void add_named(struct fixture *f, uint32_t pid, const char *run, const char *task, const char *tool,
		      uint64_t cpu)
{
	struct top_names names;
	struct top_process p = process(pid, 0, cpu, &names);

	names.run = run;
	names.task = task;
	names.tool = tool;
	names.ppid = pid - 1;
	names.parent_start_boot_ns = (pid - 1) * S;
	assert_int_equal(top_model_live(f->model, &p), 0);
}

static void test_way(void **state)
{
	struct fixture *f = *state;
	const struct top_row *r;

	add_named(f, 10, "r1", "align", "bwa", 5);
	add_named(f, 11, "r1", "sort", "samtools", 3);
	add_named(f, 12, "r2", "align", "bwa", 4);
	r = rows(f, 2);
	assert_string_equal(r[0].item->names->run, "r1");
	/* Unfold r1: its tasks follow it, the other run after these. */
	assert_int_equal(top_view_fold(&f->view, &r[0]), 0);
	r = rows(f, 4);
	assert_int_equal(r[1].depth, 1);
	assert_int_equal(r[1].group, TOP_TASK);
	assert_int_equal(r[1].figures.cpu_ns, 5);
	assert_int_equal(r[2].figures.cpu_ns, 3);
	assert_int_equal(r[3].depth, 0);
	/* Into the task within the unfolded run: into both. */
	assert_true(top_view_enter(&f->view, f->model, &f->rows, 1));
	assert_int_equal(f->view.n_path, 2);
	r = rows(f, 1);
	assert_int_equal(r->group, TOP_TOOL);
	assert_int_equal(r->figures.cpu_ns, 5); /* without the bwa of r2 */
	assert_true(top_view_enter(&f->view, f->model, &f->rows, 0));
	assert_int_equal(rows(f, 1)->group, TOP_PROCESS);
	assert_false(top_view_enter(&f->view, f->model, &f->rows, 0));
	assert_true(top_view_leave(&f->view));
	assert_true(top_view_leave(&f->view));
	assert_true(top_view_leave(&f->view));
	assert_false(top_view_leave(&f->view));
	r = rows(f, 4);
	assert_int_equal(top_view_fold(&f->view, &r[0]), 0); /* folds it again */
	rows(f, 2);
}

/* Enter after a restart of skepd: the rows on the screen are older than the model. */
static void test_stale_rows(void **state)
{
	struct fixture *f = *state;

	add_named(f, 10, "r1", "align", "bwa", 5);
	rows(f, 1);
	top_model_clear(f->model);
	assert_false(top_view_enter(&f->view, f->model, &f->rows, 0));
	add_named(f, 11, "r1", "sort", "samtools", 3);
	assert_true(top_view_enter(&f->view, f->model, &f->rows, 0));
	assert_string_equal(f->view.path[0].label, "r1");
	assert_string_equal(rows(f, 1)->item->names->task, "sort");
}

static void test_order(void **state)
{
	struct fixture *f = *state;
	enum top_column column;

	add_named(f, 10, "r1", "", "zcat", 5);
	add_named(f, 11, "r1", "", "awk", 9);
	add_named(f, 12, "r1", "", "make", 9);
	f->view.group = TOP_TOOL;
	f->view.sort = TOP_NAME;
	assert_string_equal(rows(f, 3)[0].item->names->tool, "awk");
	f->view.ascending = true;
	assert_string_equal(rows(f, 3)[0].item->names->tool, "zcat");
	f->view.sort = TOP_CPU;
	assert_string_equal(rows(f, 3)[0].item->names->tool, "zcat");
	f->view.ascending = false;
	assert_string_equal(rows(f, 3)[2].item->names->tool, "zcat");
	for (unsigned c = 0; c < TOP_COLUMNS; c++) {
		const char *first;

		assert_int_equal(top_column_named(top_column_name((enum top_column)c), &column), 0);
		assert_int_equal(column, c);
		f->view.sort = column;
		first = rows(f, 3)[0].item->names->tool;
		assert_string_equal(rows(f, 3)[0].item->names->tool, first); /* equal rows keep their places */
	}
	assert_int_equal(top_column_named("no", &column), -2);
}

static void test_filter(void **state)
{
	struct fixture *f = *state;
	struct top_filter *filter = top_filter_new(f->model);
	char why[512] = "";

	assert_non_null(filter);
	add_named(f, 10, "r1", "align", "sh", 5);
	add_named(f, 11, "r1", "align", "bwa", 3);
	add_named(f, 12, "r1", "sort", "samtools", 4);
	assert_int_equal(top_filter_set(filter, "tool = 'bwa' or task = 'sort'", why, sizeof(why)), 0);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 7);
	assert_int_equal(top_filter_set(filter, "any parent.tool = 'sh'", why, sizeof(why)), 0);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 7); /* its child and its grandchild */
	add_named(f, 13, "r1", "sort", "samtools", 2);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 9); /* the filter holds for later processes */
	assert_int_equal(top_filter_set(filter, "tol = 'x'", why, sizeof(why)), -22);
	assert_non_null(strstr(why, "tool"));
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 9); /* the filter before stays */
	assert_int_equal(top_filter_set(filter, "argv contains 'mem'", why, sizeof(why)), 0);
	assert_int_equal(rows(f, 1)->figures.cpu_ns, 14);
	assert_int_equal(top_filter_set(filter, "", why, sizeof(why)), 0);
	rows(f, 1);
	top_filter_free(filter);
}

static char *printed(struct fixture *f, bool json)
{
	const struct top_shown shown = { .source = "skepd", .time_ns = S, .filter = "", .note = "a\x1b[2Jb" };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	rows(f, 1);
	assert_int_equal(json ? top_print_json(f->model, &f->view, &f->rows, &shown, out)
			      : top_print_table(f->model, &f->view, &f->rows, &shown, out), 0);
	fclose(out);
	return text;
}

static void test_hostile(void **state)
{
	struct fixture *f = *state;
	struct top_names names;
	struct top_process p = process(10, 0, S, &names);
	static const char argv[] = "x\x1b]0;owned\x07\0\n\xff\xe2\x80\xae";
	const struct top_run run = { .id = "r\x1b[1m", .name = "\x1b[31mred", .engine = "" };

	names.run = run.id;
	names.task = names.tool = names.container = names.user = names.comm = "e\x1b[2J\n\xff";
	names.argv = argv;
	names.argv_len = sizeof(argv);
	assert_int_equal(top_model_run(f->model, &run), 0);
	assert_int_equal(top_model_live(f->model, &p), 0);
	for (unsigned g = 0; g < TOP_GROUPS; g++) {
		char *table, *json;
		json_t *o;

		f->view.group = (enum top_group)g;
		table = printed(f, false);
		json = printed(f, true);
		for (const char *c = table; *c; c++)
			assert_true(*c == '\n' || (unsigned char)*c >= ' ');
		o = json_loads(json, 0, NULL); /* strict UTF-8, and no raw control character */
		assert_non_null(o);
		assert_int_equal(json_array_size(json_object_get(o, "rows")), 1);
		json_decref(o);
		free(table);
		free(json);
	}
}

static void test_cells(void **state)
{
	struct fixture *f = *state;
	bool shown[TOP_COLUMNS];
	struct top_row r = { .cores = 12345, .alive = UINT64_MAX, .ended = 99999, .failed = 123456789, .state = 'R' };
	char buf[HUMAN_SIZE];

	(void)f;
	assert_true(top_cells_fit(80, shown) >= TOP_NAME_LEAST);
	assert_true(shown[TOP_CORES] && shown[TOP_QUEUED] && shown[TOP_BLOCKED] && shown[TOP_ENDED] && !shown[TOP_NET]);
	assert_true(top_cells_fit(300, shown) > 200);
	assert_true(shown[TOP_NET]);
	assert_int_equal(top_cells_fit(10, shown), 10);
	assert_string_equal(top_cell_text(&r, TOP_BLOCKED, buf), "-"); /* no probe counts it: not 0 */
	assert_string_equal(top_cell_text(&r, TOP_NET, buf), "-");
	assert_string_equal(top_cell_text(&r, TOP_ENDED, buf), "99k");
	r.figures = (struct top_figures){ UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
					  UINT64_MAX, UINT64_MAX, true, true };
	for (unsigned c = 1; c < TOP_COLUMNS; c++)
		assert_true(strlen(top_cell_text(&r, (enum top_column)c, buf)) < HUMAN_SIZE);
}

int main(void)
{
#define T(name_) cmocka_unit_test_setup_teardown(name_, setup, teardown)
	const struct CMUnitTest tests[] = {
		T(test_sums), T(test_exec),  T(test_earlier), T(test_gone),    T(test_cores), T(test_merged),
		T(test_way),  T(test_order), T(test_filter),  T(test_hostile), T(test_cells), T(test_many_runs),
		T(test_stale_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
