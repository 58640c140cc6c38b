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
#include "cli/base/json_stream.h"
#include "cli/base/text.h"
#include "cli/report/accuracy.h"
#include "cli/report/failures.h"
#include "cli/report/reason.h"
#include "cli/report/report_intervals.h"
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
	return s && *s ? json_out_string(s) : json_null();
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
static void states_out(struct json_stream *o, const struct lake_totals *t)
{
	static const char *const names[LAKE_STATES] = {
		[LAKE_RUNNING] = "running", [LAKE_RUNNABLE] = "runnable", [LAKE_IOWAIT] = "iowait",
		[LAKE_BLOCKED] = "blocked", [LAKE_SLEEPING] = "sleeping",
	};
	uint64_t all = 0;

	for (int i = 0; i < LAKE_STATES; i++)
		all += t->states[i];
	if (!all) {
		json_stream_null(o, "thread_states");
		return;
	}
	json_stream_open(o, "thread_states", '{');
	json_stream_number(o, "samples", all);
	for (int i = 0; i < LAKE_STATES; i++)
		json_stream_number(o, names[i], t->states[i]);
	json_stream_close(o, '}');
}

/* null for a value that is not known */
static void number_out(struct json_stream *o, const char *key, uint64_t n, bool known)
{
	if (known)
		json_stream_number(o, key, n);
	else
		json_stream_null(o, key);
}

static void real_out(struct json_stream *o, const char *key, double value, bool known)
{
	if (known)
		json_stream_real(o, key, value);
	else
		json_stream_null(o, key);
}

/* The time between; null if the end is before the beginning, so unknown. */
static void duration_out(struct json_stream *o, const char *key, uint64_t from, uint64_t to)
{
	number_out(o, key, to - from, from && to >= from);
}

static void exit_code_out(struct json_stream *o, int64_t code)
{
	number_out(o, "exit_code", (uint64_t)code, code >= 0);
}

static void text_out(struct json_stream *o, const char *key, const char *s)
{
	json_stream_string(o, key, s && *s ? s : NULL);
}

static void signal_out(struct json_stream *o, uint64_t signal)
{
	char name[REASON_SIGNAL_SIZE];

	number_out(o, "signal", signal, signal);
	json_stream_string(o, "signal_name", signal ? reason_signal(signal, name) : NULL);
}

/* The figures that a run, a task, a tool and a process have in common. */
static void totals_out(struct json_stream *o, const struct lake_totals *t)
{
	json_stream_number(o, "cpu_ns", t->cpu_ns);
	json_stream_number(o, "user_ns", t->user_ns);
	json_stream_number(o, "system_ns", t->system_ns);
	json_stream_number(o, "run_delay_ns", t->run_delay_ns);
	json_stream_number(o, "rss_peak_bytes", t->rss_peak_bytes);
	json_stream_number(o, "read_bytes", t->read_bytes);
	json_stream_number(o, "write_bytes", t->write_bytes);
	json_stream_number(o, "cancelled_write_bytes", t->cancelled_write_bytes);
	json_stream_number(o, "rchar_bytes", t->rchar_bytes);
	json_stream_number(o, "wchar_bytes", t->wchar_bytes);
	number_out(o, "net_rx_bytes", t->net_rx_bytes, t->net_known);
	number_out(o, "net_tx_bytes", t->net_tx_bytes, t->net_known);
	json_stream_number(o, "block_delay_ns", t->block_delay_ns);
	states_out(o, t);
	json_stream_number(o, "major_faults", t->major_faults);
	json_stream_number(o, "minor_faults", t->minor_faults);
	json_stream_number(o, "voluntary_switches", t->voluntary_switches);
	json_stream_number(o, "involuntary_switches", t->involuntary_switches);
}

static void counts_out(struct json_stream *o, const struct lake_totals *t)
{
	json_stream_number(o, "processes", t->processes);
	json_stream_number(o, "images", t->images);
	number_out(o, "threads", t->threads, t->threads);
}

