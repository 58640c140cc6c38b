/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/streams.c - what streams without a table of their own say about a run: the table `record` has them as JSON.
 *
 * A run of ten thousand tasks has 100,000 samples of processes, so this file looks for a number's name in the text and
 * does not parse the JSON: inside a string every quote has a backslash, so `"name":` is a name. skep writes the fields
 * of a stream in one order, and each search begins where the last one ended.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lake/answer.h"

/* More records of cgroups in a run's time are not read: that takes a second, and most are of other containers. */
#define PRESSURE_MOST 200000

struct text {
	const char *json, *at;
};

static const char *value_of(struct text *t, const char *key)
{
	const char *found = strstr(t->at, key);

	found = found ? found : strstr(t->json, key);
	if (!found)
		return NULL;
	t->at = found + strlen(key);
	return t->at;
}

/* key: with quotes and colon; 0: the record has no such number. */
static uint64_t number_of(struct text *t, const char *key)
{
	const char *value = value_of(t, key);

	return value ? strtoull(value, NULL, 10) : 0;
}

static double real_of(struct text *t, const char *key)
{
	const char *value = value_of(t, key);

	return value ? strtod(value, NULL) : 0;
}

/* A text of the record, a new reference; NULL: it has none. */
static json_t *string_of(struct text *t, const char *key)
{
	const char *value = value_of(t, key);

	return value ? json_loads(value, JSON_DECODE_ANY | JSON_DISABLE_EOF_CHECK, NULL) : NULL;
}

/* The same in the arena; "" if it has none. NULL: no memory. */
static const char *copy_of(struct text *t, const char *key, struct arena *a)
{
	json_t *text = string_of(t, key);
	const char *copy = arena_copy(a, json_is_string(text) ? json_string_value(text) : "", json_string_length(text));

	json_decref(text);
	return copy;
}

/* A time of the record, "2026-11-21T03:57:52.000000001Z"; 0: it has none. */
static uint64_t time_of(struct text *t, const char *key)
{
	const char *value = value_of(t, key);
	struct tm tm = { 0 };
	unsigned long long ns = 0;
	time_t seconds;

	value = value && *value == '"' ? strptime(value + 1, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
	if (!value || sscanf(value, ".%9lluZ", &ns) != 1)
		return 0;
	seconds = timegm(&tm);
	return seconds < 0 ? 0 : (uint64_t)seconds * 1000000000 + ns;
}

uint64_t lake_json_number(const char *json, const char *key)
{
	return number_of(&(struct text){ json, json }, key);
}

const char *lake_json_text(const char *json, const char *key, struct arena *a)
{
	return copy_of(&(struct text){ json, json }, key, a);
}

/* Makes room in a list for one more element. 0 or -errno. */
static int room_for(struct lake_file *f, void **list, size_t n, size_t size)
{
	void *grown;

	if (n & (n - 1)) /* full at 0, 1, 2, 4, 8 ... */
		return 0;
	grown = reallocarray(*list, n ? 2 * n : 1, size);
	if (!grown)
		return lake_file_error(f, SQLITE_NOMEM);
	*list = grown;
	return 0;
}

/* ---- processes by upid and image --------------------------------------------- */

static int by_image(const void *a, const void *b, void *arg)
{
	const struct lake_process *p = arg, *x = &p[*(const size_t *)a], *y = &p[*(const size_t *)b];
	const int order = strcmp(x->upid, y->upid);

	return order ? order : (x->image > y->image) - (x->image < y->image);
}

struct reading {
	struct lake_file *file;
	const struct lake_key *key;
	struct arena *arena;
	struct lake_report *report;
	size_t *images;       /* in the order of by_image; NULL: no record has needed them yet */
	const char **cgroups; /* of the run's processes, sorted */
	size_t n_cgroups;
	int64_t n_records; /* of all cgroups in the run's time */
	bool audit;
};

/* Lists the run's images by process.  0 or -errno. */
static int list_images(struct reading *in)
{
	const size_t n = in->report->n_processes;

	if (in->images)
		return 0;
	in->images = calloc(n + 1, sizeof(*in->images));
	if (!in->images)
		return lake_file_error(in->file, SQLITE_NOMEM);
	for (size_t i = 0; i < n; i++)
		in->images[i] = i;
	qsort_r(in->images, n, sizeof(*in->images), by_image, in->report->processes);
	return 0;
}

/* Finds the image of that process; image UINT64_MAX: its last one.  1; 0: the lake has no row of it; -errno. */
static int find_image(struct reading *in, const char *upid, uint64_t image, size_t *ret)
{
	const struct lake_report *r = in->report;
	size_t low = 0, high = r->n_processes;
	int err = list_images(in);

	if (err)
		return err;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct lake_process *p = &r->processes[in->images[middle]];
		const int order = strcmp(p->upid, upid);

		if (order < 0 || (order == 0 && p->image < image))
			low = middle + 1;
		else
			high = middle;
	}
	if (image == UINT64_MAX && low > 0)
		low--;
	if (low == r->n_processes || strcmp(r->processes[in->images[low]].upid, upid) != 0 ||
	    (image != UINT64_MAX && r->processes[in->images[low]].image != image))
		return 0;
	*ret = in->images[low];
	return 1;
}

