/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/test_report_json.c - the JSON report: its keys, their order, their types, and that it says the same as the
 * report struct.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/base/json_out.h"
#include "cli/report/report.h"
#include "cli/report/report_intervals.h"
#include "core/process/records.h"
#include "tests/unit/reports.h"

/* The printed report, which must be laid out as jansson does it in one piece. */
static json_t *printed(const struct lake_report *report)
{
	size_t size = 0;
	char *text = NULL, *again;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_non_null(out);
	assert_int_equal(report_json_print(report, out), 0);
	assert_int_equal(fclose(out), 0);
	json = json_loadb(text, size, 0, NULL);
	assert_non_null(json);
	again = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	assert_non_null(again);
	text[size - 1] = '\0'; /* the newline */
	assert_string_equal(text, again);
	free(again);
	free(text);
	return json;
}

static json_t *json_of(const char *situation)
{
	struct reports *r = reports_situation(situation);
	json_t *json = printed(&r->report);

	assert_non_null(json);
	reports_free(r);
	return json;
}

/* A value by its path: "run.exit_code", "findings.0.evidence.oom". */
static json_t *at(json_t *json, const char *path)
{
	char *copy = strdup(path), *save = NULL;

	assert_non_null(copy);
	for (char *key = strtok_r(copy, ".", &save); key; key = strtok_r(NULL, ".", &save))
		json = json_is_array(json) ? json_array_get(json, strtoul(key, NULL, 10)) : json_object_get(json, key);
	free(copy);
	if (!json)
		fail_msg("no %s", path);
	return json;
}

static json_int_t integer(json_t *json, const char *path)
{
	assert_true(json_is_integer(at(json, path)));
	return json_integer_value(at(json, path));
}

static const char *string(json_t *json, const char *path)
{
	assert_true(json_is_string(at(json, path)));
	return json_string_value(at(json, path));
}

/* The object begins with these keys, in this order. */
static void check_keys(json_t *object, const char *const *keys)
{
	void *iter = json_object_iter(object);

	for (size_t i = 0; keys[i]; i++) {
		assert_non_null(iter);
		assert_string_equal(json_object_iter_key(iter), keys[i]);
		iter = json_object_iter_next(object, iter);
	}
}

/* A figure that no probe measured is null. */
static void intervals(void **state)
{
	struct reports *r = reports_new("demo", "sh", 8);
	struct lake_process *p = reports_add(r, 0, "train", "train", 0, 40000, 10);
	struct lake_progress *g;
	json_t *json;

	(void)state;
	g = reports_progress(r, p, 0, 20000);
	g->net_bytes = 400;
	g->gpu_known_ns = g->interval_ns;
	g->gpu_busy_ns = 40;
	g = reports_progress(r, p, 0, 20000);
	g->net_bytes = 92;
	g->gpu_busy_ns = 0;
	reports_progress(r, p, 20000, 20000)->net_bytes = 4;
	r->report.run.totals.net_known = true;
	reports_finish(r, 40000, 0, 0);
	json = printed(&r->report);
	assert_int_equal(json_array_size(at(json, "intervals")), 8);
	assert_int_equal(json_integer_value(at(json, "intervals.0.interval_ns")), 5 * REPORTS_S);
	assert_int_equal(json_integer_value(at(json, "intervals.3.net_bytes")), 123);
	assert_int_equal(json_integer_value(at(json, "intervals.3.gpu_busy_ns")), 10);
	assert_int_equal(json_integer_value(at(json, "intervals.4.net_bytes")), 1);
	assert_true(json_is_null(at(json, "intervals.4.gpu_busy_ns")));
	json_decref(json);
	r->report.run.totals.net_known = false;
	json = printed(&r->report);
	assert_true(json_is_null(at(json, "intervals.0.net_bytes")));
	json_decref(json);
	reports_free(r);
}

/*
 * A shell that waited for ten minutes ends 300 ms after the downloader's last sample: its long interval leaves the
 * downloader's rate alone.  The shell began an hour before the run, which it joined.  The last sample has no length.
 */
