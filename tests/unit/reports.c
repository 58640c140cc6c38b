/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/reports.c - builds struct lake_report by hand.  Running out of memory ends
 * the test program.
 */
#include "tests/unit/reports.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
	if (!p)
		abort();
	return p;
}

static char *keep(struct reports *r, char *text)
{
	if (r->n_strings == r->strings_room) {
		r->strings_room = r->strings_room ? r->strings_room * 2 : 256;
		r->strings = must(reallocarray(r->strings, r->strings_room, sizeof(*r->strings)));
	}
	return r->strings[r->n_strings++] = must(text);
}

const char *reports_string(struct reports *r, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		abort();
	va_end(ap);
	return keep(r, text);
}

/* Splits at blanks; the reports own the words. */
static const char *const *words(struct reports *r, const char *command)
{
	char *copy = keep(r, strdup(command)), *word, *save = NULL;
	char **list = must(calloc(strlen(command) + 2, sizeof(*list)));
	size_t n = 0;

	keep(r, (char *)list);
	for (word = strtok_r(copy, " ", &save); word; word = strtok_r(NULL, " ", &save))
		list[n++] = word;
	return (const char *const *)list;
}

static uint64_t at(uint64_t ms)
{
	return REPORTS_START + ms * REPORTS_MS;
}

struct reports *reports_new(const char *name, const char *command, uint64_t cpus)
{
	struct reports *r = must(calloc(1, sizeof(*r)));

	r->report.run = (struct lake_run) {
		.id = "20261121T034815-a1b2c3",
		.name = reports_string(r, "%s", name),
		.pipeline = "",
		.engine = "",
		.parent_run = "",
		.origin = "command",
		.host = "node17",
		.boot_id = "0123abcd-1111-2222-3333-444455556666",
		.kernel = "6.12.9",
		.version = "0.1.0",
		.state = "running",
		.cwd = "/data",
		.argv = words(r, command),
		.root_upid = "",
		.uid = 1000,
		.start_ns = REPORTS_START,
		.exit_code = -1,
		.cpus = cpus,
		.interval_ns = 500 * REPORTS_MS,
	};
	return r;
}

struct lake_process *reports_add(struct reports *r, size_t parent, const char *tool, const char *command,
				 uint64_t start_ms, uint64_t end_ms, uint64_t cpu_ms)
{
	struct lake_report *report = &r->report;
	size_t i = report->n_processes;
	struct lake_kind *kind = must(calloc(1, sizeof(*kind)));
	struct lake_process *p;

	keep(r, (char *)kind);
	if (i == r->room) {
		r->room = r->room ? r->room * 2 : 64;
		report->processes = must(reallocarray(report->processes, r->room, sizeof(*report->processes)));
	}
	p = &report->processes[report->n_processes++];
	*kind = (struct lake_kind) {
		.task_id = "",
		.step = "",
		.scopes = "",
		.unit = "",
		.tool = reports_string(r, "%s", tool),
		.container = "",
		.state = end_ms ? "exited" : "running",
		.exe = reports_string(r, "/usr/bin/%.*s", (int)strcspn(command, " "), command),
		.filename = reports_string(r, "/usr/bin/%.*s", (int)strcspn(command, " "), command),
		.cwd = "/data",
		.cgroup = "/user.slice",
		.oom_cgroup = "",
		.execed = true,
		.last = true,
		.uid = 1000,
		.gid = 1000,
		.session = 4000,
		.exit_code = end_ms ? 0 : -1,
	};
	kind->comm = reports_string(r, "%.15s", kind->exe + strlen("/usr/bin/"));
	*p = (struct lake_process) {
		.kind = kind,
		.in = &reports_no_container,
		.upid = reports_string(r, "0123abcd-%zu-%" PRIx64, 4000 + i, start_ms * REPORTS_MS + 1),
		.parent_upid = i ? report->processes[parent].upid : "0123abcd-1-1",
		.pid = 4000 + i,
		.ppid = i ? report->processes[parent].pid : 1,
		.task = "",
		.argv = words(r, command),
		.start_ns = at(start_ms),
		.end_ns = end_ms ? at(end_ms) : 0,
	};
	p->totals = (struct lake_totals) {
		.processes = 1,
		.images = 1,
		.threads = 1,
		.cpu_ns = cpu_ms * REPORTS_MS,
		.user_ns = cpu_ms * REPORTS_MS / 10 * 9,
		.system_ns = cpu_ms * REPORTS_MS / 10,
		.run_delay_ns = cpu_ms * REPORTS_MS / 100,
		.rss_peak_bytes = 8 << 20,
		.rchar_bytes = 100000,
		.wchar_bytes = 1000,
	};
	if (i == 0)
		report->run.root_upid = p->upid;
	return p;
}

