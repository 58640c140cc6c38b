/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/report.c - reads one whole run: its processes, tools, samples, ledger and losses.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/names.h"

/* Index of the first flag in PROC_COLUMNS; plain numbers follow the flags. */
#define PROC_NUMBERS 20
#define PROC_COLUMNS                                                                                              \
	"id, boot, pid, start_boot_ns, parent_start_boot_ns, ppid, task, tool, container, state, comm, exe, "     \
	"filename, cwd, cgroup, oom_cgroup, argv, argv_total, coalesce(exit_code, -1), wrapper, "                 \
	"execed, last, core_dumped, oom_killed, image, uid, gid, session, start_ns, end_ns, signal, approx, "     \
	"oom_limit_bytes, oom_usage_bytes, oom_peak_bytes, maxrss_bytes, threads_peak, read_calls, write_calls, " \
	"run_count, cpu_ns, user_ns, system_ns, run_delay_ns, voluntary_switches, involuntary_switches, "         \
	"minor_faults, major_faults, rss_peak_bytes, rchar_bytes, wchar_bytes, read_bytes, write_bytes, "         \
	"cancelled_write_bytes"

/* For each process: values that lake_report needs only while it builds the report. */
struct extra {
	int64_t row;
	int64_t tool; /* dict */
	uint64_t pid, start_boot_ns;
};

struct answer {
	struct lake_report report; /* first member: lake_report_free casts the caller's pointer back */
	struct arena arena;
	struct lake_file *file;
	struct names names;
	struct extra *extra;
	struct lake_facet *facet; /* buffer for the facets of one process */
	size_t facet_room, process_room, sample_room, loss_room, tool_room, ledger_room;
	struct span {
		uint64_t end;
		uint64_t forks;
		double cores_peak;
	} * span; /* per tool */
};

/* Makes room for one more element; returns the list; NULL: no memory. */
static void *grow(void *list, size_t n, size_t *room, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *grown;

	if (n < *room)
		return list;
	grown = reallocarray(list, more, size);
	if (grown)
		*room = more;
	return grown;
}

static int add_name(struct answer *a, int64_t id, const char **ret)
{
	struct name *name;
	int err = names_get(&a->names, id, &name);

	if (!err)
		*ret = name->s;
	return err;
}

static int read_process(struct answer *a, sqlite3_stmt *s, struct lake_process *p, struct extra *x)
{
	struct lake_totals *t = &p->totals;
	const char **const name[] = {
		&p->task, &p->tool,     &p->container, &p->state,  &p->comm,
		&p->exe,  &p->filename, &p->cwd,       &p->cgroup, &p->oom_cgroup,
	};
	bool *const flag[] = { &p->execed, &p->last, &p->core_dumped, &p->oom_killed };
	uint64_t *const number[] = {
		&p->image,
		&p->uid,
		&p->gid,
		&p->session,
		&p->start_ns,
		&p->end_ns,
		&p->signal,
		&p->approx,
		&p->oom_limit_bytes,
		&p->oom_usage_bytes,
		&p->oom_peak_bytes,
		&p->maxrss_bytes,
		&p->threads_peak,
		&p->read_calls,
		&p->write_calls,
		&p->run_count,
		&t->cpu_ns,
		&t->user_ns,
		&t->system_ns,
		&t->run_delay_ns,
		&t->voluntary_switches,
		&t->involuntary_switches,
		&t->minor_faults,
		&t->major_faults,
		&t->rss_peak_bytes,
		&t->rchar_bytes,
		&t->wchar_bytes,
		&t->read_bytes,
		&t->write_bytes,
		&t->cancelled_write_bytes,
	};
	const char *boot;
	int err, at = 6;

	*p = (struct lake_process){ 0 };
	*x = (struct extra){
		.row = sqlite3_column_int64(s, 0),
		.tool = sqlite3_column_int64(s, 7),
		.pid = (uint64_t)sqlite3_column_int64(s, 2),
		.start_boot_ns = (uint64_t)sqlite3_column_int64(s, 3),
	};
	err = add_name(a, sqlite3_column_int64(s, 1), &boot);
	if (err)
		return err;
	p->pid = x->pid;
	p->ppid = (uint64_t)sqlite3_column_int64(s, 5);
	p->upid = lake_upid(&a->arena, boot, x->pid, x->start_boot_ns);
	p->parent_upid = lake_upid(&a->arena, boot, p->ppid, (uint64_t)sqlite3_column_int64(s, 4));
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		err = add_name(a, sqlite3_column_int64(s, at++), name[i]);
		if (err)
			return err;
	}
	p->argv = lake_list(s, at, &a->arena);
	if (!p->upid || !p->parent_upid || !p->argv)
		return lake_file_error(a->file, SQLITE_NOMEM);
	p->argv_cut = sqlite3_column_int64(s, at + 1) > sqlite3_column_bytes(s, at);
	p->exit_code = sqlite3_column_int64(s, at + 2);
	p->wrapper = sqlite3_column_int64(s, at + 3) != 0;
	at = PROC_NUMBERS;
	for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++)
		*flag[i] = sqlite3_column_int64(s, at++) != 0;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)sqlite3_column_int64(s, at++);
	t->processes = 1;
	t->images = 1;
	t->threads = p->threads_peak;
	return 0;
}

