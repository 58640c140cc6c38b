/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_read.c - reads the state that the previous skepd saved, and keeps each process's part until the
 * process has an entry in the table.
 */
#include "core/process/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/counters.h"
#include "core/base/log.h"
#include "core/process/saved_scope.h"
#include "core/process/saved_text.h"
#include "core/process/track_priv.h"
#include "spool/bytes.h"

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
	struct scope *scope; /* a reference */
	struct task *task; /* borrowed: track_task.c frees no task while saved processes wait */
	json_t *line; /* the rest of the line: its identity; "facets": column -> [now, base, reported] as bits */
};

struct saved {
	struct waiting **buckets;
	struct skep_hash_key key;
	size_t n_buckets, n; /* n_buckets: a power of two */
};

/* ---- read ------------------------------------------------------------------------- */

static struct waiting **bucket(const struct saved *c, const struct skep_upid *upid)
{
	return &c->buckets[skep_hash_number(&c->key, upid->pid) & (c->n_buckets - 1)];
}

/* The pointer to the waiting process, or the end of its bucket's list. */
static struct waiting **find(const struct saved *c, const struct skep_upid *upid)
{
	struct waiting **at = bucket(c, upid);

	while (*at && !((*at)->upid.pid == upid->pid && (*at)->upid.start_ns == upid->start_ns))
		at = &(*at)->next;
	return at;
}

static void waiting_free(struct track *t, struct waiting *w)
{
	run_unref(w->run);
	scope_unref(&t->scopes, t->intern, w->scope);
	json_decref(w->line);
	free(w);
}

static struct saved *saved_free(struct track *t, struct saved *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; c->buckets && i < c->n_buckets; i++)
		while (c->buckets[i]) {
			struct waiting *next = c->buckets[i]->next;

			waiting_free(t, c->buckets[i]);
			c->buckets[i] = next;
		}
	free(c->buckets);
	free(c);
	return NULL;
}

bool saved_waits(const struct track *t)
{
	return t->saved != NULL;
}

size_t saved_left(const struct track *t)
{
	return t->saved ? t->saved->n : 0;
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
		.id = saved_text_read(line, "run"),
		.name = saved_text_read(line, "name"),
		.pipeline = saved_text_read(line, "pipeline"),
		.cwd = saved_text_read(line, "cwd"),
		.traceparent = saved_text_read(line, "traceparent"),
	};
	uint64_t root, root_start, start, seen, uid, rss_peak, owner, argv_total;
	const char *argv = saved_text_read(line, "argv");
	size_t argv_len = json_string_length(json_object_get(line, "argv"));
	struct run *run;
	int err;

	if (!get(line, "root", &root) || !get(line, "root_start", &root_start) || !get(line, "start", &start) ||
	    !get(line, "seen", &seen) || !get(line, "uid", &uid) || !get(line, "rss_peak", &rss_peak) || root == 0 ||
	    root > INT32_MAX)
		return -EBADMSG;
	spec.root = (pid_t)root;
	err = run_new(&t->runs, &spec, start, &run);
	if (err < 0)
		return err == -ENOMEM ? err : -EBADMSG;
	run->root = (struct skep_upid){ .pid = (uint32_t)root, .start_ns = root_start };
	run->found = json_is_true(json_object_get(line, "found"));
	run->ended = json_is_true(json_object_get(line, "ended"));
	run->restored = run->alone = true;
	run->owner = (uint32_t)(get(line, "owner", &owner) ? owner : uid);
	run->argv_total = (uint32_t)(get(line, "argv_total", &argv_total) ? argv_total : 0);
	if (argv && argv_len > 0 && run_argv(run, argv, argv_len) < 0)
		return -ENOMEM;
	run->seen = seen;
	run->uid = (uint32_t)uid;
	run->rss_peak_bytes = rss_peak;
	return saved_scope_run_read(t, run, line) == 0 ? 0 : -ENOMEM;
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
	const char *name = saved_text_read(line, "name"), *trace = saved_text_read(line, "traceparent");
	uint32_t len = (uint32_t)json_string_length(json_object_get(line, "name"));
	struct skep_str text = { name, len, len };
	const char *id = json_string_value(json_object_get(line, "task")), *run = saved_text_read(line, "run");
	struct task read = { 0 }, *task;
	uint64_t root, status;

	if (!get(line, "root", &root) || !get(line, "root_start", &read.root.start_ns) ||
	    !get(line, "start", &read.start_ns) || !get(line, "end", &read.end_ns) ||
	    !get(line, "over", &read.over_ns) || !get(line, "status", &status) ||
	    !get(line, "processes", &read.processes) || !get(line, "cpu", &read.cpu_ns) ||
	    !get(line, "run_delay", &read.run_delay_ns) || !get(line, "rss_peak", &read.rss_peak_bytes) ||
	    !get(line, "read", &read.read_bytes) || !get(line, "write", &read.write_bytes) || !text.len ||
	    text.len > TASK_NAME_MOST || !id || strlen(id) >= TASK_ID_SIZE || task_find(&t->tasks, id) || root == 0 ||
	    root > INT32_MAX)
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
	saved_scope_task_read(t, task, line);
	return 0;
}