/* ---- one record of each stream ------------------------------------------------ */

/* The columns of each question: upid, time_ns, fields. */
static const char *upid_at(const struct lake_rows *s)
{
	size_t n;

	return lake_rows_bytes(s, 0, &n);
}

static struct text text_at(const struct lake_rows *s)
{
	size_t n;
	const char *json = lake_rows_bytes(s, 2, &n);

	return (struct text){ json, json };
}

static int add_progress(struct reading *in, const struct lake_rows *s)
{
	struct lake_report *r = in->report;
	struct text t = text_at(s);
	void *list = r->progress;
	struct lake_progress *p;
	size_t process;
	int err = find_image(in, upid_at(s), number_of(&t, "\"image\":"), &process);

	if (err <= 0)
		return err;
	err = room_for(in->file, &list, r->n_progress, sizeof(*p));
	if (err)
		return err;
	r->progress = list;
	p = &r->progress[r->n_progress++];
	*p = (struct lake_progress){ .process = process, .end_ns = (uint64_t)lake_rows_number(s, 1) };
	p->interval_ns = number_of(&t, "\"interval_ns\":");
	p->quiet_ns = number_of(&t, "\"quiet_ns\":");
	p->cpu_ns = number_of(&t, "\"cpu_ns\":");
	p->run_delay_ns = number_of(&t, "\"run_delay_ns\":");
	p->major_faults = number_of(&t, "\"major_faults\":");
	p->file_bytes = number_of(&t, "\"rchar_bytes\":");
	p->file_bytes += number_of(&t, "\"wchar_bytes\":");
	p->read_bytes = number_of(&t, "\"read_bytes\":");
	p->write_bytes = number_of(&t, "\"write_bytes\":");
	p->rss_bytes = number_of(&t, "\"rss_bytes\":");
	p->samples = number_of(&t, "\"sched.samples\":");
	p->iowait_samples = number_of(&t, "\"sched.iowait\":");
	p->net_bytes = number_of(&t, "\"net.rx_bytes\":");
	p->net_bytes += number_of(&t, "\"net.tx_bytes\":");
	p->net_bytes -= number_of(&t, "\"net.loopback_rx_bytes\":");
	p->net_bytes -= number_of(&t, "\"net.loopback_tx_bytes\":");
	p->reclaims = number_of(&t, "\"io.reclaims\":");
	p->reclaims += number_of(&t, "\"io.cgroup_reclaims\":");
	p->gpu_busy_ns = number_of(&t, "\"gpu.busy_ns\":");
	p->gpu_known_ns = number_of(&t, "\"gpu.known_ns\":");
	p->gpu_devices = number_of(&t, "\"gpu.devices\":");
	return 0;
}