static void intervals_of_own_lengths(void **state)
{
	struct reports *r = reports_new("demo", "sh", 8);
	struct lake_process *p = reports_add(r, 0, "sh", "sh", 0, 600300, 10);
	struct report_interval *list;
	struct lake_progress *g;
	uint64_t sum = 0, busy = 0;
	size_t n;

	(void)state;
	g = reports_progress(r, p, 0, 600300);
	g->net_bytes = 7; /* fewer than intervals */
	g->interval_ns += 3600 * REPORTS_S;
	p = reports_add(r, 0, "get", "get", 560000, 600300, 10);
	reports_progress(r, p, 560000, 20000)->net_bytes = 20000000;
	g = reports_progress(r, p, 580000, 20000);
	g->net_bytes = 20000001;
	g->gpu_known_ns = g->interval_ns;
	g->gpu_busy_ns = 19999999999;
	reports_progress(r, p, 600000, 300)->net_bytes = 300000;
	reports_progress(r, p, 600300, 0)->net_bytes = 11;
	reports_finish(r, 600300, 0, 0);
	assert_int_equal(report_intervals(&r->report, &list, &n), 0);
	assert_int_equal(n, 121);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(list[i].start_ns, r->report.run.start_ns + i * 5 * REPORTS_S);
		assert_int_equal(list[i].interval_ns, i + 1 < n ? 5 * REPORTS_S : 300 * REPORTS_MS);
		assert_int_equal(list[i].gpu_known, i >= 116 && i < 120);
		if (i < 112)
			assert_in_range(list[i].net_bytes, 0, 1);
		else if (i < 120)
			assert_in_range(list[i].net_bytes, 5000000, 5000002);
		sum += list[i].net_bytes;
		busy += list[i].gpu_busy_ns;
	}
	assert_in_range(list[120].net_bytes, 300011, 300012);
	assert_int_equal(sum, 7 + 20000000 + 20000001 + 300000 + 11);
	assert_int_equal(busy, 19999999999);
	free(list);
	reports_free(r);
}

static void keys(void **state)
{
	json_t *json = json_of("oom");

	(void)state;
	check_keys(json, (const char *const[]) { "run", "totals", "tasks", "tools", "processes", "findings", "loss",
						 "ledger", "accuracy", "samples", "intervals", NULL });
	assert_int_equal(json_object_size(json), 11);
	assert_true(json_is_null(at(json, "ledger")));            /* the run has no ledger */
	assert_true(json_is_null(at(json, "totals.net_rx_bytes"))); /* nor did a probe measure the network */
	check_keys(at(json, "run"),
		   (const char *const[]) { "id", "name", "pipeline", "host", "start", "end", "exit_code", NULL });
	check_keys(at(json, "totals"), (const char *const[]) { "processes", "images", "threads", "cpu_ns", "user_ns",
							       "system_ns", "run_delay_ns", "rss_peak_bytes",
							       "read_bytes", "write_bytes", "cancelled_write_bytes",
							       "rchar_bytes", "wchar_bytes", "net_rx_bytes",
							       "net_tx_bytes", "block_delay_ns", "thread_states",
							       "major_faults", NULL });
	check_keys(at(json, "tools.0"),
		   (const char *const[]) { "tool", "calls", "failures", "start", "end", "wall_ns", NULL });
	check_keys(at(json, "processes.0"),
		   (const char *const[]) { "upid", "image", "pid", "ppid", "parent_upid", "tool", "exe",
					   "exe_size_bytes", "exe_modified", "argv", "cwd", "uid", "start", "end", "exit_code", "signal", "signal_name", "oom_killed",
					   NULL });
	check_keys(at(json, "findings.0"),
		   (const char *const[]) { "kind", "severity", "subject", "evidence", "advice", NULL });
	check_keys(at(json, "loss"), (const char *const[]) { "kernel", "queue", "spool", "sink", NULL });
	json_decref(json);
}