static int read_process(struct track *t, struct saved *c, json_t *line)
{
	struct waiting *w = calloc(1, sizeof(*w)), **at;
	const char *run = saved_text_read(line, "run"), *task = json_string_value(json_object_get(line, "task"));
	uint64_t pid, start, scope;

	if (!w)
		return -ENOMEM;
	if (!get(line, "pid", &pid) || !get(line, "start", &start) || !get(line, "image", &w->image) ||
	    !get(line, "image_start", &w->image_start_ns) || !get(line, "flags", &w->flags) ||
	    !get(line, "approx", &w->approx) || !get(line, "threads_peak", &w->threads_peak) ||
	    !get(line, "rss_peak", &w->rss_peak_bytes) || !get(line, "maxrss_base", &w->maxrss_base_bytes) ||
	    !get(line, "maxrss", &w->maxrss_bytes) || !get_counters(line, "base", &w->base) ||
	    !get_counters(line, "last", &w->last) || pid == 0 || pid > INT32_MAX || start == 0 ||
	    w->image > UINT32_MAX || (w->flags & ~(uint64_t)SAVED_FLAGS)) {
		waiting_free(t, w);
		return -EBADMSG;
	}
	w->upid = (struct skep_upid){ .pid = (uint32_t)pid, .start_ns = start };
	w->sampled =
		get_counters(line, "sampled", &w->samples.counters) && get(line, "sampled_time", &w->samples.time_ns);
	if (!get(line, "status", &w->status) || !get(line, "end", &w->end_ns))
		w->flags &= ~(uint64_t)PROC_EXITED;
	w->line = json_incref(line);
	w->run = run_ref(run ? run_find(&t->runs, run) : NULL);
	w->task = task ? task_find(&t->tasks, task) : NULL;
	w->scope = scope_ref(get(line, "scope", &scope) ? scope_find(&t->scopes, scope) : NULL);
	if (!w->scope)
		w->flags &= ~(uint64_t)PROC_ENGINE;
	/* A process that was in no run keeps that: its children need not wait for a sweep. */
	if (!w->run && run && *run)
		w->flags &= ~(uint64_t)PROC_PLACED;
	if (!w->run)
		w->flags &= ~(uint64_t)PROC_ROOT;
	at = bucket(c, &w->upid);
	w->next = *at;
	*at = w;
	c->n++;
	return 0;
}

static int read_attempts(struct track *t, json_t *line)
{
	const char *id = saved_text_read(line, "attempts"), *counts = json_string_value(json_object_get(line, "counts"));
	struct run *run = id ? run_find(&t->runs, id) : NULL;

	if (!run) /* the run has ended since its counts were saved */
		return id ? 0 : -EBADMSG;
	return counts ? attempts_read(&run->attempts, counts) : -EBADMSG;
}

static int read_lines(struct track *t, struct saved *c, FILE *file, const char *name)
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
		else if (json_is_object(line) && json_object_get(line, "scope"))
			err = saved_scope_read(t, line);
		else if (json_is_object(line) && json_object_get(line, "attempts"))
			err = read_attempts(t, line);
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
			log_warning(
				"%s:%lu: unknown line in the saved state (\"%.40s\"); skipped, so its process begins anew",
				name, number, text);
	}
	if (bad > 1)
		log_warning("%s: skipped %lu lines of the saved state in all", name, bad);
	if (err == 0 && ferror(file))
		err = -EIO;
	free(text);
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

json_t *saved_waiting_line(const struct track *t, const struct skep_upid *upid)
{
	const struct waiting *w = *find(t->saved, upid);

	return w ? w->line : NULL;
}

/* Removes a waiting process and gives it to the caller.  NULL: the process is not waiting. */
static struct waiting *take(struct saved *c, const struct skep_upid *upid)
{
	struct waiting **at = find(c, upid), *w = *at;

	if (w) {
		*at = w->next;
		c->n--;
	}
	return w;
}

