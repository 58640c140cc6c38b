/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/carry.c - the file, and the table of what waits to be claimed.
 */
#include "core/carry.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/carry_text.h"
#include "core/collector.h"
#include "core/counters.h"
#include "core/log.h"
#include "core/track_priv.h"
#include "spool/bytes.h"

#define CARRY_VERSION 2
#define N_COUNTERS (sizeof(struct skep_counters) / sizeof(uint64_t))

struct waiting {
	struct waiting *next;
	struct skep_upid upid;
	uint64_t image, image_start_ns, flags, approx, threads_peak;
	uint64_t rss_peak_bytes, maxrss_base_bytes, maxrss_bytes;
	uint64_t status, end_ns; /* once it has exited */
	struct skep_counters base, last;
	bool sampled;
	struct proc_sampled samples;
	struct run *run;   /* a reference */
	struct task *task; /* borrowed: track_task.c frees none while carried processes wait */
	json_t *line; /* the rest: who it is; "facets": column -> [now, base, told] as bits */
};

struct carry {
	struct waiting **buckets;
	struct skep_hash_key key;
	size_t n_buckets, n; /* n_buckets: a power of two */
};

/* Those flags that say something about what has been; the others are found out again. */
#define FLAGS_CARRIED (PROC_EXECED | PROC_EXITED | PROC_FINAL | PROC_PLACED | PROC_CONFIRMED | PROC_ROOT | PROC_OOM | PROC_RSS_KNOWN | PROC_TASK_NONE)

/* ---- written ---------------------------------------------------------------------- */

/* JSON's numbers are signed here (jansson): the same bits. */
static json_t *number(uint64_t u)
{
	return json_integer((json_int_t)u);
}

static json_t *counters_json(const struct skep_counters *c)
{
	uint64_t v[N_COUNTERS];
	json_t *list = json_array();

	memcpy(v, c, sizeof(v));
	for (size_t i = 0; i < N_COUNTERS; i++)
		json_array_append_new(list, number(v[i]));
	return list;
}

static void facet_json(void *arg, const char *column, const uint64_t bits[FACET_KEPT])
{
	json_t *list = json_array();

	for (int i = 0; i < FACET_KEPT; i++)
		json_array_append_new(list, number(bits[i]));
	json_object_set_new(arg, column, list);
}

/* A line that cannot be made is counted, and the others are written all the same. -EIO: the file cannot be written. */
static int write_line(struct track *t, FILE *file, json_t *line)
{
	char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
	int err = 0;

	json_decref(line);
	if (!text)
		track_unsaved(t, 1);
	else if (fputs(text, file) == EOF || putc('\n', file) == EOF)
		err = -EIO;
	free(text);
	return err;
}

static json_t *text(const char *s)
{
	return carry_text(s, strlen(s));
}

static int write_run(struct track *t, FILE *file, const struct run *run)
{
	return write_line(t, file, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o}", "run", text(run->id), "name", text(run->name),
					  "pipeline", text(run->pipeline), "cwd", text(run->cwd), "root", number(run->root.pid), "root_start", number(run->root.start_ns),
					  "start", number(run->start_ns), "seen", number(run->seen), "uid", number(run->uid), "rss_peak",
					  number(run->rss_peak_bytes), "found", run->found, "traceparent", text(run->traceparent)));
}

/* Its sums are those of the images that have left, as they are in the books by then; the members are carried themselves. */
static int write_task(struct track *t, FILE *file, const struct task *task)
{
	return write_line(t, file, json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "task", task->id,
					  "name", carry_text(task->name->text, task->name->len), "run", text(task->run ? task->run->id : ""), "traceparent",
					  text(task->traceparent ? task->traceparent->text : ""), "root", number(task->root.pid), "root_start",
					  number(task->root.start_ns), "start", number(task->start_ns), "end", number(task->end_ns), "over",
					  number(task->over_ns), "ended", task->ended, "state", task->state, "status", (json_int_t)task->status,
					  "processes", number(task->processes), "cpu", number(task->cpu_ns), "run_delay", number(task->run_delay_ns),
					  "rss_peak", number(task->rss_peak_bytes), "read", number(task->read_bytes), "write", number(task->write_bytes)));
}

