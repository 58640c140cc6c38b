/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/processes.c - reads the processes of a run, a row for each image.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lake/answer.h"
#include "lake/idmap.h"
#include "lake/order.h"

/*
 * The columns of a process: its identity; the values that the processes of its kind share (SHARED, from PROC_SHARED
 * on); its own values (OWN, from PROC_OWN on); in ClickHouse then what other probes say.
 */
#define PROC_SHARED 6
#define N_NAMES     14
#define N_SHARED    (N_NAMES + 15)
#define PROC_OWN    (PROC_SHARED + N_SHARED)
#define PROC_EXTRA  (PROC_OWN + 23)
#define PROC_FILE   (PROC_EXTRA + 5)
#define IDENTITY "pid, start_boot_ns, parent_start_boot_ns, ppid, "
/*
 * T(), N(): a text, a number that lake_reports() does not promise.  A server takes its time for each column (18.16, 100
 * runs of 100 processes of 3 M: 37 ms for 3 columns, 460 ms for 60), so there a constant stands for it.
 */
#define EACH(column_)      ", " column_
#define NO_TEXT(column_)   ", ''"
#define NO_NUMBER(column_) ", 0"
#define SHARED(T, N, uid_)                                                                                            \
	"task, task_id" T("step") T("scopes") T("unit") ", tool" T("container") ", state" T("comm") ", exe"            \
	T("filename") T("cwd") T("cgroup") T("oom_cgroup") ", coalesce(exit_code, -1), wrapper, execed, last"          \
	N("core_dumped") ", oom_killed, image" N(uid_) N("gid") N("session") ", signal, approx, oom_limit_bytes"       \
	N("oom_usage_bytes") N("oom_peak_bytes")
#define OWN(N, argv_)                                                                                                 \
	", " argv_ ", argv_total, start_ns, end_ns" N("maxrss_bytes") ", threads_peak" N("read_calls")                 \
	N("write_calls") N("run_count") ", cpu_ns" N("user_ns") N("system_ns") ", run_delay_ns"                        \
	N("voluntary_switches") N("involuntary_switches") N("minor_faults") N("major_faults") ", rss_peak_bytes, "     \
	"rchar_bytes" N("wchar_bytes") ", read_bytes, write_bytes" N("cancelled_write_bytes")
#define PROC_COLUMNS "id, boot, " IDENTITY SHARED(EACH, EACH, "uid") OWN(EACH, "argv")
#define PROC_CLICKHOUSE(T, N)                                                                                         \
	"0, boot_id, " IDENTITY SHARED(T, N, "uid_user") OWN(N, LAKE_LIST("argv")) ", extra" T("container_name")       \
	T("container_image") T("pod") T("namespace") N("exe_size_bytes") N("exe_modified_ns") T(LAKE_LIST("labels"))

static const char *const no_argv[] = { NULL };

static const struct lake_question of_run = {
	.sqlite = "SELECT " PROC_COLUMNS " FROM proc_flat WHERE run = ?1 ORDER BY id", /* in a copy */
	LAKE_OF_RUN(PROC_CLICKHOUSE(EACH, EACH), PROC_CLICKHOUSE(NO_TEXT, NO_NUMBER), "proc"),
};

/* Many processes in a row have the same parent: they share the text. */
static const char *parent_of(struct answer *a, const char *boot, uint64_t pid, uint64_t start)
{
	if (!a->parent.upid || a->parent.boot != boot || a->parent.pid != pid || a->parent.start != start) {
		a->parent.boot = boot;
		a->parent.pid = pid;
		a->parent.start = start;
		a->parent.upid = lake_upid(&a->arena, boot, pid, start);
	}
	return a->parent.upid;
}