struct lake_process *reports_exec(struct reports *r, size_t of, const char *tool, const char *command, uint64_t at_ms)
{
	struct lake_process *before, *p;
	uint64_t end_ns = r->report.processes[of].end_ns, image = r->report.processes[of].image;

	p = reports_add(r, of, tool, command, at_ms, 1, 0);
	before = &r->report.processes[of];
	reports_kind(before)->last = false;
	reports_kind(before)->state = "replaced";
	before->end_ns = at(at_ms);
	reports_kind(before)->exit_code = -1;
	p->upid = before->upid;
	p->parent_upid = before->parent_upid;
	p->pid = before->pid;
	p->ppid = before->ppid;
	p->image = image + 1;
	p->end_ns = end_ns;
	return p;
}

void reports_sample(struct reports *r, const char *tool, uint64_t start_ms, uint64_t interval_ms, uint64_t cpu_ms)
{
	struct lake_report *report = &r->report;

	report->samples = must(reallocarray(report->samples, report->n_samples + 1, sizeof(*report->samples)));
	report->samples[report->n_samples++] = (struct lake_sample) {
		.tool = reports_string(r, "%s", tool),
		.start_ns = at(start_ms),
		.interval_ns = interval_ms * REPORTS_MS,
		.cpu_ns = cpu_ms * REPORTS_MS,
	};
}

struct lake_progress *reports_progress(struct reports *r, const struct lake_process *p, uint64_t start_ms,
				       uint64_t interval_ms)
{
	struct lake_report *report = &r->report;
	const size_t n = report->n_progress++;

	report->progress = must(reallocarray(report->progress, n + 1, sizeof(*report->progress)));
	r->progress_of = must(reallocarray(r->progress_of, n + 1, sizeof(*r->progress_of)));
	r->progress_of[n] = p->upid;
	report->progress[n] = (struct lake_progress){ .interval_ns = interval_ms * REPORTS_MS };
	report->progress[n].end_ns = at(start_ms + interval_ms);
	return &report->progress[n];
}

/* The report's processes are in their order now. Tests add the progress of one process after another, in that order. */
static void find_progress(struct reports *r)
{
	for (size_t i = 0; i < r->report.n_progress; i++)
		for (size_t k = 0; k < r->report.n_processes; k++)
			if (r->report.processes[k].upid == r->progress_of[i])
				r->report.progress[i].process = k;
}

void reports_ledger(struct reports *r, const char *account, const char *item, const char *kind, int64_t amount)
{
	struct lake_report *report = &r->report;

	report->ledger = must(reallocarray(report->ledger, report->n_ledger + 1, sizeof(*report->ledger)));
	report->ledger[report->n_ledger++] = (struct lake_ledger) {
		.account = account, .item = item, .kind = kind, .amount = amount, .interval_ns = REPORTS_S,
	};
}

void reports_loss(struct reports *r, const char *instance, const char *stream, const char *where, uint64_t count)
{
	struct lake_report *report = &r->report;

	report->losses = must(reallocarray(report->losses, report->n_losses + 1, sizeof(*report->losses)));
	report->losses[report->n_losses++] =
		(struct lake_loss) { .instance = instance, .stream = stream, .where = where, .count = count };
}