/* NULL: no memory. */
static json_t *process_json(const struct track *t, const struct proc *p)
{
	json_t *line = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", number(p->upid.pid), "start",
				 number(p->upid.start_ns), "image", number(p->image), "image_start", number(p->image_start_ns), "flags",
				 number(p->flags & FLAGS_CARRIED), "approx", number(p->approx), "threads_peak", number(p->threads_peak), "rss_peak",
				 number(p->rss_peak_bytes), "maxrss_base", number(p->maxrss_base_bytes), "maxrss", number(p->maxrss_bytes), "base",
				 counters_json(&p->base), "last", counters_json(&p->last));
	json_t *facets = json_object();

	if (p->sampled) {
		json_object_set_new(line, "sampled", counters_json(&p->sampled->counters));
		json_object_set_new(line, "sampled_time", number(p->sampled->time_ns));
	}
	if (p->flags & PROC_EXITED) {
		json_object_set_new(line, "status", number(p->status));
		json_object_set_new(line, "end", number(p->end_ns));
	}
	if (p->run)
		json_object_set_new(line, "run", text(p->run->id));
	if (p->task)
		json_object_set_new(line, "task", json_string(p->task->id));
	facets_kept(t->env.facets, p->facets, facet_json, facets);
	if (json_object_size(facets) > 0)
		json_object_set(line, "facets", facets);
	json_decref(facets);
	if (!line || carry_who_write(line, p) == 0)
		return line;
	json_decref(line);
	return NULL;
}

int carry_line(const struct track *t, const struct proc *p, char **ret)
{
	json_t *line = process_json(t, p);

	*ret = line ? json_dumps(line, JSON_COMPACT) : NULL;
	json_decref(line);
	return *ret ? 0 : -ENOMEM;
}

bool carry_worth(const struct proc *p)
{
	/* Zombies as well: what they were is known, only their final counters are to come. */
	return ((p->flags & PROC_CONFIRMED) || p->facets) && !(p->flags & PROC_MUTED) && p->upid.start_ns != 0;
}

int carry_head(struct track *t, FILE *file, const char *boot_id)
{
	int err = write_line(t, file, json_pack("{s:i, s:s}", "skep_carry", CARRY_VERSION, "boot_id", boot_id));

	for (const struct run *run = t->runs.first; run && err == 0; run = run->next)
		if (!run->ended && run->root.pid != 0)
			err = write_run(t, file, run);
	for (const struct task *task = t->tasks.first; task && err == 0; task = task->next)
		err = write_task(t, file, task);
	return err;
}

static int write_all(struct track *t, FILE *file, const char *boot_id)
{
	int err = carry_head(t, file, boot_id);

	for (const struct proc *p = proctab_first(t->table); p && err == 0; p = p->next)
		if (carry_worth(p))
			err = write_line(t, file, process_json(t, p));
	return err;
}

int carry_save(struct track *t, const char *path, const char *boot_id)
{
	FILE *file = NULL;
	char *temporary;
	int err;

	if (asprintf(&temporary, "%s.new", path) < 0)
		return -ENOMEM;
	file = fopen(temporary, "we");
	if (!file) {
		err = -errno;
		free(temporary);
		return err;
	}
	/* No fsync: after a crash of the host it is another boot's, and worth nothing. */
	err = write_all(t, file, boot_id);
	if (fclose(file) != 0 && err == 0)
		err = -errno;
	if (err == 0 && rename(temporary, path) < 0)
		err = -errno;
	if (err < 0)
		unlink(temporary);
	free(temporary);
	return err;
}

/* ---- read ------------------------------------------------------------------------- */

static struct waiting **bucket(const struct carry *c, const struct skep_upid *upid)
{
	return &c->buckets[skep_hash_number(&c->key, upid->pid) & (c->n_buckets - 1)];
}

/* Where it hangs, or would be hung. */
static struct waiting **find(const struct carry *c, const struct skep_upid *upid)
{
	struct waiting **at = bucket(c, upid);