static int text_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_pressure(struct reading *in, const struct lake_rows *s)
{
	struct lake_report *r = in->report;
	struct text t = text_at(s);
	json_t *text = string_of(&t, "\"cgroup\":");
	const char *cgroup = json_string_value(text), *const *found;
	void *list = r->pressure;
	struct lake_pressure *p;
	int err;

	found = cgroup ? bsearch(&cgroup, in->cgroups, in->n_cgroups, sizeof(*in->cgroups), text_order) : NULL;
	json_decref(text);
	if (!found)
		return 0;
	err = room_for(in->file, &list, r->n_pressure, sizeof(*p));
	if (err)
		return err;
	r->pressure = list;
	p = &r->pressure[r->n_pressure++];
	*p = (struct lake_pressure){ .cgroup = *found, .end_ns = (uint64_t)lake_rows_number(s, 1) };
	p->interval_ns = number_of(&t, "\"interval_ns\":");
	p->memory_bytes = number_of(&t, "\"memory_bytes\":");
	p->memory_limit_bytes = number_of(&t, "\"memory_limit_bytes\":");
	p->cpu_ns = number_of(&t, "\"cpu_ns\":");
	p->cpu_limit = real_of(&t, "\"cpu_limit\":");
	p->periods = number_of(&t, "\"cpu_periods\":");
	p->throttled_periods = number_of(&t, "\"cpu_throttled_periods\":");
	p->throttled_ns = number_of(&t, "\"cpu_throttled_ns\":");
	p->memory_full_ns = number_of(&t, "\"memory_full_ns\":");
	return 0;
}

static int add_link(struct reading *in, const struct lake_rows *s)
{
	struct lake_report *r = in->report;
	struct text t = text_at(s);
	void *list = r->links;
	struct lake_link l = { .name = copy_of(&t, "\"network.interface.name\":", in->arena),
			       .end_ns = (uint64_t)lake_rows_number(s, 1) };
	int err;

	if (!l.name)
		return lake_file_error(in->file, SQLITE_NOMEM);
	if (!number_of(&t, "\"uplink\":"))
		return 0;
	l.bytes_per_s = number_of(&t, "\"hw.network.bandwidth.limit\":");
	l.rx_bytes = number_of(&t, "\"system.network.io.receive\":");
	l.tx_bytes = number_of(&t, "\"system.network.io.transmit\":");
	err = l.bytes_per_s ? room_for(in->file, &list, r->n_links, sizeof(l)) : 0;
	if (err || !l.bytes_per_s)
		return err;
	r->links = list;
	r->links[r->n_links++] = l;
	return 0;
}

/*
 * Finds the last image of the record's process, and its upid.  1; 0: the lake has no row of it, and the report no
 * place; -errno.
 */
static int find_last(struct reading *in, const struct lake_rows *s, size_t *ret, const char **ret_upid)
{
	const char *upid = upid_at(s);
	int found = find_image(in, upid, UINT64_MAX, ret);

	if (found > 0)
		*ret_upid = in->report->processes[*ret].upid;
	if (found || !in->audit)
		return found;
	*ret = SIZE_MAX;
	*ret_upid = arena_copy(in->arena, upid, strlen(upid));
	return *ret_upid ? 1 : lake_file_error(in->file, SQLITE_NOMEM);
}

static int add_open(struct reading *in, const struct lake_rows *s)
{
	struct lake_report *r = in->report;
	struct text t = text_at(s);
	void *list = r->opens;
	struct lake_open o = { .path = copy_of(&t, "\"file.path\":", in->arena) };
	int err;

	if (!o.path)
		return lake_file_error(in->file, SQLITE_NOMEM);
	err = find_last(in, s, &o.process, &o.upid);
	if (err <= 0)
		return err;
	o.opens = number_of(&t, "\"opens\":");
	o.writes = number_of(&t, "\"writes\":");
	o.created = in->audit ? number_of(&t, "\"created\":") : 0;
	o.size_bytes = number_of(&t, "\"size_bytes\":");
	o.first_ns = in->audit ? time_of(&t, "\"first_seen\":") : 0;
	err = o.opens ? room_for(in->file, &list, r->n_opens, sizeof(o)) : 0;
	if (err || !o.opens)
		return err;
	r->opens = list;
	r->opens[r->n_opens++] = o;
	return 0;
}