static void books(void **state)
{
	json_t *json = json_of("success");

	(void)state;
	check_keys(at(json, "ledger"), (const char *const[]) { "interval_ns", "capacity_ns", "idle_ns", "wakeup_ns",
							       "steal_ns", "irq_ns", "kernel_ns", "attributed_ns",
							       "excluded_ns", "unattributed_ns", "accounts", NULL });
	assert_int_equal(integer(json, "ledger.capacity_ns"), 5784 * (int64_t)REPORTS_S);
	assert_int_equal(integer(json, "ledger.attributed_ns"), 3562 * (int64_t)REPORTS_S);
	assert_int_equal(integer(json, "ledger.unattributed_ns"), 10 * (int64_t)REPORTS_S);
	assert_true(json_is_null(at(json, "ledger.steal_ns"))); /* no probe posted it: unknown is not 0 */
	assert_int_equal(json_array_size(at(json, "ledger.accounts")), 8);
	assert_int_equal(integer(json, "totals.net_rx_bytes"), 3 << 20);
	assert_int_equal(integer(json, "totals.net_tx_bytes"), 4096);
	assert_int_equal(integer(json, "processes.1.net_rx_bytes"), 0); /* the count is known and 0 */
	assert_int_equal(integer(json, "totals.block_delay_ns"), 12 * (int64_t)REPORTS_S);
	assert_int_equal(integer(json, "totals.thread_states.samples"), 3310);
	assert_int_equal(integer(json, "totals.thread_states.iowait"), 70);
	assert_true(json_is_null(at(json, "processes.0.thread_states")));
	json_decref(json);
}

/* The object's keys, in order. The caller frees them. */
static char *keys_of(json_t *object)
{
	char *all = NULL;
	const char *key;
	json_t *value;
	size_t size;
	FILE *f = open_memstream(&all, &size);

	assert_non_null(f);
	json_object_foreach(object, key, value) fprintf(f, "%s ", key);
	assert_int_equal(fclose(f), 0);
	return all;
}

/* Every object of one kind has the same keys, however the process ended: a script needs no "if present". */
static void same_keys(void **state)
{
	static const char *const lists[] = { "tools", "processes", "findings" };
	char *first[3] = { NULL };

	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		json_t *json = json_of(reports_situations[i]), *element;
		size_t k;

		for (size_t l = 0; l < 3; l++)
			json_array_foreach(at(json, lists[l]), k, element)
			{
				char *all = keys_of(element);

				if (!first[l])
					first[l] = strdup(all);
				assert_string_equal(all, first[l]);
				free(all);
			}
		json_decref(json);
	}
	for (size_t l = 0; l < 3; l++) {
		assert_non_null(first[l]);
		free(first[l]);
	}
}

/* A name that ends in a unit is a number; no point in time has a name that ends in _ns. */
static void check_units(json_t *value, const char *key)
{
	const char *inner;
	json_t *element;
	size_t n = strlen(key), i;

	if ((n > 3 && strcmp(key + n - 3, "_ns") == 0) || (n > 6 && strcmp(key + n - 6, "_bytes") == 0)) {
		assert_true(json_is_integer(value) || json_is_null(value));
		assert_true(json_is_null(value) || json_integer_value(value) >= 0);
		assert_true(json_is_null(value) || json_integer_value(value) < (json_int_t)REPORTS_START);
	}
	if (strcmp(key, "start") == 0 || strcmp(key, "end") == 0) {
		assert_true(json_is_string(value) || json_is_null(value));
		if (json_is_string(value)) {
			assert_int_equal(json_string_length(value), strlen("2026-11-21T03:48:15.123456789Z"));
			assert_memory_equal(json_string_value(value), "2026-11-21T0", 12);
		}
	}
	if (strcmp(key, "facets") == 0) /* the lake has them as real numbers */
		return;
	json_object_foreach(value, inner, element) check_units(element, inner);
	json_array_foreach(value, i, element) check_units(element, "");
}

static void units(void **state)
{
	(void)state;
	for (size_t i = 0; reports_situations[i]; i++) {
		json_t *json = json_of(reports_situations[i]);

		check_units(json, "");
		json_decref(json);
	}
}