static void add_totals(struct lake_totals *sum, const struct lake_process *p)
{
	const struct lake_totals *t = &p->totals;

	sum->processes += p->kind->last;
	sum->images++;
	sum->threads = p->totals.threads > sum->threads ? p->totals.threads : sum->threads;
	sum->cpu_ns += t->cpu_ns;
	sum->user_ns += t->user_ns;
	sum->system_ns += t->system_ns;
	sum->run_delay_ns += t->run_delay_ns;
	sum->major_faults += t->major_faults;
	sum->rss_peak_bytes = t->rss_peak_bytes > sum->rss_peak_bytes ? t->rss_peak_bytes : sum->rss_peak_bytes;
	sum->rchar_bytes += t->rchar_bytes;
	sum->wchar_bytes += t->wchar_bytes;
	sum->read_bytes += t->read_bytes;
	sum->write_bytes += t->write_bytes;
	sum->net_known |= t->net_known;
	sum->net_rx_bytes += t->net_rx_bytes;
	sum->net_tx_bytes += t->net_tx_bytes;
	sum->block_delay_ns += t->block_delay_ns;
	for (int k = 0; k < LAKE_STATES; k++)
		sum->states[k] += t->states[k];
}

static struct lake_tool *tool_of(struct lake_report *report, const char *name)
{
	for (size_t i = 0; i < report->n_tools; i++) {
		if (strcmp(report->tools[i].tool, name) == 0)
			return &report->tools[i];
	}
	report->tools = must(reallocarray(report->tools, report->n_tools + 1, sizeof(*report->tools)));
	report->tools[report->n_tools] = (struct lake_tool) { .tool = name };
	return &report->tools[report->n_tools++];
}

static int by_cpu(const void *a, const void *b)
{
	const struct lake_tool *x = a, *y = b;

	if (x->totals.cpu_ns != y->totals.cpu_ns)
		return x->totals.cpu_ns > y->totals.cpu_ns ? -1 : 1;
	return strcmp(x->tool, y->tool);
}

static int by_start(const void *a, const void *b)
{
	const struct lake_process *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return x->image < y->image ? -1 : x->image > y->image;
}

struct lake_task *reports_task(struct reports *r, const char *name, uint64_t start_ms, uint64_t end_ms, uint64_t cpu_ms)
{
	struct lake_report *report = &r->report;
	struct lake_task *t;

	if (report->n_tasks == r->tasks_room) {
		r->tasks_room = r->tasks_room ? r->tasks_room * 2 : 64;
		report->tasks = must(reallocarray(report->tasks, r->tasks_room, sizeof(*report->tasks)));
	}
	t = &report->tasks[report->n_tasks++];
	*t = (struct lake_task) {
		.task = reports_string(r, "%s", name),
		.task_id = reports_string(r, "%zu-1.0", report->n_tasks),
		.state = end_ms ? "exited" : "",
		.engine = "snakemake",
		.sample = "",
		.job = "",
		.name_source = "argv",
		.traceparent = "",
		.in = { "", "", "", "", "", "" },
		.step = "",
		.scopes = "",
		.requested_source = "",
		.granted_source = "",
		.start_ns = at(start_ms),
		.end_ns = end_ms ? at(end_ms) : 0,
		.exit_code = end_ms ? 0 : -1,
		.cores_peak = 2.5,
		.totals = { .processes = 2, .images = 3, .cpu_ns = cpu_ms * REPORTS_MS, .rss_peak_bytes = 300 << 20,
			    .run_delay_ns = 30 * REPORTS_MS,
			    .read_bytes = 5 << 20, .write_bytes = 1 << 20 },
	};
	return t;
}