static int read_processes(struct answer *a, int64_t run)
{
	struct lake_report *r = &a->report;
	size_t extra_room = 0;
	sqlite3_stmt *s = NULL;
	int rc, err;
	void *grown;

	err = lake_file_prepare(a->file,
				"SELECT " PROC_COLUMNS " FROM proc WHERE run = ?1 ORDER BY start_ns, image, id", &s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, run);
	while (!err && (rc = sqlite3_step(s)) != SQLITE_DONE) {
		if (rc != SQLITE_ROW) {
			err = lake_file_error(a->file, rc);
			break;
		}
		grown = grow(r->processes, r->n_processes, &a->process_room, sizeof(*r->processes));
		if (grown) {
			r->processes = grown;
			grown = grow(a->extra, r->n_processes, &extra_room, sizeof(*a->extra));
		}
		if (!grown) {
			err = lake_file_error(a->file, SQLITE_NOMEM);
			break;
		}
		a->extra = grown;
		err = read_process(a, s, &r->processes[r->n_processes], &a->extra[r->n_processes]);
		if (!err)
			r->n_processes++;
	}
	sqlite3_finalize(s);
	return err;
}

/* Adds a facet of another probe to the totals. */
static void facet_total(struct lake_totals *t, const char *name, double value)
{
	static const char *const states[LAKE_STATES] = {
		[LAKE_RUNNING] = "sched.running", [LAKE_RUNNABLE] = "sched.runnable", [LAKE_IOWAIT] = "sched.iowait",
		[LAKE_BLOCKED] = "sched.blocked", [LAKE_SLEEPING] = "sched.sleeping",
	};
	uint64_t n = value > 0 ? (uint64_t)value : 0;

	if (strncmp(name, "net.", 4) == 0)
		t->net_known = true;
	if (strcmp(name, "net.rx_bytes") == 0)
		t->net_rx_bytes = n;
	else if (strcmp(name, "net.tx_bytes") == 0)
		t->net_tx_bytes = n;
	else if (strcmp(name, "io.block_delay_ns") == 0)
		t->block_delay_ns = n;
	for (int i = 0; i < LAKE_STATES; i++)
		if (strcmp(name, states[i]) == 0)
			t->states[i] = n;
}

static int read_process_facets(struct answer *a, sqlite3_stmt *s, int64_t row, struct lake_process *p)
{
	struct lake_facet *copy;
	size_t n = 0;
	void *grown;
	int rc, err;

	sqlite3_bind_int64(s, 1, row);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		grown = grow(a->facet, n, &a->facet_room, sizeof(*a->facet));
		if (!grown)
			return lake_file_error(a->file, SQLITE_NOMEM);
		a->facet = grown;
		err = add_name(a, sqlite3_column_int64(s, 0), &a->facet[n].name);
		if (err)
			return err;
		a->facet[n].value = sqlite3_column_double(s, 1);
		facet_total(&p->totals, a->facet[n].name, a->facet[n].value);
		n++;
	}
	if (rc != SQLITE_DONE)
		return lake_file_error(a->file, rc);
	sqlite3_reset(s);
	if (!n)
		return 0;
	copy = arena_alloc(&a->arena, n * sizeof(*copy));
	if (!copy)
		return lake_file_error(a->file, SQLITE_NOMEM);
	memcpy(copy, a->facet, n * sizeof(*copy));
	p->facets = copy;
	p->n_facets = n;
	return 0;
}