static void success(void **state)
{
	struct reports *r = reports_situation("success");
	json_t *json = printed(&r->report);
	uint64_t cpu = 0;

	(void)state;
	assert_string_equal(string(json, "run.id"), "20261121T034815-a1b2c3");
	assert_string_equal(string(json, "run.start"), "2026-11-21T03:48:15.123456789Z");
	assert_string_equal(string(json, "run.end"), "2026-11-21T04:00:18.123456789Z");
	assert_true(json_is_null(at(json, "run.pipeline")));
	assert_int_equal(integer(json, "run.exit_code"), 0);
	assert_true(json_is_null(at(json, "run.signal")));
	assert_int_equal(integer(json, "run.wall_ns"), 723 * REPORTS_S);
	assert_string_equal(string(json, "run.argv.2"), "8");
	assert_int_equal(integer(json, "totals.processes"), 42);
	assert_int_equal(integer(json, "totals.cpu_ns"), r->report.run.totals.cpu_ns);
	assert_int_equal(integer(json, "totals.rss_peak_bytes"), r->report.run.totals.rss_peak_bytes);
	assert_int_equal(integer(json, "run.memory_peak_bytes"), r->report.run.memory_peak_bytes);
	assert_string_equal(string(json, "run.memory_source"), "pss");
	assert_int_equal(integer(json, "tools.0.rss_peak_bytes"), UINT64_C(5432) << 20);
	assert_int_equal(json_array_size(at(json, "tasks")), 0);
	assert_int_equal(json_array_size(at(json, "tools")), r->report.n_tools);
	assert_string_equal(string(json, "tools.0.tool"), "bwa mem");
	assert_int_equal(json_array_size(at(json, "processes")), 42);
	for (size_t i = 0; i < json_array_size(at(json, "processes")); i++)
		cpu += (uint64_t)integer(json_array_get(at(json, "processes"), i), "cpu_ns");
	assert_int_equal(cpu, integer(json, "totals.cpu_ns"));
	assert_int_equal(json_array_size(at(json, "findings")), 1);
	assert_string_equal(string(json, "findings.0.severity"), "info");
	assert_true(json_is_true(at(json, "accuracy.wait4_comparable")));
	assert_int_equal(integer(json, "accuracy.wait4_difference_ns"), 41000);
	json_decref(json);
	reports_free(r);
}

static void killed(void **state)
{
	json_t *json = json_of("oom");

	(void)state;
	assert_int_equal(integer(json, "run.exit_code"), 137);
	assert_string_equal(string(json, "findings.0.kind"), "failure");
	assert_string_equal(string(json, "findings.0.severity"), "error");
	assert_string_equal(string(json, "findings.0.subject"), "STAR");
	assert_string_equal(string(json, "findings.0.evidence.reason"),
			    "killed by SIGKILL: out of memory in cgroup "
			    "/slurm/job_4711/step_0, limit 2.00 GiB, peak 2.00 GiB");
	assert_true(json_is_null(at(json, "findings.0.evidence.exit_code")));
	assert_int_equal(integer(json, "findings.0.evidence.signal"), SIGKILL);
	assert_string_equal(string(json, "findings.0.evidence.signal_name"), "SIGKILL");
	assert_int_equal(integer(json, "findings.0.evidence.oom.limit_bytes"), UINT64_C(2) << 30);
	assert_string_equal(string(json, "findings.0.evidence.passed_on_by.0.name"), "rnaseq.sh");
	assert_true(json_is_true(at(json, "findings.0.evidence.ended_run")));
	assert_string_equal(string(json, "findings.1.subject"), "pigz");
	assert_true(json_is_true(at(json, "findings.1.evidence.core_dumped")));
	assert_true(json_is_null(at(json, "findings.1.evidence.oom")));
	assert_true(json_is_true(at(json, "processes.2.oom_killed")));
	json_decref(json);
}

static void unended(void **state)
{
	json_t *json = json_of("running");

	(void)state;
	assert_true(json_is_null(at(json, "run.end")));
	assert_true(json_is_null(at(json, "run.exit_code")));
	assert_true(json_is_null(at(json, "run.wall_ns")));
	assert_string_equal(string(json, "run.state"), "running");
	assert_true(json_is_null(at(json, "processes.0.end")));
	assert_true(json_is_null(at(json, "processes.0.wall_ns")));
	assert_string_equal(string(json, "processes.0.state"), "running");
	json_decref(json);
}