/* Reads, from a column on, what the table of kinds has of a process: the kind, and the process's task and image. */
static int read_kind(struct answer *a, const struct lake_rows *s, int at, struct lake_kind *k, struct lake_process *p,
		     int64_t *ret_tool)
{
	static const struct lake_container none;
	const char **const name[N_NAMES] = {
		&p->task, &k->task_id, &k->step,     &k->scopes, &k->unit,   &k->tool,       &k->container,
		&k->state, &k->comm,   &k->exe,      &k->filename, &k->cwd,  &k->cgroup,     &k->oom_cgroup,
	};
	bool *const flag[] = { &k->wrapper, &k->execed, &k->last, &k->core_dumped, &k->oom_killed };
	uint64_t *const number[] = {
		&p->image,  &k->uid,    &k->gid,             &k->session, &k->signal,
		&k->approx, &k->oom_limit_bytes, &k->oom_usage_bytes, &k->oom_peak_bytes,
	};

	memset(k, 0, sizeof(*k)); /* with its padding: same_kind() compares bytes */
	*p = (struct lake_process){ .kind = k, .in = &none, .totals = { .processes = 1, .images = 1 } };
	for (size_t i = 0; i < N_NAMES; i++) {
		int err = answer_name(a, s, at++, name[i], name[i] == &k->tool ? ret_tool : NULL);

		if (err)
			return err;
	}
	k->exit_code = lake_rows_number(s, at++);
	for (size_t i = 0; i < sizeof(flag) / sizeof(flag[0]); i++)
		*flag[i] = lake_rows_number(s, at++) != 0;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)lake_rows_number(s, at++);
	return 0;
}

/* Returns the one of the kinds read so far that is the same, else a copy.  NULL: no memory. */
static const struct lake_kind *same_kind(struct answer *a, const struct lake_kind *k)
{
	const int64_t hash = (int64_t)skep_hash(&a->names.key, k, sizeof(*k));
	const struct lake_kind *known = idmap_get(&a->kinds, hash);
	struct lake_kind *copy;

	if (known && memcmp(known, k, sizeof(*k)) == 0) /* NOLINT: read_kind() zeroed them */
		return known;
	copy = arena_alloc(&a->arena, sizeof(*copy));
	if (!copy || (!known && idmap_put(&a->kinds, hash, copy) != 0))
		return NULL;
	return memcpy(copy, k, sizeof(*k));
}

bool lake_begins_task(const struct lake_process *p)
{
	const char *id = p->kind->task_id, *dot = strrchr(id, '.');
	char *pid_end, *image_end;

	if (!dot || *id < '1' || *id > '9' || dot[1] < '0' || dot[1] > '9')
		return false;
	return strtoull(id, &pid_end, 10) == p->pid && *pid_end == '-' && pid_end < dot &&
	       strtoull(dot + 1, &image_end, 10) == p->image && !*image_end;
}

void lake_few_arguments(struct lake *l)
{
	l->few_arguments = true;
}

static bool wants_argv(const struct answer *a, const struct lake_process *p)
{
	return !a->few_arguments || lake_has_failed(p) || lake_begins_task(p);
}

static int read_process(struct answer *a, const struct lake_rows *s, struct lake_process *p, struct extra *x)
{
	struct lake_totals *t = &p->totals;
	uint64_t *const number[] = {
		&p->start_ns,
		&p->end_ns,
		&p->maxrss_bytes,
		&t->threads,
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
	struct lake_kind kind;
	const char *boot;
	size_t argv_bytes = 0;
	int err;

	*x = (struct extra){
		.row = lake_rows_number(s, 0),
		.pid = (uint64_t)lake_rows_number(s, 2),
		.start_boot_ns = (uint64_t)lake_rows_number(s, 3),
	};
	err = answer_name(a, s, 1, &boot, NULL);
	if (!err)
		err = read_kind(a, s, PROC_SHARED, &kind, p, &x->tool);
	if (err)
		return err;
	if (s->clickhouse) {
		kind.exe_size_bytes = (uint64_t)lake_rows_number(s, PROC_FILE);
		kind.exe_modified_ns = (uint64_t)lake_rows_number(s, PROC_FILE + 1);
	}
	p->kind = same_kind(a, &kind);
	if (!p->kind)
		return lake_file_error(a->file, SQLITE_NOMEM);
	p->pid = x->pid;
	p->ppid = (uint64_t)lake_rows_number(s, 5);
	p->upid = lake_upid(&a->arena, boot, x->pid, x->start_boot_ns);
	p->parent_upid = parent_of(a, boot, p->ppid, (uint64_t)lake_rows_number(s, 4));
	p->argv = no_argv;
	if (wants_argv(a, p)) {
		p->argv = lake_rows_list(s, PROC_OWN, &a->arena);
		lake_rows_bytes(s, PROC_OWN, &argv_bytes);
		p->argv_cut = (uint64_t)lake_rows_number(s, PROC_OWN + 1) > argv_bytes;
	}
	if (!p->upid || !p->parent_upid || !p->argv)
		return lake_file_error(a->file, SQLITE_NOMEM);
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)lake_rows_number(s, PROC_OWN + 2 + (int)i);
	return s->clickhouse ? lake_facets_of_row(a, s, PROC_EXTRA, PROC_FILE + 2, p) : 0;
}