static void run_totals_out(struct json_stream *o, const struct lake_report *report)
{
	struct lake_totals totals = report->run.totals;
	uint64_t wall = accuracy_end(report) - report->run.start_ns;

	json_stream_open(o, "totals", '{');
	counts_out(o, &totals);
	totals_out(o, &totals);
	json_stream_real(o, "cores_avg", wall ? (double)totals.cpu_ns / (double)wall : 0);
	json_stream_close(o, '}');
}

/* ---- run ------------------------------------------------------------------ */

/* What the container is called and belongs to; its id has an earlier place in tasks. */
static void contained_out(struct json_stream *o, const struct lake_contained *in)
{
	text_out(o, "container_name", in->container_name);
	text_out(o, "container_image", in->container_image);
	text_out(o, "pod", in->pod);
	text_out(o, "namespace", in->name_space);
	text_out(o, "unit", in->unit);
}

static void argv_out(struct json_stream *o, const char *const *argv)
{
	json_stream_open(o, "argv", '[');
	for (size_t i = 0; argv && argv[i]; i++)
		json_stream_string(o, NULL, argv[i]);
	json_stream_close(o, ']');
}

void report_json_run(struct json_stream *o, const struct lake_run *run)
{
	json_stream_string(o, "id", run->id);
	json_stream_string(o, "name", run->name);
	text_out(o, "pipeline", run->pipeline);
	json_stream_string(o, "host", run->host);
	json_stream_time(o, "start", run->start_ns);
	json_stream_time(o, "end", run->end_ns);
	exit_code_out(o, run->exit_code);
	signal_out(o, run->signal);
	json_stream_string(o, "state", run->state);
	duration_out(o, "wall_ns", run->start_ns, run->end_ns);
	argv_out(o, run->argv);
	text_out(o, "cwd", run->cwd);
	json_stream_number(o, "uid", run->uid);
	text_out(o, "root_upid", run->root_upid);
	text_out(o, "boot_id", run->boot_id);
	text_out(o, "kernel", run->kernel);
	text_out(o, "skep_version", run->version);
	number_out(o, "cpus", run->cpus, run->cpus);
	number_out(o, "interval_ns", run->interval_ns, run->interval_ns);
	json_stream_number(o, "memory_peak_bytes", run->memory_peak_bytes);
	text_out(o, "memory_source", run->memory_source);
	json_stream_number(o, "processes_seen", run->processes_seen);
	json_stream_number(o, "failures", run->failures);
	text_out(o, "engine", run->engine);
	text_out(o, "parent_run", run->parent_run);
	text_out(o, "origin", run->origin);
	text_out(o, "job", run->job);
	text_out(o, "container", run->in.container);
	contained_out(o, &run->in);
}

/* ---- tools, tasks --------------------------------------------------------- */

static void tool_out(struct json_stream *o, const struct lake_tool *tool)
{
	json_stream_open(o, NULL, '{');
	json_stream_string(o, "tool", tool->tool);
	json_stream_number(o, "calls", tool->calls);
	json_stream_number(o, "failures", tool->failures);
	json_stream_time(o, "start", tool->first_start_ns);
	json_stream_time(o, "end", tool->last_end_ns);
	json_stream_number(o, "wall_ns", tool->wall_ns);
	json_stream_number(o, "wall_sum_ns", tool->wall_sum_ns);
	json_stream_number(o, "longest_ns", tool->longest_ns);
	json_stream_real(o, "cores_avg", tool->cores_avg);
	json_stream_real(o, "cores_peak", tool->cores_peak);
	counts_out(o, &tool->totals);
	totals_out(o, &tool->totals);
	json_stream_close(o, '}');
}

/* walltime_ns: NULL: nothing of this kind has a time limit. */
static json_t *json_amounts(double cpus, uint64_t memory_bytes, const uint64_t *walltime_ns, uint64_t gpus,
			    const char *source)
{
	json_t *o = json_object();
	bool ok = o != NULL;

	put(o, "cpus", cpus > 0 ? json_real(cpus) : json_null(), &ok);
	put(o, "memory_bytes", memory_bytes ? number(memory_bytes) : json_null(), &ok);
	if (walltime_ns)
		put(o, "walltime_ns", *walltime_ns ? number(*walltime_ns) : json_null(), &ok);
	put(o, "gpus", gpus ? number(gpus) : json_null(), &ok);
	put(o, "source", string_or_null(source), &ok);
	return done(o, ok);
}