	while (*at && !((*at)->upid.pid == upid->pid && (*at)->upid.start_ns == upid->start_ns))
		at = &(*at)->next;
	return at;
}

static void waiting_free(struct waiting *w)
{
	run_unref(w->run);
	json_decref(w->line);
	free(w);
}

struct carry *carry_free(struct carry *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; c->buckets && i < c->n_buckets; i++)
		while (c->buckets[i]) {
			struct waiting *next = c->buckets[i]->next;

			waiting_free(c->buckets[i]);
			c->buckets[i] = next;
		}
	free(c->buckets);
	free(c);
	return NULL;
}

size_t carry_left(const struct carry *c)
{
	return c->n;
}

static bool get(json_t *line, const char *key, uint64_t *ret)
{
	json_t *value = json_object_get(line, key);

	if (!json_is_integer(value))
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

static bool get_counters(json_t *line, const char *key, struct skep_counters *ret)
{
	json_t *list = json_object_get(line, key);
	uint64_t v[N_COUNTERS];

	if (!json_is_array(list) || json_array_size(list) != N_COUNTERS)
		return false;
	for (size_t i = 0; i < N_COUNTERS; i++) {
		if (!json_is_integer(json_array_get(list, i)))
			return false;
		v[i] = (uint64_t)json_integer_value(json_array_get(list, i));
	}
	memcpy(ret, v, sizeof(v));
	return true;
}

/* 0, -EBADMSG, -ENOMEM */
static int read_run(struct track *t, json_t *line)
{
	struct run_spec spec = {
		.id = carry_text_read(line, "run"),
		.name = carry_text_read(line, "name"),
		.pipeline = carry_text_read(line, "pipeline"),
		.cwd = carry_text_read(line, "cwd"),
		.traceparent = carry_text_read(line, "traceparent"),
	};
	uint64_t root, root_start, start, seen, uid, rss_peak;
	struct run *run;
	int err;

	if (!get(line, "root", &root) || !get(line, "root_start", &root_start) || !get(line, "start", &start) || !get(line, "seen", &seen) ||
	    !get(line, "uid", &uid) || !get(line, "rss_peak", &rss_peak) || root == 0 || root > INT32_MAX)
		return -EBADMSG;
	spec.root = (pid_t)root;
	err = run_new(&t->runs, &spec, start, &run);
	if (err < 0)
		return err == -ENOMEM ? err : -EBADMSG;
	run->root = (struct skep_upid){ .pid = (uint32_t)root, .start_ns = root_start };
	run->found = json_is_true(json_object_get(line, "found"));
	run->carried = true;
	run->seen = seen;
	run->uid = (uint32_t)uid;
	run->rss_peak_bytes = rss_peak;
	return 0;
}

static const char *state_of(const char *text)
{
	static const char *const states[] = { "exited", "replaced", "lost", "excluded", "zombie" };

	for (size_t i = 0; text && i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(text, states[i]) == 0)
			return states[i];
	return "running";
}

/* 0, -EBADMSG, -ENOMEM */
static int read_task(struct track *t, json_t *line)
{
	const char *name = carry_text_read(line, "name"), *trace = carry_text_read(line, "traceparent");
	uint32_t len = (uint32_t)json_string_length(json_object_get(line, "name"));
	struct skep_str text = { name, len, len };
	const char *id = json_string_value(json_object_get(line, "task")), *run = carry_text_read(line, "run");
	struct task read = { 0 }, *task;
	uint64_t root, status;

	if (!get(line, "root", &root) || !get(line, "root_start", &read.root.start_ns) || !get(line, "start", &read.start_ns) ||
	    !get(line, "end", &read.end_ns) || !get(line, "over", &read.over_ns) || !get(line, "status", &status) ||
	    !get(line, "processes", &read.processes) || !get(line, "cpu", &read.cpu_ns) || !get(line, "run_delay", &read.run_delay_ns) ||
	    !get(line, "rss_peak", &read.rss_peak_bytes) || !get(line, "read", &read.read_bytes) || !get(line, "write", &read.write_bytes) ||
	    !text.len || text.len > TASK_NAME_MOST || !id || strlen(id) >= TASK_ID_SIZE || task_find(&t->tasks, id) || root == 0 || root > INT32_MAX)
		return -EBADMSG;
	read.root.pid = (uint32_t)root;
	task = task_new(&t->tasks, t->intern, intern_get(t->intern, &text),
			trace && *trace ? intern_text(t->intern, trace) : NULL, &read.root, 0, read.start_ns);
	if (!task || !task->name) {
		if (task)
			task_free(&t->tasks, t->intern, task);
		return -ENOMEM;
	}
	memcpy(task->id, id, strlen(id) + 1);
	task_set_run(task, run && *run ? run_find(&t->runs, run) : NULL);
	task->end_ns = read.end_ns;
	task->over_ns = read.over_ns;
	task->status = (int64_t)status;
	task->state = state_of(json_string_value(json_object_get(line, "state")));
	task->ended = json_is_true(json_object_get(line, "ended"));
	task->processes = read.processes;
	task->cpu_ns = read.cpu_ns;
	task->run_delay_ns = read.run_delay_ns;
	task->rss_peak_bytes = read.rss_peak_bytes;
	task->read_bytes = read.read_bytes;
	task->write_bytes = read.write_bytes;
	return 0;
}

static int read_process(const struct track *t, struct carry *c, json_t *line)
{
	struct waiting *w = calloc(1, sizeof(*w)), **at;
	const char *run = carry_text_read(line, "run"), *task = json_string_value(json_object_get(line, "task"));
	uint64_t pid, start;

	if (!w)
		return -ENOMEM;
	if (!get(line, "pid", &pid) || !get(line, "start", &start) || !get(line, "image", &w->image) ||
	    !get(line, "image_start", &w->image_start_ns) || !get(line, "flags", &w->flags) || !get(line, "approx", &w->approx) ||
	    !get(line, "threads_peak", &w->threads_peak) || !get(line, "rss_peak", &w->rss_peak_bytes) ||
	    !get(line, "maxrss_base", &w->maxrss_base_bytes) || !get(line, "maxrss", &w->maxrss_bytes) ||
	    !get_counters(line, "base", &w->base) || !get_counters(line, "last", &w->last) || pid == 0 || pid > INT32_MAX || start == 0 ||
	    w->image > UINT32_MAX || (w->flags & ~(uint64_t)FLAGS_CARRIED)) {
		waiting_free(w);
		return -EBADMSG;
	}
	w->upid = (struct skep_upid){ .pid = (uint32_t)pid, .start_ns = start };
	w->sampled = get_counters(line, "sampled", &w->samples.counters) && get(line, "sampled_time", &w->samples.time_ns);
	if (!get(line, "status", &w->status) || !get(line, "end", &w->end_ns))
		w->flags &= ~(uint64_t)PROC_EXITED;
	w->line = json_incref(line);
	w->run = run_ref(run ? run_find(&t->runs, run) : NULL);
	w->task = task ? task_find(&t->tasks, task) : NULL;
	if (!w->run)
		w->flags &= ~(uint64_t)(PROC_PLACED | PROC_ROOT);
	at = bucket(c, &w->upid);
	w->next = *at;
	*at = w;
	c->n++;
	return 0;
}

static int read_lines(struct track *t, struct carry *c, FILE *file, const char *name)
{
	unsigned long number = 1, bad = 0;
	size_t room = 0;
	char *text = NULL;
	ssize_t len;
	int err = 0;

	while (err == 0 && (len = getline(&text, &room, file)) > 0) {
		json_t *line = json_loadb(text, (size_t)len, 0, NULL);

		number++;
		if (json_is_object(line) && json_object_get(line, "pid"))
			err = read_process(t, c, line);
		else if (json_is_object(line) && json_object_get(line, "task"))
			err = read_task(t, line);
		else
			err = json_is_object(line) ? read_run(t, line) : -EBADMSG;
		json_decref(line);
		if (err != -EBADMSG)
			continue;
		err = 0;
		t->stats.unrestored++;
		if (bad++ == 0)
			log_warning("%s:%lu: not a line of what was carried over (\"%.40s\"); left out, its process begins anew", name, number, text);
	}
	if (bad > 1)
		log_warning("%s: %lu lines in all were left out", name, bad);
	if (err == 0 && ferror(file))
		err = -EIO;
	free(text);
	return err;
}

int carry_read(struct track *t, FILE *file, const char *name, const char *boot_id, struct carry **ret)
{
	struct carry *c = NULL;
	size_t room = 0;
	char *text = NULL;
	ssize_t len = getline(&text, &room, file);
	json_t *head = len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
	const char *boot = json_string_value(json_object_get(head, "boot_id"));
	int err = 0;

	*ret = NULL;
	if (!boot || json_integer_value(json_object_get(head, "skep_carry")) != CARRY_VERSION) {
		log_warning("%s:1: not what a skepd of this version carries over; it begins anew", name);
		t->stats.unrestored++;
		goto out;
	}
	if (strcmp(boot, boot_id) != 0)
		goto out; /* the host has been restarted: nothing of it lives */
	err = -ENOMEM;
	c = calloc(1, sizeof(*c));
	if (!c)
		goto out;
	c->key = skep_hash_key_new();
	c->n_buckets = 4096;
	c->buckets = calloc(c->n_buckets, sizeof(struct waiting *));
	if (!c->buckets)
		goto out;
	err = read_lines(t, c, file, name);
	if (err < 0)
		goto out;
	*ret = c;
	c = NULL;
out:
	carry_free(c);
	json_decref(head);
	free(text);
	return err;
}

int carry_load(struct track *t, const char *path, const char *boot_id, struct carry **ret)
{
	FILE *file = fopen(path, "re");
	int err;

	*ret = NULL;
	if (!file)
		return errno == ENOENT ? 0 : -errno;
	err = carry_read(t, file, path, boot_id, ret);
	fclose(file);
	/* Once only: what is in it is old as soon as anything has happened. */
	if (unlink(path) < 0 && err == 0)
		err = -errno;
	return err;
}

/* ---- claimed ------------------------------------------------------------------------ */

static void restore_facets(const struct track *t, struct proc *p, json_t *facets)
{
	const char *column;
	json_t *list;

	json_object_foreach(facets, column, list) {
		uint64_t bits[FACET_KEPT];

		if (json_array_size(list) != FACET_KEPT)
			continue;
		for (int i = 0; i < FACET_KEPT; i++)
			bits[i] = (uint64_t)json_integer_value(json_array_get(list, (size_t)i));
		facets_restore(t->env.facets, &p->facets, column, bits);
	}
}

/* Out of the table, and the caller's. NULL: it is not there. */
static struct waiting *take(struct carry *c, const struct skep_upid *upid)
{
	struct waiting **at = find(c, upid), *w = *at;

	if (w) {
		*at = w->next;
		c->n--;
	}
	return w;
}

void carry_claim(struct track *t, struct carry *c, struct proc *p)
{
	struct waiting *w = take(c, &p->upid);

	if (!w)
		return;
	restore_facets(t, p, json_object_get(w->line, "facets"));
	/* Only a facet had told of it: to the table it is as new as any. */
	if (!(w->flags & PROC_CONFIRMED)) {
		waiting_free(w);
		return;
	}
	p->image = (uint32_t)w->image;
	p->image_start_ns = w->image_start_ns;
	p->flags |= ((uint32_t)w->flags & ~PROC_CONFIRMED) | PROC_CARRIED; /* confirmed by its first record here */
	p->approx = (uint32_t)w->approx;
	p->threads_peak = w->threads_peak < UINT32_MAX ? (uint32_t)w->threads_peak : UINT32_MAX;
	p->rss_peak_bytes = w->rss_peak_bytes;
	p->maxrss_base_bytes = w->maxrss_base_bytes;
	p->maxrss_bytes = w->maxrss_bytes;
	p->status = (uint32_t)w->status;
	p->end_ns = w->end_ns;
	p->base = w->base;
	p->last = w->last;
	if (w->sampled) {
		p->sampled = malloc(sizeof(*p->sampled));
		if (p->sampled)
			*p->sampled = w->samples;
		else
			t->stats.no_memory++;
	}
	/* Not track_join: it was counted when it joined. */
	if (w->run && !w->run->ended)
		track_enter_run(p, w->run);
	if (w->task) { /* likewise */
		track_task_enter(p, w->task);
		if (p->flags & (PROC_EXITED | PROC_FINAL))
			track_task_dying(p);
	}
	if (carry_who_read(t, p, w->line)) {
		p->flags |= PROC_CONFIRMED;
		track_recell(t, p);
	}
	waiting_free(w);
}

/* ---- where samples stand ------------------------------------------------------------- */

static void put_counters(struct bytes_out *b, const struct skep_counters *c)
{
	uint64_t v[N_COUNTERS];

	memcpy(v, c, sizeof(v));
	for (size_t i = 0; i < N_COUNTERS; i++)
		bytes_number(b, v[i]);
}

static bool take_counters(struct bytes_in *in, struct skep_counters *ret)
{
	uint64_t v[N_COUNTERS] = { 0 };

	for (size_t i = 0; i < N_COUNTERS; i++)
		v[i] = bytes_take_number(in);
	memcpy(ret, v, sizeof(v));
	return !in->bad;
}

int carry_samples(const struct track *t, void **ret, size_t *ret_size)
{
	struct bytes_out b = { 0 };

	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		if (!carry_worth(p) || (p->flags & (PROC_EXITED | PROC_FINAL)) || !(p->flags & PROC_CONFIRMED))
			continue;
		bytes_number(&b, p->upid.pid);
		bytes_number(&b, p->upid.start_ns);
		put_counters(&b, &p->last);
		bytes_number(&b, p->sampled ? p->sampled->time_ns : 0);
		if (p->sampled)
			put_counters(&b, &p->sampled->counters);
	}
	*ret = b.at;
	*ret_size = b.len;
	if (b.err)
		free(b.at);
	return b.err;
}