static int read_facets(struct answer *a)
{
	sqlite3_stmt *s = NULL;
	int err;

	err = lake_file_prepare(a->file,
				"SELECT name, value FROM proc_facet WHERE proc = ?1 AND typeof(value) IN ('integer', "
				"'real') ORDER BY name",
				&s);
	for (size_t i = 0; !err && i < a->report.n_processes; i++)
		err = read_process_facets(a, s, a->extra[i].row, &a->report.processes[i]);
	sqlite3_finalize(s);
	return err;
}

/* Finds or adds the tool with this dict id. 0 or -errno. */
static int tool_of(struct answer *a, int64_t id, size_t *ret)
{
	struct lake_report *r = &a->report;
	size_t span_room = a->tool_room;
	struct name *name;
	void *grown;
	int err;

	err = names_get(&a->names, id, &name);
	if (err)
		return err;
	if (!name->tool) {
		grown = grow(r->tools, r->n_tools, &a->tool_room, sizeof(*r->tools));
		if (grown) {
			r->tools = grown;
			grown = grow(a->span, r->n_tools, &span_room, sizeof(*a->span));
		}
		if (!grown)
			return lake_file_error(a->file, SQLITE_NOMEM);
		a->span = grown;
		a->span[r->n_tools] = (struct span){ 0 };
		r->tools[r->n_tools] = (struct lake_tool){ .tool = name->s };
		name->tool = ++r->n_tools;
	}
	*ret = name->tool - 1;
	return 0;
}

static int read_samples(struct answer *a, int64_t run)
{
	struct lake_report *r = &a->report;
	sqlite3_stmt *s = NULL;
	int rc, err;
	void *grown;

	err = lake_file_prepare(a->file,
				"SELECT tool, start_ns, interval_ns, cpu_ns, run_delay_ns, read_bytes, write_bytes, "
				"rss_bytes, processes, "
				"started FROM sample WHERE run = ?1 ORDER BY start_ns, id",
				&s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, run);
	while (!err && (rc = sqlite3_step(s)) != SQLITE_DONE) {
		struct lake_sample *sample;
		uint64_t value[9];
		double cores;
		size_t tool;

		if (rc != SQLITE_ROW) {
			err = lake_file_error(a->file, rc);
			break;
		}
		grown = grow(r->samples, r->n_samples, &a->sample_room, sizeof(*r->samples));
		if (!grown) {
			err = lake_file_error(a->file, SQLITE_NOMEM);
			break;
		}
		r->samples = grown;
		sample = &r->samples[r->n_samples];
		for (int i = 0; i < 9; i++)
			value[i] = (uint64_t)sqlite3_column_int64(s, i + 1);
		*sample = (struct lake_sample){
			.start_ns = value[0],
			.interval_ns = value[1],
			.cpu_ns = value[2],
			.run_delay_ns = value[3],
			.read_bytes = value[4],
			.write_bytes = value[5],
			.rss_bytes = value[6],
			.processes = value[7],
			.started = value[8],
		};
		err = add_name(a, sqlite3_column_int64(s, 0), &sample->tool);
		if (err)
			break;
		r->n_samples++;
		if (!sample->interval_ns)
			continue;
		/* While a run is in progress, a tool may have samples but no process record: tool_of adds it. */
		err = tool_of(a, sqlite3_column_int64(s, 0), &tool);
		if (err)
			break;
		cores = (double)sample->cpu_ns / (double)sample->interval_ns;
		if (cores > a->span[tool].cores_peak)
			a->span[tool].cores_peak = cores;
	}
	sqlite3_finalize(s);
	return err;
}