/* Of processes that began at one time: by image, then pid, then row. */
static int by_image(const void *a, const void *b, void *of)
{
	const struct answer *answer = of;
	const size_t i = ((const struct lake_order *)a)->at, k = ((const struct lake_order *)b)->at;
	const struct lake_process *x = &answer->report.processes[i], *y = &answer->report.processes[k];

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return answer->extra[i].row < answer->extra[k].row ? -1 : answer->extra[i].row > answer->extra[k].row;
}

/*
 * Sorts the processes by start, then image, then pid and row.  SQLite would write the rows of a large run to a
 * temporary file to sort them.
 */
static int sort_processes(struct answer *a)
{
	struct lake_report *r = &a->report;
	const size_t n = r->n_processes;
	struct lake_order *order = reallocarray(NULL, n + 1, 2 * sizeof(*order)); /* half of it for the sort */

	if (!order)
		return lake_file_error(a->file, SQLITE_NOMEM);
	for (size_t i = 0; i < n; i++)
		order[i] = (struct lake_order){ r->processes[i].start_ns, i };
	lake_order_sort(order, n, order + n);
	lake_order_ties(order, n, by_image, a);
	/* follows each cycle of the permutation, and marks the places that are right */
	for (size_t i = 0; i < n; i++) {
		struct lake_process process = r->processes[i];
		struct extra extra = a->extra[i];
		size_t to = i;

		while (order[to].at != i) {
			const size_t from = order[to].at;

			r->processes[to] = r->processes[from];
			a->extra[to] = a->extra[from];
			order[to].at = to;
			to = from;
		}
		r->processes[to] = process;
		a->extra[to] = extra;
		order[to].at = to;
	}
	free(order);
	return 0;
}

/* Makes room for one more process. */
static int process_room(struct answer *a)
{
	struct lake_report *r = &a->report;
	void *grown = answer_grow(r->processes, r->n_processes, &a->process_room, sizeof(*r->processes));

	if (grown) {
		r->processes = grown;
		grown = answer_grow(a->extra, r->n_processes, &a->extra_room, sizeof(*a->extra));
	}
	if (!grown)
		return lake_file_error(a->file, SQLITE_NOMEM);
	a->extra = grown;
	return 0;
}

/* Reads the run's processes from a table that has all columns. */
static int read_flat(struct answer *a, const struct lake_key *run)
{
	struct lake_report *r = &a->report;
	struct lake_rows rows = { 0 };
	int err = lake_rows_of_run(a->file, &of_run, run, &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		err = process_room(a);
		if (!err)
			err = read_process(a, &rows, &r->processes[r->n_processes], &a->extra[r->n_processes]);
		if (err)
			break;
		r->n_processes++;
	}
	lake_rows_close(&rows);
	return err;
}

/* ---- rows that share a kind -------------------------------------------------------- */

/*
 * The view proc_rows would build sixty columns of each row.  The values of a kind are read once; of each process the
 * reader then reads its own values alone.  It adds the same values to differences as the view (schema.sql).
 */
struct kind {
	struct lake_kind shared;
	struct lake_process first; /* what a process of this kind has before its own row is read */
	int64_t tool;
	const char *boot;
	bool differs;
	uint64_t clock_ns;
};

struct argv {
	const char *const *list;
	bool cut;
};

struct rows {
	sqlite3_stmt *rows, *kind, *argv;
	struct idmap kinds, argvs;
};