static int add_connection(struct reading *in, const struct lake_rows *s)
{
	struct lake_report *r = in->report;
	struct text t = text_at(s);
	void *list = r->connections;
	struct lake_connection c = { .time_ns = (uint64_t)lake_rows_number(s, 1) };
	int err;

	err = find_last(in, s, &c.process, &c.upid);
	if (err <= 0)
		return err;
	c.local = copy_of(&t, "\"network.local.address\":", in->arena);
	c.local_port = number_of(&t, "\"network.local.port\":");
	c.peer = copy_of(&t, "\"network.peer.address\":", in->arena);
	c.peer_port = number_of(&t, "\"network.peer.port\":");
	c.direction = copy_of(&t, "\"direction\":", in->arena);
	c.state = copy_of(&t, "\"state\":", in->arena);
	c.error = copy_of(&t, "\"error.type\":", in->arena);
	c.start_ns = time_of(&t, "\"start\":");
	c.rx_bytes = number_of(&t, "\"rx_bytes\":");
	c.tx_bytes = number_of(&t, "\"tx_bytes\":");
	c.netns = number_of(&t, "\"netns\":");
	if (!c.local || !c.peer || !c.direction || !c.state || !c.error)
		return lake_file_error(in->file, SQLITE_NOMEM);
	err = room_for(in->file, &list, r->n_connections, sizeof(c));
	if (err)
		return err;
	r->connections = list;
	r->connections[r->n_connections++] = c;
	return 0;
}

/* ---- all of them ------------------------------------------------------------------ */

/* ?1 to ?3 as in lake_rows_of_run(); ?4, ?5: the run's time. */
#define OF_RUN(stream_)                                                                                                \
	{                                                                                                              \
		.sqlite = "SELECT upid, time_ns, fields FROM record WHERE run = ?1 AND stream = "                      \
			  "(SELECT id FROM dict WHERE s = '" stream_ "')",                                              \
		.clickhouse = "SELECT upid, time_ns, fields FROM record FINAL PREWHERE stream = '" stream_ "' AND "    \
			      "run = ?2 WHERE boot_id = ?3",                                                          \
	}
#define OF_HOST(columns_, stream_)                                                                                     \
	{                                                                                                              \
		.sqlite = "SELECT " columns_ " FROM record WHERE time_ns BETWEEN ?4 AND ?5 AND stream = "              \
			  "(SELECT id FROM dict WHERE s = '" stream_ "')",                                              \
		.clickhouse = "SELECT " columns_ " FROM record FINAL PREWHERE stream = '" stream_ "' AND "             \
			      "time_ns BETWEEN ?4 AND ?5 WHERE boot_id = ?3",                                         \
	}

static int read_stream(struct reading *in, const struct lake_question *question,
		       int (*add)(struct reading *, const struct lake_rows *))
{
	const struct lake_run *run = &in->report->run;
	const struct lake_value values[] = {
		LAKE_NUMBER(in->key->row),
		LAKE_TEXT(in->key->run),
		LAKE_TEXT(in->key->boot_id),
		LAKE_NUMBER(run->start_ns),
		LAKE_NUMBER(run->end_ns ? run->end_ns : INT64_MAX),
	};
	struct lake_rows rows = { 0 };
	int err = lake_rows_open(in->file, question, values, sizeof(values) / sizeof(*values), &rows);

	if (err)
		return err;
	while ((err = lake_rows_next(&rows)) > 0) {
		err = add(in, &rows);
		if (err)
			break;
	}
	lake_rows_close(&rows);
	return err;
}

static int add_count(struct reading *in, const struct lake_rows *s)
{
	in->n_records += lake_rows_number(s, 0);
	return 0;
}