static int read_ledger(struct answer *a, int64_t run)
{
	struct lake_report *r = &a->report;
	sqlite3_stmt *s = NULL;
	int rc, err;

	err = lake_file_prepare(a->file,
				"SELECT json_extract(r.fields, '$.account'), json_extract(r.fields, '$.item'), "
				"json_extract(r.fields, '$.kind'), json_extract(r.fields, '$.amount'), "
				"json_extract(r.fields, '$.interval_ns') FROM record r JOIN dict d ON d.id = r.stream "
				"WHERE r.run = ?1 AND d.s = 'ledger' ORDER BY r.id",
				&s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, run);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct lake_ledger l = {
			.account = lake_text(s, 0, &a->arena),
			.item = lake_text(s, 1, &a->arena),
			.kind = lake_text(s, 2, &a->arena),
			.amount = sqlite3_column_int64(s, 3),
			.interval_ns = (uint64_t)sqlite3_column_int64(s, 4),
		};
		void *grown = l.account && l.item && l.kind
				      ? grow(r->ledger, r->n_ledger, &a->ledger_room, sizeof(*r->ledger))
				      : NULL;

		if (!grown) {
			rc = SQLITE_NOMEM;
			break;
		}
		r->ledger = grown;
		r->ledger[r->n_ledger++] = l;
	}
	if (rc != SQLITE_DONE)
		err = lake_file_error(a->file, rc);
	sqlite3_finalize(s);
	return err;
}

/*
 * A probe stores no row for a process without traffic.  The ledger, or a row of another process, shows that the probe
 * ran; then 0 bytes means no traffic.
 */
static void know_network(struct lake_report *r)
{
	bool known = false;

	for (size_t i = 0; i < r->n_ledger && !known; i++)
		known = strncmp(r->ledger[i].account, "net.", 4) == 0 && strcmp(r->ledger[i].item, "tcp") == 0;
	for (size_t i = 0; i < r->n_processes && !known; i++)
		known = r->processes[i].totals.net_known;
	for (size_t i = 0; i < r->n_processes; i++)
		r->processes[i].totals.net_known = known;
}

/* Adds the losses of one file in a time span. SQLite sums them: there are few streams and places. */
static int read_losses(struct answer *a, struct lake_file *f, uint64_t from, uint64_t to)
{
	struct lake_report *r = &a->report;
	sqlite3_stmt *s = NULL;
	int rc, err;
	void *grown;

	err = lake_file_prepare(f,
				"SELECT i.s, t.s, p.s, sum(l.count) FROM loss l JOIN dict i ON i.id = l.instance JOIN "
				"dict t ON t.id = l.stream "
				"JOIN dict p ON p.id = l.place WHERE l.time_ns BETWEEN ?1 AND ?2 GROUP BY 1, 2, 3",
				&s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, (sqlite3_int64)from);
	sqlite3_bind_int64(s, 2, (sqlite3_int64)to);
	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct lake_loss l = {
			.instance = lake_text(s, 0, &a->arena),
			.stream = lake_text(s, 1, &a->arena),
			.where = lake_text(s, 2, &a->arena),
			.count = (uint64_t)sqlite3_column_int64(s, 3),
		};
		size_t i;

		for (i = 0; l.instance && l.stream && l.where && i < r->n_losses; i++) {
			struct lake_loss *have = &r->losses[i];

			if (strcmp(have->instance, l.instance) == 0 && strcmp(have->stream, l.stream) == 0 &&
			    strcmp(have->where, l.where) == 0) {
				have->count += l.count;
				break;
			}
		}
		if (i < r->n_losses)
			continue;
		grown = l.instance && l.stream && l.where
				? grow(r->losses, r->n_losses, &a->loss_room, sizeof(*r->losses))
				: NULL;
		if (!grown) {
			rc = SQLITE_NOMEM;
			break;
		}
		r->losses = grown;
		r->losses[r->n_losses++] = l;
	}
	if (rc != SQLITE_DONE)
		err = lake_file_error(f, rc);
	sqlite3_finalize(s);
	return err;
}

/* Adds all losses during the run, from the files of every month that the run touched: a loss has no run. */
static int add_losses(struct lake *l, struct answer *a, unsigned month)
{
	uint64_t from = a->report.run.start_ns, to = a->report.run.end_ns ? a->report.run.end_ns : INT64_MAX;
	unsigned first = lake_month((int64_t)from), last = to < INT64_MAX ? lake_month((int64_t)to) : 9999 * 12;
	struct lake_why *why = a->file->why;
	int err = 0;

	for (size_t i = l->n_months; !err && i-- > 0;) {
		struct lake_file f;

		if (l->months[i] == month) {
			err = read_losses(a, a->file, from, to);
		} else if (l->months[i] / LAKE_PARTS >= first && l->months[i] / LAKE_PARTS <= last) {
			err = lake_file_open(l, l->months[i], why, &f);
			if (err == -ENOENT) {
				err = 0;
				continue;
			}
			if (err)
				break;
			err = read_losses(a, &f, from, to);
			lake_file_close(&f);
		}
	}
	return err;
}