static void task_out(struct json_stream *o, const struct lake_task *t)
{
	uint64_t wall = t->end_ns > t->start_ns ? t->end_ns - t->start_ns : 0;

	json_stream_open(o, NULL, '{');
	json_stream_string(o, "task", t->task);
	json_stream_number(o, "failures", t->failures);
	json_stream_time(o, "start", t->start_ns);
	json_stream_time(o, "end", t->end_ns);
	duration_out(o, "wall_ns", t->start_ns, t->end_ns);
	counts_out(o, &t->totals);
	totals_out(o, &t->totals);
	text_out(o, "task_id", t->task_id);
	number_out(o, "attempt", t->attempt, t->attempt);
	text_out(o, "sample", t->sample);
	text_out(o, "engine", t->engine);
	text_out(o, "job", t->job);
	text_out(o, "step", t->step);
	text_out(o, "scopes", t->scopes);
	text_out(o, "container", t->in.container);
	text_out(o, "state", t->end_ns ? t->state : "running");
	exit_code_out(o, t->exit_code);
	signal_out(o, t->signal);
	text_out(o, "name_source", t->name_source);
	json_stream_value(o, "requested", json_amounts(t->requested_cpus, t->requested_memory_bytes,
						       &t->requested_walltime_ns, t->requested_gpus,
						       t->requested_source));
	json_stream_value(o, "granted", json_amounts(t->granted_cpus, t->granted_memory_bytes, NULL, t->granted_gpus,
						     t->granted_source));
	real_out(o, "cores_avg", wall ? (double)t->totals.cpu_ns / (double)wall : 0, wall);
	real_out(o, "cores_peak", t->cores_peak, t->cores_peak > 0);
	contained_out(o, &t->in);
	json_stream_close(o, '}');
}

/* ---- processes ------------------------------------------------------------ */

_Static_assert(APPROX_RSS_PEAK == LAKE_APPROX_RSS_PEAK, "the lake keeps the core's bits");

static void approx_out(struct json_stream *o, uint64_t approx)
{
	static const struct {
		uint64_t bit;
		const char *word;
	} words[] = {
		{ APPROX_SPLIT, "split" },
		{ APPROX_COUNTERS, "counters" },
		{ APPROX_END, "end" },
		{ APPROX_RSS_PEAK, "rss_peak" },
		{ APPROX_THREADS, "threads" },
		{ APPROX_START, "start" },
		{ APPROX_EXEC, "exec" },
		{ APPROX_ARGV, "argv" },
		{ APPROX_ENVIRON, "environ" },
		{ APPROX_FACETS, "facets" },
	};

	json_stream_open(o, "approx", '[');
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (approx & words[i].bit)
			json_stream_string(o, NULL, words[i].word);
	json_stream_close(o, ']');
}

static json_t *json_oom(const struct lake_process *p)
{
	json_t *o;
	bool ok;

	if (!p->kind->oom_killed)
		return json_null();
	o = json_object();
	ok = o != NULL;
	put(o, "cgroup", string_or_null(p->kind->oom_cgroup), &ok);
	put(o, "limit_bytes", p->kind->oom_limit_bytes ? number(p->kind->oom_limit_bytes) : json_null(), &ok);
	put(o, "usage_bytes", p->kind->oom_usage_bytes ? number(p->kind->oom_usage_bytes) : json_null(), &ok);
	put(o, "peak_bytes", p->kind->oom_peak_bytes ? number(p->kind->oom_peak_bytes) : json_null(), &ok);
	return done(o, ok);
}