static int progress_order(const void *a, const void *b)
{
	const struct lake_progress *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int pressure_order(const void *a, const void *b)
{
	const struct lake_pressure *x = a, *y = b;
	const int order = strcmp(x->cgroup, y->cgroup);

	return order ? order : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int link_order(const void *a, const void *b)
{
	const struct lake_link *x = a, *y = b;
	const int order = strcmp(x->name, y->name);

	return order ? order : (x->end_ns > y->end_ns) - (x->end_ns < y->end_ns);
}

static int open_order(const void *a, const void *b)
{
	const struct lake_open *x = a, *y = b;
	const int order = strcmp(x->path, y->path);

	return order ? order : (x->process > y->process) - (x->process < y->process);
}

/* What the host reported: such a record has no run, so it is in the file of its own time. */
static int read_links(struct lake_file *f, void *arg)
{
	static const struct lake_question links = OF_HOST("upid, time_ns, fields", "host.network"),
					  n_pressure = OF_HOST("count(*)", "cgroup");
	struct reading *in = arg;
	int err;

	in->file = f;
	err = read_stream(in, &links, add_link);
	return err ? err : read_stream(in, &n_pressure, add_count);
}

static int read_pressure(struct lake_file *f, void *arg)
{
	static const struct lake_question pressure = OF_HOST("upid, time_ns, fields", "cgroup");
	struct reading *in = arg;

	in->file = f;
	return read_stream(in, &pressure, add_pressure);
}

static int read_all(struct lake *l, struct reading *in)
{
	static const struct lake_question progress = OF_RUN("process.sample"), opens = OF_RUN("proc.opens"),
					  connections = OF_RUN("net.connection");
	struct lake_file *own = in->file;
	uint64_t from, to;
	int err;

	err = read_stream(in, &opens, add_open);
	if (err)
		return err;
	if (in->audit)
		return read_stream(in, &connections, add_connection);
	err = read_stream(in, &progress, add_progress);
	from = in->report->run.start_ns;
	to = in->report->run.end_ns ? in->report->run.end_ns : INT64_MAX;
	if (!err)
		err = lake_each_of_time(l, own, in->key->month, from, to, read_links, in);
	if (!err && in->n_cgroups && in->n_records <= PRESSURE_MOST)
		err = lake_each_of_time(l, own, in->key->month, from, to, read_pressure, in);
	return err;
}

/* l: NULL for an audit */
static int read_streams(struct lake *l, struct answer *answer, const struct lake_key *key)
{
	struct lake_report *r = &answer->report;
	struct reading in = { .file = answer->file, .key = key, .arena = &answer->arena, .report = r,
			      .cgroups = calloc(r->n_processes + 1, sizeof(const char *)), .audit = !l };
	int err;

	if (!in.cgroups)
		return lake_file_error(answer->file, SQLITE_NOMEM);
	for (size_t i = 0; i < r->n_processes; i++) {
		/* most processes of a run are in a few cgroups, one after another */
		if (!in.n_cgroups || strcmp(in.cgroups[in.n_cgroups - 1], r->processes[i].kind->cgroup) != 0)
			in.cgroups[in.n_cgroups++] = r->processes[i].kind->cgroup;
	}
	qsort(in.cgroups, in.n_cgroups, sizeof(*in.cgroups), text_order);
	err = read_all(l, &in);
	free(in.images);
	free(in.cgroups);
	if (r->n_progress)
		qsort(r->progress, r->n_progress, sizeof(*r->progress), progress_order);
	if (r->n_pressure)
		qsort(r->pressure, r->n_pressure, sizeof(*r->pressure), pressure_order);
	if (r->n_links)
		qsort(r->links, r->n_links, sizeof(*r->links), link_order);
	if (r->n_opens)
		qsort(r->opens, r->n_opens, sizeof(*r->opens), open_order);
	/* a record has what came since the last one of its interface; the first one's interval is not known */
	for (size_t i = 1; i < r->n_links; i++)
		if (strcmp(r->links[i].name, r->links[i - 1].name) == 0)
			r->links[i].interval_ns = r->links[i].end_ns - r->links[i - 1].end_ns;
	return err;
}

int lake_streams_read(struct lake *l, struct answer *answer, const struct lake_key *key)
{
	return read_streams(l, answer, key);
}

int lake_streams_audit(struct answer *answer, const struct lake_key *key)
{
	return read_streams(NULL, answer, key);
}

void lake_streams_free(struct lake_report *r)
{
	free(r->connections);
	free(r->progress);
	free(r->pressure);
	free(r->links);
	free(r->opens);
}