static void add_totals(struct lake_totals *to, const struct lake_totals *t)
{
	to->cpu_ns += t->cpu_ns;
	to->user_ns += t->user_ns;
	to->system_ns += t->system_ns;
	to->run_delay_ns += t->run_delay_ns;
	to->voluntary_switches += t->voluntary_switches;
	to->involuntary_switches += t->involuntary_switches;
	to->minor_faults += t->minor_faults;
	to->major_faults += t->major_faults;
	to->rchar_bytes += t->rchar_bytes;
	to->wchar_bytes += t->wchar_bytes;
	to->read_bytes += t->read_bytes;
	to->write_bytes += t->write_bytes;
	to->cancelled_write_bytes += t->cancelled_write_bytes;
	to->net_known |= t->net_known;
	to->net_rx_bytes += t->net_rx_bytes;
	to->net_tx_bytes += t->net_tx_bytes;
	to->block_delay_ns += t->block_delay_ns;
	for (int i = 0; i < LAKE_STATES; i++)
		to->states[i] += t->states[i];
	if (t->threads > to->threads)
		to->threads = t->threads;
	if (t->rss_peak_bytes > to->rss_peak_bytes)
		to->rss_peak_bytes = t->rss_peak_bytes;
}

/* The end time of processes without one: the run's end, or the last time in the run's records. */
static uint64_t last_known(const struct lake_report *r)
{
	uint64_t last = r->run.end_ns;

	for (size_t i = 0; !r->run.end_ns && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		last = p->end_ns > last ? p->end_ns : p->start_ns > last ? p->start_ns : last;
	}
	for (size_t i = 0; !r->run.end_ns && i < r->n_samples; i++) {
		uint64_t end = r->samples[i].start_ns + r->samples[i].interval_ns;

		last = end > last ? end : last;
	}
	return last;
}

static bool is_image(const struct lake_process *p)
{
	/* a fork that execs is "replaced" and counts by its exec */
	return p->execed || strcmp(p->state, "replaced") != 0;
}

static bool has_failed(const struct lake_process *p)
{
	return p->exit_code > 0 || p->signal;
}

/* Adds a process to its tool. Call it in the order of start times: the union of intervals needs one pass. */
static void add_to_tool(struct lake_tool *t, struct span *span, const struct lake_process *p, uint64_t last)
{
	uint64_t start = p->start_ns, end = p->end_ns ? p->end_ns : last;
	bool image = is_image(p);

	if (!start || end < start)
		end = start; /* start or end is unknown or wrong: count no time */
	t->totals.images += image;
	if (p->execed && !p->wrapper)
		t->calls++;
	else if (!p->execed && image)
		span->forks++;
	if (!p->wrapper && has_failed(p))
		t->failures++;
	add_totals(&t->totals, &p->totals);
	if (start && (!t->first_start_ns || start < t->first_start_ns))
		t->first_start_ns = start;
	if (end > t->last_end_ns)
		t->last_end_ns = end;
	if (end > span->end) {
		t->wall_ns += end - (start > span->end ? start : span->end);
		span->end = end;
	}
	if (!p->wrapper) {
		t->wall_sum_ns += end - start;
		if (end - start > t->longest_ns)
			t->longest_ns = end - start;
	}
}