static void process_out(struct json_stream *o, const struct lake_process *p)
{
	json_stream_open(o, NULL, '{');
	json_stream_string(o, "upid", p->upid);
	json_stream_number(o, "image", p->image);
	json_stream_number(o, "pid", p->pid);
	json_stream_number(o, "ppid", p->ppid);
	text_out(o, "parent_upid", p->parent_upid);
	json_stream_string(o, "tool", p->kind->tool);
	json_stream_string(o, "exe", p->kind->exe);
	json_stream_number(o, "exe_size_bytes", p->kind->exe_size_bytes);
	json_stream_time(o, "exe_modified", p->kind->exe_modified_ns);
	argv_out(o, p->argv);
	json_stream_string(o, "cwd", p->kind->cwd);
	json_stream_number(o, "uid", p->kind->uid);
	json_stream_time(o, "start", p->start_ns);
	json_stream_time(o, "end", p->end_ns);
	exit_code_out(o, p->kind->exit_code);
	signal_out(o, p->kind->signal);
	json_stream_bool(o, "oom_killed", p->kind->oom_killed);
	json_stream_bool(o, "core_dumped", p->kind->core_dumped);
	if (p->kind->oom_killed)
		json_stream_value(o, "oom", json_oom(p));
	else
		json_stream_null(o, "oom");
	json_stream_string(o, "state", p->kind->state);
	duration_out(o, "wall_ns", p->start_ns, p->end_ns);
	number_out(o, "threads", p->totals.threads, p->totals.threads);
	totals_out(o, &p->totals);
	number_out(o, "maxrss_bytes", p->maxrss_bytes, p->maxrss_bytes);
	json_stream_number(o, "read_calls", p->read_calls);
	json_stream_number(o, "write_calls", p->write_calls);
	json_stream_number(o, "run_count", p->run_count);
	approx_out(o, p->kind->approx);
	text_out(o, "task", p->task);
	text_out(o, "task_id", p->kind->task_id);
	json_stream_bool(o, "outlived", p->outlived);
	text_out(o, "step", p->kind->step);
	text_out(o, "scopes", p->kind->scopes);
	text_out(o, "container", p->kind->container);
	text_out(o, "container_name", p->in->container_name);
	text_out(o, "container_image", p->in->container_image);
	text_out(o, "pod", p->in->pod);
	text_out(o, "namespace", p->in->name_space);
	text_out(o, "unit", p->kind->unit);
	text_out(o, "cgroup", p->kind->cgroup);
	json_stream_string(o, "comm", p->kind->comm);
	text_out(o, "filename", p->kind->filename);
	json_stream_bool(o, "argv_cut", p->argv_cut);
	json_stream_bool(o, "wrapper", p->kind->wrapper);
	json_stream_bool(o, "execed", p->kind->execed);
	json_stream_bool(o, "last", p->kind->last);
	json_stream_number(o, "gid", p->kind->gid);
	json_stream_number(o, "session", p->kind->session);
	json_stream_open(o, "facets", '{');
	for (size_t i = 0; i < p->n_facets; i++)
		json_stream_real(o, p->facets[i].name, p->facets[i].value);
	json_stream_close(o, '}');
	json_stream_close(o, '}');
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
		put(o, "exit_code", exit_code(p->kind->exit_code), &ok);
		put_signal(o, p->kind->signal, &ok);
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
	put(o, "exit_code", exit_code(first->kind->exit_code), &ok);
	put_signal(o, first->kind->signal, &ok);
	put(o, "core_dumped", json_boolean(first->kind->core_dumped), &ok);
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

static void sample_out(struct json_stream *o, const struct lake_sample *s)
{
	json_stream_open(o, NULL, '{');
	json_stream_string(o, "tool", s->tool);
	json_stream_time(o, "start", s->start_ns);
	json_stream_number(o, "interval_ns", s->interval_ns);
	json_stream_number(o, "cpu_ns", s->cpu_ns);
	json_stream_number(o, "run_delay_ns", s->run_delay_ns);
	json_stream_number(o, "read_bytes", s->read_bytes);
	json_stream_number(o, "write_bytes", s->write_bytes);
	json_stream_number(o, "rss_bytes", s->rss_bytes);
	json_stream_number(o, "processes", s->processes);
	json_stream_number(o, "started", s->started);
	json_stream_close(o, '}');
}

/* The long lists; a summary has none of them. */
static void list_open(struct json_stream *o, const char *key, enum report_json_form form)
{
	if (form == REPORT_JSON_COLUMNS)
		json_stream_columns_open(o, key);
	else
		json_stream_open(o, key, '[');
}

static void list_close(struct json_stream *o, enum report_json_form form)
{
	if (form == REPORT_JSON_COLUMNS)
		json_stream_columns_close(o);
	else
		json_stream_close(o, ']');
}

static void processes_out(struct json_stream *o, const struct lake_report *report, enum report_json_form form)
{
	if (form == REPORT_JSON_SUMMARY)
		return;
	list_open(o, "processes", form);
	for (size_t i = 0; i < report->n_processes && !o->err; i++)
		process_out(o, &report->processes[i]);
	list_close(o, form);
}

static void samples_out(struct json_stream *o, const struct lake_report *report, enum report_json_form form)
{
	if (form == REPORT_JSON_SUMMARY)
		return;
	list_open(o, "samples", form);
	for (size_t i = 0; i < report->n_samples && !o->err; i++)
		sample_out(o, &report->samples[i]);
	list_close(o, form);
}

/* A figure that no probe measured in this run is null. */
static void intervals_out(struct json_stream *o, const struct lake_report *report, enum report_json_form form)
{
	const bool net = report->run.totals.net_known;
	struct report_interval *list = NULL;
	size_t n = 0;

	if (form == REPORT_JSON_SUMMARY || o->err)
		return;
	o->err = report_intervals(report, &list, &n);
	list_open(o, "intervals", form);
	for (size_t i = 0; i < n && !o->err; i++) {
		json_stream_open(o, NULL, '{');
		json_stream_time(o, "start", list[i].start_ns);
		json_stream_number(o, "interval_ns", list[i].interval_ns);
		if (net)
			json_stream_number(o, "net_bytes", list[i].net_bytes);
		else
			json_stream_null(o, "net_bytes");
		if (list[i].gpu_known)
			json_stream_number(o, "gpu_busy_ns", list[i].gpu_busy_ns);
		else
			json_stream_null(o, "gpu_busy_ns");
		json_stream_close(o, '}');
	}
	list_close(o, form);
	free(list);
}

int report_json_print(const struct lake_report *report, FILE *out)
{
	return report_json_print_as(report, REPORT_JSON_WHOLE, out);
}

int report_json_print_as(const struct lake_report *report, enum report_json_form form, FILE *out)
{
	struct json_stream o = { .out = out };
	struct family *family = NULL;
	struct failures *failures = NULL;
	struct accuracy accuracy;
	int err = -ENOMEM;

	if (family_new(report, &family) != 0 || failures_new(family, &failures) != 0)
		goto out;
	accuracy_of(family, &accuracy);
	json_stream_open(&o, NULL, '{');
	json_stream_open(&o, "run", '{');
	report_json_run(&o, &report->run);
	json_stream_close(&o, '}');
	run_totals_out(&o, report);
	json_stream_open(&o, "tasks", '[');
	for (size_t i = 0; i < report->n_tasks && !o.err; i++)
		task_out(&o, &report->tasks[i]);
	json_stream_close(&o, ']');
	json_stream_open(&o, "tools", '[');
	for (size_t i = 0; i < report->n_tools && !o.err; i++)
		tool_out(&o, &report->tools[i]);
	json_stream_close(&o, ']');
	processes_out(&o, report, form);
	json_stream_value(&o, "findings", json_findings(report, failures));
	json_stream_value(&o, "loss", json_loss(report));
	json_stream_value(&o, "ledger", json_ledger(report));
	json_stream_value(&o, "accuracy", json_accuracy(report, &accuracy));
	samples_out(&o, report, form);
	intervals_out(&o, report, form);
	json_stream_close(&o, '}');
	err = json_stream_end(&o);
out:
	failures_free(failures);
	family_free(family);
	return err;
}