static void claim(struct track *t, struct saved *c, struct proc *p)
{
	struct waiting *w = take(c, &p->upid);

	if (!w)
		return;
	restore_facets(t, p, json_object_get(w->line, "facets"));
	/* The previous skepd had only facets of it, no life-cycle record: the tracker treats it as new. */
	if (!(w->flags & PROC_CONFIRMED)) {
		waiting_free(t, w);
		return;
	}
	p->image = (uint32_t)w->image;
	p->image_start_ns = w->image_start_ns;
	p->flags |= ((uint32_t)w->flags & ~PROC_CONFIRMED) | PROC_RESTORED; /* its first record confirms it */
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
	/* Not track_join(): the previous skepd counted the process when it joined the run. */
	if (w->run)
		track_enter_run(p, w->run);
	p->scope = scope_ref(w->scope);
	if (w->task) { /* the same for the task */
		track_task_enter(p, w->task);
		if (p->flags & (PROC_EXITED | PROC_FINAL))
			track_task_dying(p);
	}
	if (saved_who_read(t, p, w->line)) {
		p->flags |= PROC_CONFIRMED;
		track_recell(t, p);
		track_scope_resume(t, p);
	}
	waiting_free(t, w);
}

/* ---- sampled counters ---------------------------------------------------------------- */

static bool take_counters(struct bytes_in *in, struct skep_counters *ret)
{
	uint64_t v[N_COUNTERS] = { 0 };

	for (size_t i = 0; i < N_COUNTERS; i++)
		v[i] = bytes_take_number(in);
	memcpy(ret, v, sizeof(v));
	return !in->bad;
}

void saved_sampled(struct track *t, const void *samples, size_t size)
{
	struct bytes_in in = { .begin = samples, .at = samples, .end = (const unsigned char *)samples + size };

	while (in.at < in.end) {
		struct skep_upid upid = { .pid = (uint32_t)bytes_take_number(&in) };
		struct proc_sampled samples_then = { 0 };
		struct skep_counters last;
		struct waiting *w;

		/* not in the initializer: C leaves open which of its members the compiler evaluates first */
		upid.start_ns = bytes_take_number(&in);
		w = *find(t->saved, &upid);
		if (!take_counters(&in, &last))
			return;
		samples_then.time_ns = bytes_take_number(&in);
		if (samples_then.time_ns && !take_counters(&in, &samples_then.counters))
			return;
		if (!w)
			continue;
		counters_raise(&w->last, &last);
		/* Only a sample of the current image: an exec begins new samples, and the line knows the exec. */
		if (samples_then.time_ns > w->image_start_ns &&
		    (!w->sampled || samples_then.time_ns > w->samples.time_ns)) {
			w->sampled = true;
			w->samples = samples_then;
		}
	}
}

void saved_restore(struct track *t)
{
	struct saved *c = t->saved;
	bool is_new;

	for (size_t i = 0; c && i < c->n_buckets; i++)
		while (c->buckets[i]) {
			struct skep_upid upid = c->buckets[i]->upid;
			struct proc *p = track_get(t, &upid, &is_new);

			if (!p || !is_new) { /* no memory, or the table has the process already: drops the saved part */
				struct waiting *w = take(c, &upid);

				if (w)
					waiting_free(t, w);
			} else if (p->flags & PROC_FINAL) {
				/* The process had ended and waited for facets: waits on, with the restored ones. */
				p->event_ns = p->end_ns ? p->end_ns : p->image_start_ns;
				track_hold(t, p);
			}
		}
}

void saved_settle(struct track *t, uint64_t now_ns)
{
	if (!t->saved)
		return;
	t->saved = saved_free(t, t->saved);
	saved_scope_settle(t);
	track_tasks_settle(t, now_ns);
	for (struct run *run = t->runs.first, *next; run; run = next) {
		next = run->next;
		if (!run->restored || run->ended || !run->alone || run->members > 0 || run->quiet_ns)
			continue;
		run->end_ns = now_ns;
		track_roots_over(t, run);
	}
}

static const struct saved_ops saved_ops = { .claim = claim, .free = saved_free };

int saved_read(struct track *t, FILE *file, const char *name, const char *boot_id)
{
	struct saved *c = NULL;
	size_t room = 0;
	char *text = NULL;
	ssize_t len = getline(&text, &room, file);
	json_t *head = len > 0 ? json_loadb(text, (size_t)len, 0, NULL) : NULL;
	const char *boot = json_string_value(json_object_get(head, "boot_id"));
	int err = 0;

	if (!boot || json_integer_value(json_object_get(head, "skep_carry")) != SAVED_VERSION) {
		log_warning("%s:1: saved state of version %lld, this skepd reads version %d; starting fresh", name,
			    (long long)json_integer_value(json_object_get(head, "skep_carry")), SAVED_VERSION);
		t->stats.unrestored++;
		goto out;
	}
	if (strcmp(boot, boot_id) != 0)
		goto out; /* the host has rebooted: none of these processes lives */
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
	t->saved = c;
	t->saved_ops = &saved_ops;
	c = NULL;
out:
	saved_free(t, c);
	json_decref(head);
	free(text);
	return err;
}