#define ROW_COLUMNS                                                                                                    \
	"id, kind, argv, pid, start_boot_ns, ppid, parent_start_boot_ns, start_ns, end_ns, cpu_ns, user_ns, "          \
	"system_ns, run_delay_ns, run_count, voluntary_switches, involuntary_switches, minor_faults, major_faults, " \
	"rss_peak_bytes, maxrss_bytes, rchar_bytes, wchar_bytes, read_calls, write_calls, read_bytes, write_bytes, "   \
	"cancelled_write_bytes, threads_peak"

static int step_to_row(struct answer *a, sqlite3_stmt *s, int64_t id)
{
	int rc;

	sqlite3_bind_int64(s, 1, id);
	rc = sqlite3_step(s);
	return rc == SQLITE_ROW ? 0 : lake_file_error(a->file, rc == SQLITE_DONE ? SQLITE_CORRUPT : rc);
}

static int kind_of(struct answer *a, struct rows *r, int64_t id, const struct kind **ret)
{
	const struct lake_rows columns = { .file = a->file, .sqlite = r->kind };
	struct kind *k;
	int err;

	*ret = idmap_get(&r->kinds, id);
	if (*ret)
		return 0;
	k = arena_alloc(&a->arena, sizeof(*k));
	if (!k || idmap_put(&r->kinds, id, k) != 0)
		return lake_file_error(a->file, SQLITE_NOMEM);
	err = step_to_row(a, r->kind, id);
	if (!err)
		err = answer_name(a, &columns, 0, &k->boot, NULL);
	if (!err)
		err = read_kind(a, &columns, 4, &k->shared, &k->first, &k->tool);
	if (!err) {
		k->differs = sqlite3_column_type(r->kind, 1) != SQLITE_NULL;
		k->clock_ns = (uint64_t)lake_rows_number(&columns, 1);
		k->shared.exe_size_bytes = (uint64_t)lake_rows_number(&columns, 2);
		k->shared.exe_modified_ns = (uint64_t)lake_rows_number(&columns, 3);
		k->first.argv = no_argv;
	}
	sqlite3_reset(r->kind);
	*ret = k;
	return err;
}

static int argv_of(struct answer *a, struct rows *r, int64_t id, const struct argv **ret)
{
	struct argv *v;
	int err;

	*ret = idmap_get(&r->argvs, id);
	if (*ret)
		return 0;
	v = arena_alloc(&a->arena, sizeof(*v));
	if (!v || idmap_put(&r->argvs, id, v) != 0)
		return lake_file_error(a->file, SQLITE_NOMEM);
	err = step_to_row(a, r->argv, id);
	if (!err) {
		v->list = lake_list(sqlite3_column_blob(r->argv, 0), (size_t)sqlite3_column_bytes(r->argv, 0),
				    &a->arena);
		v->cut = sqlite3_column_int64(r->argv, 1) > sqlite3_column_bytes(r->argv, 0);
		err = v->list ? 0 : lake_file_error(a->file, SQLITE_NOMEM);
	}
	sqlite3_reset(r->argv);
	*ret = v;
	return err;
}

static int read_row(struct answer *a, struct rows *r, struct lake_process *p, struct extra *x)
{
	struct lake_totals *t = &p->totals;
	uint64_t parent = 0, *const number[] = {
		&p->pid, &x->start_boot_ns, &p->ppid, &parent, &p->start_ns, &p->end_ns, &t->cpu_ns, &t->user_ns,
		&t->system_ns, &t->run_delay_ns, &p->run_count, &t->voluntary_switches, &t->involuntary_switches,
		&t->minor_faults, &t->major_faults, &t->rss_peak_bytes, &p->maxrss_bytes, &t->rchar_bytes,
		&t->wchar_bytes, &p->read_calls, &p->write_calls, &t->read_bytes, &t->write_bytes,
		&t->cancelled_write_bytes, &t->threads,
	};
	const struct kind *k = NULL;
	const struct argv *argv = NULL;
	int err;

	x->row = sqlite3_column_int64(r->rows, 0);
	err = kind_of(a, r, sqlite3_column_int64(r->rows, 1), &k);
	if (err)
		return err;
	*p = k->first;
	x->tool = k->tool;
	for (size_t i = 0; i < sizeof(number) / sizeof(number[0]); i++)
		*number[i] = (uint64_t)sqlite3_column_int64(r->rows, 3 + (int)i);
	if (sqlite3_column_type(r->rows, 2) != SQLITE_NULL && wants_argv(a, p))
		err = argv_of(a, r, sqlite3_column_int64(r->rows, 2), &argv);
	if (err)
		return err;
	if (argv) {
		p->argv = argv->list;
		p->argv_cut = argv->cut;
	}
	if (k->differs) {
		parent += x->start_boot_ns;
		p->start_ns += x->start_boot_ns + k->clock_ns;
		p->end_ns += p->start_ns;
		t->user_ns += t->cpu_ns - t->system_ns;
		p->run_count += t->voluntary_switches + t->involuntary_switches;
		p->maxrss_bytes += t->rss_peak_bytes;
	}
	x->pid = p->pid;
	p->upid = lake_upid(&a->arena, k->boot, p->pid, x->start_boot_ns);
	p->parent_upid = parent_of(a, k->boot, p->ppid, parent);
	return p->upid && p->parent_upid ? 0 : lake_file_error(a->file, SQLITE_NOMEM);
}