void carry_sampled(struct carry *c, const void *samples, size_t size)
{
	struct bytes_in in = { .begin = samples, .at = samples, .end = (const unsigned char *)samples + size };

	while (in.at < in.end) {
		struct skep_upid upid = { .pid = (uint32_t)bytes_take_number(&in), .start_ns = bytes_take_number(&in) };
		struct proc_sampled samples_then = { 0 };
		struct skep_counters last;
		struct waiting *w = *find(c, &upid);

		if (!take_counters(&in, &last))
			return;
		samples_then.time_ns = bytes_take_number(&in);
		if (samples_then.time_ns && !take_counters(&in, &samples_then.counters))
			return;
		if (!w)
			continue;
		counters_raise(&w->last, &last);
		/* Of the image that it is at: an exec begins anew, and is in the line. */
		if (samples_then.time_ns > w->image_start_ns && (!w->sampled || samples_then.time_ns > w->samples.time_ns)) {
			w->sampled = true;
			w->samples = samples_then;
		}
	}
}

void carry_restore(struct track *t)
{
	struct carry *c = t->carry;
	bool is_new;

	for (size_t i = 0; c && i < c->n_buckets; i++)
		while (c->buckets[i]) {
			struct skep_upid upid = c->buckets[i]->upid;
			struct proc *p = track_get(t, &upid, &is_new);

			if (!p || !is_new) { /* no memory, or it is there: nobody claims it */
				struct waiting *w = take(c, &upid);

				if (w)
					waiting_free(w);
			} else if (p->flags & PROC_FINAL) { /* it waited for facets; those that it has it brought along */
				p->event_ns = p->end_ns ? p->end_ns : p->image_start_ns;
				track_hold(t, p);
			}
		}
}

void track_carry_settle(struct track *t, uint64_t now_ns)
{
	if (!t->carry)
		return;
	t->carry = carry_free(t->carry);
	track_tasks_settle(t, now_ns);
	for (struct run *run = t->runs.first, *next; run; run = next) {
		next = run->next;
		if (!run->carried || run->ended || run->members > 0)
			continue;
		run->end_ns = now_ns;
		t->env.run_over(t->env.arg, run);
	}
}