static void losses(void **state)
{
	json_t *json = json_of("losses");

	(void)state;
	assert_int_equal(integer(json, "loss.kernel"), 1230);
	assert_int_equal(integer(json, "loss.queue"), 0);
	assert_int_equal(integer(json, "loss.sink"), 1);
	assert_int_equal(json_array_size(at(json, "loss.streams")), 3);
	assert_string_equal(string(json, "loss.streams.0.stream"), "process.exec");
	assert_int_equal(integer(json, "accuracy.missing_processes"), 3);
	assert_int_equal(integer(json, "accuracy.cpu_exact_processes"), 42);
	assert_false(json_is_true(at(json, "accuracy.wait4_comparable")));
	json_decref(json);
}

static void tasks(void **state)
{
	struct reports *r = reports_new("tasks", "run", 4);
	struct lake_task *t;
	json_t *json;

	(void)state;
	reports_add(r, 0, "run", "run", 0, 1000, 10);
	reports_add(r, 0, "b", "b", 100, 400, 20)->task = "SORT (2)";
	t = reports_task(r, "ALIGN (1)", 110, 900, 70);
	t->sample = "s1";
	t->attempt = 2;
	t->exit_code = 1;
	t->failures = 1;
	t->requested_cpus = 1.5;
	t->requested_memory_bytes = 4096;
	t->requested_source = "environ";
	t->granted_memory_bytes = 8192;
	t->granted_source = "job";
	reports_task(r, "SORT (2)", 120, 0, 60);
	reports_finish(r, 1000, 0, 0);
	json = printed(&r->report);
	assert_int_equal(json_array_size(at(json, "tasks")), 2);
	assert_string_equal(string(json, "tasks.0.task"), "ALIGN (1)");
	assert_int_equal(integer(json, "tasks.0.processes"), 2);
	assert_int_equal(integer(json, "tasks.0.cpu_ns"), 70 * REPORTS_MS);
	assert_int_equal(integer(json, "tasks.0.wall_ns"), 790 * REPORTS_MS);
	assert_int_equal(integer(json, "tasks.0.failures"), 1);
	assert_int_equal(integer(json, "tasks.0.attempt"), 2);
	assert_int_equal(integer(json, "tasks.0.exit_code"), 1);
	assert_int_equal(integer(json, "tasks.0.requested.memory_bytes"), 4096);
	assert_true(json_is_null(at(json, "tasks.0.requested.gpus")));
	assert_string_equal(string(json, "tasks.0.requested.source"), "environ");
	assert_int_equal(integer(json, "tasks.0.granted.memory_bytes"), 8192);
	assert_true(json_is_null(at(json, "tasks.0.granted.cpus")));
	assert_string_equal(string(json, "tasks.0.granted.source"), "job");
	assert_string_equal(string(json, "tasks.0.sample"), "s1");
	check_keys(at(json, "tasks.0"), (const char *const[]) { "task", "failures", "start", "end", "wall_ns", NULL });
	assert_string_equal(string(json, "tasks.1.state"), "running");
	assert_string_equal(string(json, "tasks.1.task"), "SORT (2)");
	assert_true(json_is_null(at(json, "tasks.1.end"))); /* one task still runs */
	assert_string_equal(string(json, "processes.1.task"), "SORT (2)");
	assert_true(json_is_null(at(json, "processes.0.task")));
	json_decref(json);
	reports_free(r);
}

static void approx(void **state)
{
	static const struct lake_facet facets[] = { { "sched.running_ns", 12.5 }, { "net.rx_bytes", 1e15 } };
	struct reports *r = reports_new("approx", "run", 4);
	struct lake_process *p = reports_add(r, 0, "run", "run", 0, 1000, 10);
	json_t *json;

	(void)state;
	reports_kind(p)->approx = APPROX_SPLIT | APPROX_COUNTERS | APPROX_END | APPROX_RSS_PEAK |
		    APPROX_THREADS | APPROX_START | APPROX_EXEC | APPROX_ENVIRON | APPROX_FACETS;
	p->facets = facets;
	p->n_facets = 2;
	reports_finish(r, 1000, 0, 0);
	json = printed(&r->report);
	assert_int_equal(json_array_size(at(json, "processes.0.approx")), 9);
	assert_string_equal(string(json, "processes.0.approx.0"), "split");
	assert_string_equal(string(json, "processes.0.approx.6"), "exec");
	assert_string_equal(string(json, "processes.0.approx.7"), "environ");
	assert_string_equal(string(json, "processes.0.approx.8"), "facets");
	assert_float_equal(json_real_value(json_object_get(at(json, "processes.0.facets"), "sched.running_ns")), 12.5,
			   1e-9);
	json_decref(json);
	reports_free(r);
}