static int by_upid(const void *a, const void *b)
{
	const struct extra *x = a, *y = b;

	if (x->start_boot_ns != y->start_boot_ns)
		return x->start_boot_ns < y->start_boot_ns ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static int by_tool(const void *a, const void *b)
{
	const struct extra *x = a, *y = b;

	if (x->tool != y->tool)
		return x->tool < y->tool ? -1 : 1;
	return by_upid(a, b);
}

/* Counts the distinct upids of the run and of each tool. Sorts a->extra. */
static int count_processes(struct answer *a)
{
	struct lake_report *r = &a->report;
	size_t n = r->n_processes, tool;
	int err = 0;

	if (n)
		qsort(a->extra, n, sizeof(*a->extra), by_upid);
	for (size_t i = 0; i < n; i++)
		r->run.totals.processes += !i || by_upid(&a->extra[i - 1], &a->extra[i]) != 0;
	if (n)
		qsort(a->extra, n, sizeof(*a->extra), by_tool);
	for (size_t i = 0; !err && i < n; i++) {
		if (i && by_tool(&a->extra[i - 1], &a->extra[i]) == 0)
			continue;
		err = tool_of(a, a->extra[i].tool, &tool);
		if (!err)
			r->tools[tool].totals.processes++;
	}
	return err;
}

static int most_cpu_first(const void *a, const void *b)
{
	const struct lake_tool *x = a, *y = b;

	if (x->totals.cpu_ns != y->totals.cpu_ns)
		return x->totals.cpu_ns > y->totals.cpu_ns ? -1 : 1;
	return strcmp(x->tool, y->tool);
}

static int sum_up(struct answer *a)
{
	struct lake_report *r = &a->report;
	uint64_t last = last_known(r);
	size_t tool = 0;
	int err = 0;

	for (size_t i = 0; !err && i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		r->run.totals.images += is_image(p);
		r->run.failures += has_failed(p);
		add_totals(&r->run.totals, &p->totals);
		err = tool_of(a, a->extra[i].tool, &tool);
		if (!err)
			add_to_tool(&r->tools[tool], &a->span[tool], p, last);
	}
	if (!err)
		err = count_processes(a);
	if (err)
		return err;
	for (size_t i = 0; i < r->n_tools; i++) {
		struct lake_tool *t = &r->tools[i];

		if (!t->calls)
			t->calls = a->span[i].forks;
		t->cores_avg = t->wall_ns ? (double)t->totals.cpu_ns / (double)t->wall_ns : 0;
		t->cores_peak = a->span[i].cores_peak > t->cores_avg ? a->span[i].cores_peak : t->cores_avg;
	}
	if (r->run.rss_peak_bytes > r->run.totals.rss_peak_bytes)
		r->run.totals.rss_peak_bytes = r->run.rss_peak_bytes;
	if (r->n_tools)
		qsort(r->tools, r->n_tools, sizeof(*r->tools), most_cpu_first);
	return 0;
}

static int read_run(struct answer *a, int64_t row)
{
	sqlite3_stmt *s = NULL;
	int rc, err;

	err = lake_file_prepare(a->file, "SELECT " LAKE_RUN_COLUMNS " FROM run r WHERE r.id = ?1", &s);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, row);
	rc = sqlite3_step(s);
	if (rc == SQLITE_ROW) {
		err = lake_run_read(a->file, s, &a->arena, &row, &a->report.run);
	} else {
		err = lake_file_error(a->file, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc); /* lake_run_find saw it */
	}
	sqlite3_finalize(s);
	return err;
}

int lake_report(struct lake *l, const char *which, struct lake_report **ret, char *why_text, size_t why_size)
{
	struct lake_why why = { why_text, why_size };
	struct lake_file f = { 0 };
	struct answer *a;
	unsigned month;
	int64_t row;
	int err;

	err = lake_run_find(l, which, &why, &month, &row);
	if (err)
		return err;
	a = calloc(1, sizeof(*a));
	if (!a) {
		lake_say(&why, "out of memory");
		return -ENOMEM;
	}
	err = lake_file_open(l, month, &why, &f);
	if (err)
		goto out;
	a->file = &f;
	err = names_init(&a->names, &f, &a->arena);
	if (!err)
		err = read_run(a, row);
	if (!err)
		err = read_processes(a, row);
	if (!err)
		err = read_facets(a);
	if (!err)
		err = read_samples(a, row);
	if (!err)
		err = read_ledger(a, row);
	if (!err)
		err = add_losses(l, a, month);
	if (!err) {
		know_network(&a->report);
		err = sum_up(a);
	}
out:
	names_free(&a->names);
	lake_file_close(&f);
	free(a->extra);
	a->extra = NULL;
	free(a->facet);
	a->facet = NULL;
	free(a->span);
	a->span = NULL;
	a->file = NULL;
	if (err) {
		lake_report_free(&a->report);
		return err;
	}
	*ret = &a->report;
	return 0;
}

struct lake_report *lake_report_free(struct lake_report *r)
{
	struct answer *a = (struct answer *)r;

	if (!a)
		return NULL;
	free(r->tools);
	free(r->processes);
	free(r->samples);
	free(r->ledger);
	free(r->losses);
	arena_free(&a->arena);
	free(a);
	return NULL;
}