/*
 * Prepares the question for the run's rows.  A run that lasts has most rows of its time: these are read one after
 * another, from its first to its last, where the index would look for each of them.
 */
static int prepare_rows(struct answer *a, int64_t run, sqlite3_stmt **ret)
{
	static const struct lake_question bounds = {
		.sqlite = "SELECT (SELECT min(id) FROM proc_row WHERE run = ?1), (SELECT max(id) FROM proc_row WHERE run = ?1), "
			  "(SELECT images FROM rollup_run WHERE run = ?1)",
	};
	const struct lake_value value = LAKE_NUMBER(run);
	struct lake_rows rows = { 0 };
	int64_t first = 0, last = 0, images = 0;
	int err = lake_rows_open(a->file, &bounds, &value, 1, &rows);

	while (!err && (err = lake_rows_next(&rows)) > 0) {
		first = lake_rows_number(&rows, 0);
		last = lake_rows_number(&rows, 1);
		images = lake_rows_number(&rows, 2);
		err = 0;
	}
	lake_rows_close(&rows);
	if (err)
		return err;
	if (answer_is_dense(first, last, images))
		err = lake_file_prepare(a->file, "SELECT " ROW_COLUMNS " FROM proc_row WHERE id BETWEEN ?2 AND ?3 AND "
						 "+run = ?1 ORDER BY id", ret);
	else
		err = lake_file_prepare(a->file, "SELECT " ROW_COLUMNS " FROM proc_row WHERE run = ?1 ORDER BY id", ret);
	if (err)
		return err;
	(void)sqlite3_bind_int64(*ret, 1, run);
	(void)sqlite3_bind_int64(*ret, 2, first); /* the other question has no such values: then this fails */
	(void)sqlite3_bind_int64(*ret, 3, last);
	return 0;
}

static int read_rows(struct answer *a, int64_t run)
{
	struct lake_report *report = &a->report;
	struct rows r = { 0 };
	int rc, err;

	err = prepare_rows(a, run, &r.rows);
	if (!err)
		err = lake_file_prepare(a->file,
					"SELECT boot, clock_ns, exe_size_bytes, exe_modified_ns, " SHARED(EACH, EACH, "uid")
					" FROM proc_kind WHERE id = ?1", &r.kind);
	if (!err)
		err = lake_file_prepare(a->file, "SELECT argv, total FROM proc_argv WHERE id = ?1", &r.argv);
	while (!err && (rc = sqlite3_step(r.rows)) != SQLITE_DONE) {
		err = rc == SQLITE_ROW ? process_room(a) : lake_file_error(a->file, rc);
		if (!err)
			err = read_row(a, &r, &report->processes[report->n_processes],
				       &a->extra[report->n_processes]);
		report->n_processes += !err;
	}
	sqlite3_finalize(r.rows);
	sqlite3_finalize(r.kind);
	sqlite3_finalize(r.argv);
	idmap_free(&r.kinds);
	idmap_free(&r.argvs);
	return err;
}

int lake_processes_read(struct answer *a, const struct lake_key *run)
{
	int err = a->file->server || a->file->copy ? read_flat(a, run) : read_rows(a, run->row);

	if (!err)
		err = lake_facets_read(a, run);
	return err ? err : sort_processes(a);
}