/* The images of a task (id) or of a tool, in their order. */
static const uint32_t *images_of(struct reports *r, const char *task_id, const char *tool, size_t *ret_n)
{
	uint32_t *list = must(calloc(r->report.n_processes + 1, sizeof(*list)));

	keep(r, (char *)list);
	*ret_n = 0;
	for (size_t i = 0; i < r->report.n_processes; i++) {
		const struct lake_process *p = &r->report.processes[i];

		if (tool ? strcmp(p->kind->tool, tool) == 0 : *task_id && strcmp(p->kind->task_id, task_id) == 0)
			list[(*ret_n)++] = i;
	}
	return list;
}

void reports_finish(struct reports *r, uint64_t end_ms, int64_t exit_code, uint64_t signal)
{
	struct lake_report *report = &r->report;
	struct lake_run *run = &report->run;
	uint64_t known = run->start_ns; /* how far the records of a running run reach */

	for (size_t i = 0; i < report->n_samples; i++) {
		uint64_t end = report->samples[i].start_ns + report->samples[i].interval_ns;

		known = end > known ? end : known;
	}
	if (end_ms) {
		run->state = "ended";
		run->end_ns = at(end_ms);
	}
	run->exit_code = exit_code;
	run->signal = signal;
	if (report->n_processes)
		qsort(report->processes, report->n_processes, sizeof(*report->processes), by_start);
	find_progress(r);
	for (size_t i = 0; i < report->n_processes; i++) {
		const struct lake_process *p = &report->processes[i];
		struct lake_tool *tool = tool_of(report, p->kind->tool);
		uint64_t end = p->end_ns ? p->end_ns : run->end_ns ? run->end_ns : known;

		add_totals(&run->totals, p);
		add_totals(&tool->totals, p);
		run->failures += p->kind->signal || p->kind->exit_code > 0;
		tool->failures += p->kind->signal || p->kind->exit_code > 0;
		tool->calls += !p->kind->wrapper;
		tool->first_start_ns = tool->first_start_ns ? tool->first_start_ns : p->start_ns;
		/* The union of intervals, which are sorted by start. */
		if (end > tool->last_end_ns) {
			tool->wall_ns += end - (p->start_ns > tool->last_end_ns ? p->start_ns : tool->last_end_ns);
			tool->last_end_ns = end;
		}
		tool->wall_sum_ns += end > p->start_ns && !p->kind->wrapper ? end - p->start_ns : 0;
	}
	for (size_t i = 0; i < report->n_tools; i++) {
		struct lake_tool *tool = &report->tools[i];

		tool->cores_avg = tool->wall_ns ? (double)tool->totals.cpu_ns / (double)tool->wall_ns : 0;
		tool->cores_peak = tool->cores_avg;
		for (size_t k = 0; k < report->n_samples; k++) {
			const struct lake_sample *s = &report->samples[k];
			double cores = (double)s->cpu_ns / (double)s->interval_ns;

			if (strcmp(s->tool, tool->tool) == 0 && cores > tool->cores_peak)
				tool->cores_peak = cores;
		}
	}
	if (report->n_tools)
		qsort(report->tools, report->n_tools, sizeof(*report->tools), by_cpu);
	for (size_t i = 0; i < report->n_tools; i++)
		report->tools[i].images = images_of(r, NULL, report->tools[i].tool, &report->tools[i].n_images);
	for (size_t i = 0; i < report->n_tasks; i++)
		report->tasks[i].images = images_of(r, report->tasks[i].task_id, NULL, &report->tasks[i].n_images);
	run->processes_seen = run->totals.processes;
	run->memory_peak_bytes = run->totals.rss_peak_bytes * 3 / 2;
	run->memory_source = "pss";
}

struct reports *reports_free(struct reports *r)
{
	if (!r)
		return NULL;
	for (size_t i = 0; i < r->n_strings; i++)
		free(r->strings[i]);
	free(r->strings);
	free(r->report.processes);
	free(r->report.tasks);
	free(r->report.tools);
	free(r->report.samples);
	free(r->report.ledger);
	free(r->report.losses);
	free(r->report.progress);
	free(r->report.pressure);
	free(r->report.links);
	free(r->report.opens);
	free(r->progress_of);
	free(r);
	return NULL;
}
