/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/report_json.c - prints a run's report as JSON.  The keys and their order are an
 * interface: add keys, never rename one.
 *
 * An unknown value is null, not 0.  Strings of processes may be any bytes; JSON is
 * UTF-8, so other bytes become U+FFFD (skep/utf8.h).
 */
#include "cli/report/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/base/json_out.h"
#include "cli/base/text.h"
#include "cli/report/accuracy.h"
#include "cli/report/failures.h"
#include "cli/report/reason.h"
#include "core/control/control_record.h"
#include "core/process/records.h"

/* ---- values --------------------------------------------------------------- */

/*
 * Sets a key.  jansson's _new functions own the value, on failure too, and fail when it is NULL:
 * one check of `ok` after many calls is enough.
 */
static void put(json_t *object, const char *key, json_t *value, bool *ok)
{
	if (json_object_set_new(object, key, value) != 0)
		*ok = false;
}

static json_t *number(uint64_t n)
{
	return json_integer(n > INT64_MAX ? INT64_MAX : (json_int_t)n);
}

static json_t *string_or_null(const char *s)
{
	return *s ? json_out_string(s) : json_null();
}

static json_t *strings(const char *const *list)
{
	json_t *array = json_array();

	for (size_t i = 0; array && list && list[i]; i++) {
		if (json_array_append_new(array, json_out_string(list[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* The time between; null if the end is before the beginning, so unknown. */
static json_t *duration(uint64_t from, uint64_t to)
{
	return from && to >= from ? number(to - from) : json_null();
}

static json_t *exit_code(int64_t code)
{
	return code < 0 ? json_null() : json_integer(code);
}

static void put_signal(json_t *object, uint64_t signal, bool *ok)
{
	char name[REASON_SIGNAL_SIZE];

	put(object, "signal", signal ? number(signal) : json_null(), ok);
	put(object, "signal_name", signal ? json_string(reason_signal(signal, name)) : json_null(), ok);
}

/* Returns the object, or frees it and returns NULL if any put() failed. */
static json_t *done(json_t *object, bool ok)
{
	if (!ok) {
		json_decref(object);
		return NULL;
	}
	return object;
}

/* ---- totals --------------------------------------------------------------- */

/* Numbers of samples, not times; null without samples. */
static json_t *json_states(const struct lake_totals *t)
{
	static const char *const names[LAKE_STATES] = {
		[LAKE_RUNNING] = "running", [LAKE_RUNNABLE] = "runnable", [LAKE_IOWAIT] = "iowait",
		[LAKE_BLOCKED] = "blocked", [LAKE_SLEEPING] = "sleeping",
	};
	uint64_t all = 0;
	json_t *o;
	bool ok;

	for (int i = 0; i < LAKE_STATES; i++)
		all += t->states[i];
	if (!all)
		return json_null();
	o = json_object();
	ok = o != NULL;
	put(o, "samples", number(all), &ok);
	for (int i = 0; i < LAKE_STATES; i++)
		put(o, names[i], number(t->states[i]), &ok);
	return done(o, ok);
}

/* The figures that a run, a task, a tool and a process have in common. */
static void put_totals(json_t *o, const struct lake_totals *t, bool *ok)
{
	put(o, "cpu_ns", number(t->cpu_ns), ok);
	put(o, "user_ns", number(t->user_ns), ok);
	put(o, "system_ns", number(t->system_ns), ok);
	put(o, "run_delay_ns", number(t->run_delay_ns), ok);
	put(o, "rss_peak_bytes", number(t->rss_peak_bytes), ok);
	put(o, "read_bytes", number(t->read_bytes), ok);
	put(o, "write_bytes", number(t->write_bytes), ok);
	put(o, "cancelled_write_bytes", number(t->cancelled_write_bytes), ok);
	put(o, "rchar_bytes", number(t->rchar_bytes), ok);
	put(o, "wchar_bytes", number(t->wchar_bytes), ok);
	put(o, "net_rx_bytes", t->net_known ? number(t->net_rx_bytes) : json_null(), ok);
	put(o, "net_tx_bytes", t->net_known ? number(t->net_tx_bytes) : json_null(), ok);
	put(o, "block_delay_ns", number(t->block_delay_ns), ok);
	put(o, "thread_states", json_states(t), ok);
	put(o, "major_faults", number(t->major_faults), ok);
	put(o, "minor_faults", number(t->minor_faults), ok);
	put(o, "voluntary_switches", number(t->voluntary_switches), ok);
	put(o, "involuntary_switches", number(t->involuntary_switches), ok);
}

static void put_counts(json_t *o, const struct lake_totals *t, bool *ok)
{
	put(o, "processes", number(t->processes), ok);
	put(o, "images", number(t->images), ok);
	put(o, "threads", t->threads ? number(t->threads) : json_null(), ok);
}

static json_t *json_totals(const struct lake_report *report)
{
	struct lake_totals totals = report->run.totals;
	uint64_t wall = accuracy_end(report) - report->run.start_ns;
	json_t *o = json_object();
	bool ok = o != NULL;

	/* The run's peak covers all processes together; a tool's is the peak of its largest process. */
	if (report->run.rss_peak_bytes > totals.rss_peak_bytes)
		totals.rss_peak_bytes = report->run.rss_peak_bytes;
	put_counts(o, &totals, &ok);
	put_totals(o, &totals, &ok);
	put(o, "cores_avg", json_real(wall ? (double)totals.cpu_ns / (double)wall : 0), &ok);
	return done(o, ok);
}

/* ---- run ------------------------------------------------------------------ */

json_t *report_json_run(const struct lake_run *run)
{
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "id", json_out_string(run->id), &ok);
	put(o, "name", json_out_string(run->name), &ok);
	put(o, "pipeline", string_or_null(run->pipeline), &ok);
	put(o, "host", json_out_string(run->host), &ok);
	put(o, "start", json_out_time(run->start_ns), &ok);
	put(o, "end", json_out_time(run->end_ns), &ok);
	put(o, "exit_code", exit_code(run->exit_code), &ok);
	put_signal(o, run->signal, &ok);
	put(o, "state", json_out_string(run->state), &ok);
	put(o, "wall_ns", run->end_ns ? duration(run->start_ns, run->end_ns) : json_null(), &ok);
	put(o, "argv", strings(run->argv), &ok);
	put(o, "cwd", string_or_null(run->cwd), &ok);
	put(o, "uid", number(run->uid), &ok);
	put(o, "root_upid", string_or_null(run->root_upid), &ok);
	put(o, "boot_id", string_or_null(run->boot_id), &ok);
	put(o, "kernel", string_or_null(run->kernel), &ok);
	put(o, "skep_version", string_or_null(run->version), &ok);
	put(o, "cpus", run->cpus ? number(run->cpus) : json_null(), &ok);
	put(o, "interval_ns", run->interval_ns ? number(run->interval_ns) : json_null(), &ok);
	put(o, "processes_seen", number(run->processes_seen), &ok);
	put(o, "failures", number(run->failures), &ok);
	return done(o, ok);
}

/* ---- tools, tasks --------------------------------------------------------- */

static json_t *json_tool(const struct lake_tool *tool)
{
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "tool", json_out_string(tool->tool), &ok);
	put(o, "calls", number(tool->calls), &ok);
	put(o, "failures", number(tool->failures), &ok);
	put(o, "start", json_out_time(tool->first_start_ns), &ok);
	put(o, "end", json_out_time(tool->last_end_ns), &ok);
	put(o, "wall_ns", number(tool->wall_ns), &ok);
	put(o, "wall_sum_ns", number(tool->wall_sum_ns), &ok);
	put(o, "longest_ns", number(tool->longest_ns), &ok);
	put(o, "cores_avg", json_real(tool->cores_avg), &ok);
	put(o, "cores_peak", json_real(tool->cores_peak), &ok);
	put_counts(o, &tool->totals, &ok);
	put_totals(o, &tool->totals, &ok);
	return done(o, ok);
}

static json_t *json_tools(const struct lake_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->n_tools; i++) {
		if (json_array_append_new(array, json_tool(&report->tools[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static int by_task(const void *a, const void *b, void *arg)
{
	const struct lake_process *processes = arg;
	size_t i = *(const size_t *)a, j = *(const size_t *)b;
	int order = strcmp(processes[i].task, processes[j].task);

	return order ? order : i < j ? -1 : i > j;
}

/* images: those of one task, by start. */
static json_t *json_task(const struct lake_report *report, const size_t *images, size_t n)
{
	struct lake_totals sum = { 0 };
	uint64_t start = 0, end = 0, failures = 0;
	bool running = false, ok;
	json_t *o = json_object();

	for (size_t i = 0; i < n; i++) {
		const struct lake_process *p = &report->processes[images[i]];
		const struct lake_totals *t = &p->totals;

		start = !start || (p->start_ns && p->start_ns < start) ? p->start_ns : start;
		end = p->end_ns > end ? p->end_ns : end;
		running |= p->end_ns == 0;
		failures += reason_failed(p);
		sum.processes += p->last;
		sum.images++;
		sum.threads = p->threads_peak > sum.threads ? p->threads_peak : sum.threads;
		sum.cpu_ns += t->cpu_ns;
		sum.user_ns += t->user_ns;
		sum.system_ns += t->system_ns;
		sum.run_delay_ns += t->run_delay_ns;
		sum.voluntary_switches += t->voluntary_switches;
		sum.involuntary_switches += t->involuntary_switches;
		sum.minor_faults += t->minor_faults;
		sum.major_faults += t->major_faults;
		sum.rss_peak_bytes = t->rss_peak_bytes > sum.rss_peak_bytes ? t->rss_peak_bytes : sum.rss_peak_bytes;
		sum.rchar_bytes += t->rchar_bytes;
		sum.wchar_bytes += t->wchar_bytes;
		sum.read_bytes += t->read_bytes;
		sum.write_bytes += t->write_bytes;
		sum.cancelled_write_bytes += t->cancelled_write_bytes;
		sum.net_known |= t->net_known;
		sum.net_rx_bytes += t->net_rx_bytes;
		sum.net_tx_bytes += t->net_tx_bytes;
		sum.block_delay_ns += t->block_delay_ns;
		for (int k = 0; k < LAKE_STATES; k++)
			sum.states[k] += t->states[k];
	}
	ok = o != NULL;
	put(o, "task", json_out_string(report->processes[images[0]].task), &ok);
	put(o, "failures", number(failures), &ok);
	put(o, "start", json_out_time(start), &ok);
	put(o, "end", json_out_time(running ? 0 : end), &ok);
	put(o, "wall_ns", running ? json_null() : duration(start, end), &ok);
	put_counts(o, &sum, &ok);
	put_totals(o, &sum, &ok);
	return done(o, ok);
}

/* Tasks by name: a lake has no order of tasks. */
static json_t *json_tasks(const struct lake_report *report)
{
	size_t *images = calloc(report->n_processes + 1, sizeof(*images)), n = 0;
	json_t *array = json_array();

	if (!images || !array)
		goto fail;
	for (size_t i = 0; i < report->n_processes; i++) {
		if (*report->processes[i].task)
			images[n++] = i;
	}
	qsort_r(images, n, sizeof(*images), by_task, report->processes);
	for (size_t i = 0, end; i < n; i = end) {
		const char *task = report->processes[images[i]].task;

		for (end = i + 1; end < n && strcmp(report->processes[images[end]].task, task) == 0; end++)
			;
		if (json_array_append_new(array, json_task(report, images + i, end - i)) != 0)
			goto fail;
	}
	free(images);
	return array;
fail:
	free(images);
	json_decref(array);
	return NULL;
}

/* ---- processes ------------------------------------------------------------ */

static json_t *json_approx(uint64_t approx)
{
	static const struct {
		uint64_t bit;
		const char *word;
	} words[] = {
		{ APPROX_SPLIT, "split" },
		{ APPROX_COUNTERS, "counters" },
		{ APPROX_END, "end" },
		{ APPROX_RSS_PEAK, "rss_peak" },
		{ APPROX_RUN_DELAY, "run_delay" },
		{ APPROX_START, "start" },
		{ APPROX_EXEC, "exec" },
		{ APPROX_ARGV, "argv" },
	};
	json_t *array = json_array();

	for (size_t i = 0; array && i < sizeof(words) / sizeof(*words); i++) {
		if (approx & words[i].bit && json_array_append_new(array, json_string(words[i].word)) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *json_oom(const struct lake_process *p)
{
	json_t *o;
	bool ok;

	if (!p->oom_killed)
		return json_null();
	o = json_object();
	ok = o != NULL;
	put(o, "cgroup", string_or_null(p->oom_cgroup), &ok);
	put(o, "limit_bytes", p->oom_limit_bytes ? number(p->oom_limit_bytes) : json_null(), &ok);
	put(o, "usage_bytes", p->oom_usage_bytes ? number(p->oom_usage_bytes) : json_null(), &ok);
	put(o, "peak_bytes", p->oom_peak_bytes ? number(p->oom_peak_bytes) : json_null(), &ok);
	return done(o, ok);
}

static json_t *json_facets(const struct lake_process *p)
{
	json_t *o = json_object();
	bool ok = o != NULL;

	for (size_t i = 0; i < p->n_facets; i++)
		put(o, p->facets[i].name, json_real(p->facets[i].value), &ok);
	return done(o, ok);
}

static json_t *json_process(const struct lake_process *p)
{
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "upid", json_out_string(p->upid), &ok);
	put(o, "image", number(p->image), &ok);
	put(o, "pid", number(p->pid), &ok);
	put(o, "ppid", number(p->ppid), &ok);
	put(o, "parent_upid", string_or_null(p->parent_upid), &ok);
	put(o, "tool", json_out_string(p->tool), &ok);
	put(o, "exe", json_out_string(p->exe), &ok);
	put(o, "argv", strings(p->argv), &ok);
	put(o, "cwd", json_out_string(p->cwd), &ok);
	put(o, "uid", number(p->uid), &ok);
	put(o, "start", json_out_time(p->start_ns), &ok);
	put(o, "end", json_out_time(p->end_ns), &ok);
	put(o, "exit_code", exit_code(p->exit_code), &ok);
	put_signal(o, p->signal, &ok);
	put(o, "oom_killed", json_boolean(p->oom_killed), &ok);
	put(o, "core_dumped", json_boolean(p->core_dumped), &ok);
	put(o, "oom", json_oom(p), &ok);
	put(o, "state", json_out_string(p->state), &ok);
	put(o, "wall_ns", duration(p->start_ns, p->end_ns), &ok);
	put(o, "threads", p->threads_peak ? number(p->threads_peak) : json_null(), &ok);
	put_totals(o, &p->totals, &ok);
	put(o, "maxrss_bytes", p->maxrss_bytes ? number(p->maxrss_bytes) : json_null(), &ok);
	put(o, "read_calls", number(p->read_calls), &ok);
	put(o, "write_calls", number(p->write_calls), &ok);
	put(o, "run_count", number(p->run_count), &ok);
	put(o, "approx", json_approx(p->approx), &ok);
	put(o, "task", string_or_null(p->task), &ok);
	put(o, "container", string_or_null(p->container), &ok);
	put(o, "cgroup", string_or_null(p->cgroup), &ok);
	put(o, "comm", json_out_string(p->comm), &ok);
	put(o, "filename", string_or_null(p->filename), &ok);
	put(o, "argv_cut", json_boolean(p->argv_cut), &ok);
	put(o, "wrapper", json_boolean(p->wrapper), &ok);
	put(o, "execed", json_boolean(p->execed), &ok);
	put(o, "last", json_boolean(p->last), &ok);
	put(o, "gid", number(p->gid), &ok);
	put(o, "session", number(p->session), &ok);
	put(o, "facets", json_facets(p), &ok);
	return done(o, ok);
}

static json_t *json_processes(const struct lake_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->n_processes; i++) {
		if (json_array_append_new(array, json_process(&report->processes[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* ---- findings ------------------------------------------------------------- */

static json_t *json_chain(const struct lake_report *report, const struct failure *failure)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < failure->n_chain; i++) {
		const struct lake_process *p = &report->processes[failure->chain[i]];
		json_t *o = json_object();
		bool ok = o != NULL;

		put(o, "upid", json_out_string(p->upid), &ok);
		put(o, "pid", number(p->pid), &ok);
		put(o, "name", json_out_string(reason_name(p)), &ok);
		put(o, "exit_code", exit_code(p->exit_code), &ok);
		put_signal(o, p->signal, &ok);
		if (json_array_append_new(array, done(o, ok)) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *json_upids(const struct lake_report *report, const struct failure *failure)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < failure->n; i++) {
		if (json_array_append_new(array, json_out_string(report->processes[failure->images[i]].upid)) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* Makes a string of an allocated text, and frees the text. */
static json_t *taken(char *text)
{
	json_t *value = text ? json_out_string(text) : NULL;

	free(text);
	return value;
}

/* The evidence: the group's first process, with all that the kernel reported about its end. */
static json_t *json_evidence(const struct lake_report *report, const struct failure *failure)
{
	const struct lake_process *first = &report->processes[failure->images[0]];
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "reason", taken(reason_text(first, true)), &ok);
	put(o, "processes", number(failure->n), &ok);
	put(o, "ended_run", json_boolean(failure->ended_run), &ok);
	put(o, "upid", json_out_string(first->upid), &ok);
	put(o, "pid", number(first->pid), &ok);
	put(o, "argv", strings(first->argv), &ok);
	put(o, "end", json_out_time(first->end_ns), &ok);
	put(o, "wall_ns", duration(first->start_ns, first->end_ns), &ok);
	put(o, "exit_code", exit_code(first->exit_code), &ok);
	put_signal(o, first->signal, &ok);
	put(o, "core_dumped", json_boolean(first->core_dumped), &ok);
	put(o, "rss_peak_bytes", number(first->totals.rss_peak_bytes), &ok);
	put(o, "oom", json_oom(first), &ok);
	put(o, "passed_on_by", json_chain(report, failure), &ok);
	put(o, "upids", json_upids(report, failure), &ok);
	return done(o, ok);
}

static json_t *json_finding(const struct lake_report *report, const struct failure *failure)
{
	const struct lake_process *first = &report->processes[failure->images[0]];
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "kind", json_string("failure"), &ok);
	put(o, "severity", json_string(failure_severity_name(failure->severity)), &ok);
	put(o, "subject", json_out_string(failure->subject), &ok);
	put(o, "evidence", json_evidence(report, failure), &ok);
	put(o, "advice", taken(reason_advice(first, true)), &ok);
	return done(o, ok);
}

static json_t *json_findings(const struct lake_report *report, const struct failures *failures)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < failures->n; i++) {
		if (json_array_append_new(array, json_finding(report, &failures->list[i])) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* ---- ledger --------------------------------------------------------------- */

/* The amount of an item; NULL: the account has no such line. */
static json_t *ledger_amount(const struct lake_report *report, const char *account, const char *item)
{
	for (size_t i = 0; i < report->n_ledger; i++) {
		const struct lake_ledger *l = &report->ledger[i];

		if (strcmp(l->account, account) == 0 && strcmp(l->item, item) == 0)
			return json_integer(l->amount);
	}
	return json_null();
}

static json_t *json_ledger_lines(const struct lake_report *report)
{
	json_t *array = json_array();

	for (size_t i = 0; array && i < report->n_ledger; i++) {
		const struct lake_ledger *l = &report->ledger[i];
		json_t *o = json_object();
		bool ok = o != NULL;

		put(o, "account", json_out_string(l->account), &ok);
		put(o, "item", json_out_string(l->item), &ok);
		put(o, "kind", json_out_string(l->kind), &ok);
		put(o, "amount", json_integer(l->amount), &ok);
		if (json_array_append_new(array, done(o, ok)) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

/* The CPU account with named items, and all accounts unchanged; null without a ledger. */
static json_t *json_ledger(const struct lake_report *report)
{
	static const struct {
		const char *key, *item;
	} items[] = {
		{ "capacity_ns", "capacity" },    { "idle_ns", "idle" },         { "wakeup_ns", "wakeup" },
		{ "steal_ns", "steal" },          { "irq_ns", "irq" },           { "kernel_ns", "kernel" },
		{ "attributed_ns", "processes" }, { "excluded_ns", "excluded" }, { "unattributed_ns", "unattributed" },
	};
	json_t *o;
	bool ok;

	if (report->n_ledger == 0)
		return json_null();
	o = json_object();
	ok = o != NULL;
	put(o, "interval_ns", number(report->ledger[0].interval_ns), &ok);
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++)
		put(o, items[i].key, ledger_amount(report, "cpu", items[i].item), &ok);
	put(o, "accounts", json_ledger_lines(report), &ok);
	return done(o, ok);
}

/* ---- loss, accuracy ------------------------------------------------------- */

static json_t *json_loss(const struct lake_report *report)
{
	const struct lake_run *run = &report->run;
	json_t *o = json_object(), *where = json_array();
	bool ok = o != NULL && where != NULL;

	put(o, "kernel", number(run->lost_kernel), &ok);
	put(o, "queue", number(run->lost_queue), &ok);
	put(o, "spool", number(run->lost_spool), &ok);
	put(o, "sink", number(run->lost_sink), &ok);
	for (size_t i = 0; ok && i < report->n_losses; i++) {
		const struct lake_loss *l = &report->losses[i];
		json_t *one = json_object();

		ok = one != NULL;
		put(one, "instance", json_out_string(l->instance), &ok);
		put(one, "stream", json_out_string(l->stream), &ok);
		put(one, "where", json_out_string(l->where), &ok);
		put(one, "records", number(l->count), &ok);
		if (json_array_append_new(where, one) != 0)
			ok = false;
	}
	put(o, "streams", where, &ok);
	return done(o, ok);
}

static json_t *json_accuracy(const struct lake_report *report, const struct accuracy *a)
{
	uint64_t wait4 = report->run.rusage_cpu_ns;
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "processes", number(a->processes), &ok);
	put(o, "cpu_exact_processes", number(a->cpu_exact), &ok);
	put(o, "missing_processes", number(a->missing), &ok);
	put(o, "wait4_cpu_ns", wait4 ? number(wait4) : json_null(), &ok);
	put(o, "wait4_comparable", json_boolean(a->wait4_known), &ok);
	put(o, "wait4_difference_ns", a->wait4_known ? number(a->wait4_difference_ns) : json_null(), &ok);
	return done(o, ok);
}

/* ---- all of it ------------------------------------------------------------ */

json_t *report_json(const struct lake_report *report)
{
	struct family *family = NULL;
	struct failures *failures = NULL;
	struct accuracy accuracy;
	json_t *o = NULL;
	bool ok;

	if (family_new(report, &family) != 0 || failures_new(family, &failures) != 0)
		goto out;
	accuracy_of(family, &accuracy);
	o = json_object();
	ok = o != NULL;
	put(o, "run", report_json_run(&report->run), &ok);
	put(o, "totals", json_totals(report), &ok);
	put(o, "tasks", json_tasks(report), &ok);
	put(o, "tools", json_tools(report), &ok);
	put(o, "processes", json_processes(report), &ok);
	put(o, "findings", json_findings(report, failures), &ok);
	put(o, "loss", json_loss(report), &ok);
	put(o, "ledger", json_ledger(report), &ok);
	put(o, "accuracy", json_accuracy(report, &accuracy), &ok);
	o = done(o, ok);
out:
	failures_free(failures);
	family_free(family);
	return o;
}

int report_json_print(const struct lake_report *report, FILE *out)
{
	return json_out_write(report_json(report), out);
}