/* JSON cannot contain bytes that are not UTF-8: each becomes U+FFFD, all others stay. */
static void bytes(void **state)
{
	json_t *value = json_out_string("caf\xe9 \xe5\xa1\xa9 \xff\xfe\n");
	json_t *json = json_of("names");
	char *text = json_dumps(json, 0);
	json_error_t error;
	json_t *again = json_loads(text, 0, &error);

	(void)state;
	assert_string_equal(json_string_value(value), "caf\xef\xbf\xbd \xe5\xa1\xa9 \xef\xbf\xbd\xef\xbf\xbd\n");
	assert_non_null(again);
	assert_true(json_equal(json, again));
	json_decref(value);
	json_decref(json);
	json_decref(again);
	free(text);
}

static json_t *printed_as(const struct lake_report *report, enum report_json_form form)
{
	size_t size = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	assert_non_null(out);
	assert_int_equal(report_json_print_as(report, form, out), 0);
	assert_int_equal(fclose(out), 0);
	json = json_loadb(text, size, 0, NULL);
	assert_non_null(json);
	free(text);
	return json;
}

/* [{"a": 1}, {"a": 2}] equals {"a": [1, 2]}; without rows no key is known. */
static void check_transposed(json_t *rows, json_t *columns)
{
	const char *key;
	json_t *column;

	assert_int_equal(json_object_size(columns), json_object_size(json_array_get(rows, 0)));
	json_object_foreach(columns, key, column) {
		assert_int_equal(json_array_size(column), json_array_size(rows));
		for (size_t i = 0; i < json_array_size(rows); i++)
			assert_true(
				json_equal(json_array_get(column, i), json_object_get(json_array_get(rows, i), key)));
	}
}

#define MANY 1000 /* processes and tasks of a situation that takes seconds here and has no other keys */

/* Every situation as rows, as columns and as a summary says the same. */
static void forms(void **state)
{
	static const char *const lists[] = { "processes", "samples", "intervals" };
	size_t rows = 0;

	(void)state;
	for (const char *const *name = reports_situations; *name; name++) {
		struct reports *r = reports_situation(*name);
		json_t *whole, *columns, *summary;

		if (r->report.n_processes + r->report.n_tasks > MANY) {
			reports_free(r);
			continue;
		}
		whole = printed(&r->report);
		columns = printed_as(&r->report, REPORT_JSON_COLUMNS);
		summary = printed_as(&r->report, REPORT_JSON_SUMMARY);
		for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
			rows += json_array_size(json_object_get(whole, lists[i]));
			check_transposed(json_object_get(whole, lists[i]), json_object_get(columns, lists[i]));
			assert_null(json_object_get(summary, lists[i]));
			json_object_del(whole, lists[i]);
			json_object_del(columns, lists[i]);
		}
		assert_true(json_equal(whole, columns));
		assert_true(json_equal(whole, summary));
		json_decref(whole);
		json_decref(columns);
		json_decref(summary);
		reports_free(r);
	}
	assert_true(rows > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(forms),     cmocka_unit_test(keys),    cmocka_unit_test(intervals),
		cmocka_unit_test(books),     cmocka_unit_test(intervals_of_own_lengths),
		cmocka_unit_test(same_keys), cmocka_unit_test(units),   cmocka_unit_test(success),
		cmocka_unit_test(killed),    cmocka_unit_test(unended), cmocka_unit_test(losses),
		cmocka_unit_test(tasks),     cmocka_unit_test(approx),  cmocka_unit_test(bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
