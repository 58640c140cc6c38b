/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved.c - writes the state for the next skepd: chunks, and the sampled counters.
 *
 * Processes note that they have changed (track_keep.c).  Runs, scopes and tasks are few beside them: each chunk looks
 * at all of these, and writes those whose numbers have another hash than before.
 */
#include "core/process/saved.h"

#include <errno.h>
#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/process/saved_priv.h"
#include "core/process/track_priv.h"

#define GROWN (1u << 20) /* bytes behind a whole state for which no new one is written */
#define CHUNKS 1024u      /* and that many chunks */
#define PASSES 4

/* What a user's processes, runs and tasks have in the state. */
struct saved_user {
	uint32_t uid;
	bool known;
	bool over; /* the user has most, so it is left out */
	size_t bytes;
};

struct saver {
	struct skep_hash_key key; /* users choose the hashed texts */
	struct bytes_out out;   /* the chunk, behind earlier ones that the spool could not store */
	bool whole;             /* it begins with a whole state */
	bool whole_due, full;   /* of the pass under way: it writes a whole state; it has reached the limit */
	size_t failed;          /* bytes of the earlier ones */
	/* Numbers go on for ever; those up to base belong to an earlier whole state, and are no more. */
	uint64_t last, base;
	size_t whole_bytes, since_bytes; /* stored: the whole state, and the chunks behind it */
	unsigned n_chunks;
	size_t most;
	struct saved_user *users;
	size_t n_users, room_users; /* a hash table; room: a power of two */
	uint64_t *columns;      /* numbers of the names of the facets' columns */
	uint32_t n_columns;
};

static struct saver *saver_of(struct track *t)
{
	struct saver *s = t->saver;

	if (s)
		return s;
	t->saver = s = calloc(1, sizeof(*s));
	if (s) {
		s->key = skep_hash_key_new();
		s->most = SAVED_MOST;
	}
	return s;
}

struct saver *saver_free(struct saver *s)
{
	if (!s)
		return NULL;
	free(s->out.at);
	free(s->users);
	free(s->columns);
	free(s);
	return NULL;
}

/* ---- items ------------------------------------------------------------------------- */

void saved_item(struct saver *s, enum saved_kind kind, const uint64_t *numbers, size_t n)
{
	if (!bytes_need(&s->out, 2 + 12 * n))
		return;
	s->out.at[s->out.len++] = (unsigned char)kind;
	for (size_t i = 0; i < n; i++)
		if (numbers[i]) {
			bytes_put_fast(&s->out, i + 1);
			bytes_put_fast(&s->out, numbers[i]);
		}
	s->out.at[s->out.len++] = 0;
}

static uint64_t text_item(struct saver *s, const void *bytes, size_t len, size_t total)
{
	if (!bytes_need(&s->out, 1))
		return 0;
	s->out.at[s->out.len++] = SAVED_TEXT;
	bytes_number(&s->out, total);
	bytes_text(&s->out, bytes, len);
	return ++s->last;
}

/* The number by which items name it; 0: the state does not have it. */
static uint64_t number_in(const struct saver *s, uint64_t number)
{
	return number > s->base ? number - s->base : 0;
}

uint64_t saved_number_of(const struct saver *s, const struct saved_as *as)
{
	return number_in(s, as->number);
}

uint64_t saved_number_of_bytes(struct saver *s, const void *bytes, size_t len)
{
	return len ? number_in(s, text_item(s, bytes, len, len)) : 0;
}

uint64_t saved_number_of_text(struct saver *s, const struct interned *text)
{
	if (text && text->saved <= s->base)
		((struct interned *)(uintptr_t)text)->saved = text_item(s, text->text, text->len, text->total);
	return text ? number_in(s, text->saved) : 0;
}

static uint64_t number_of_program(struct saver *s, struct program *p)
{
	uint64_t v[SAVED_NUMBERS];

	if (!p || p->saved > s->base)
		return p ? number_in(s, p->saved) : 0;
	saved_take(s, &saved_program, p, v);
	v[PROGRAM_ARGV] = p->argv_len ? number_in(s, text_item(s, p->argv, p->argv_len, p->argv_total)) : 0;
	saved_item(s, SAVED_PROGRAM, v, saved_program.numbers);
	p->saved = ++s->last;
	return number_in(s, p->saved);
}

/* Writes an item of a run, a scope or a task, if it says something else than its last one.  v: its own numbers. */
static void numbered(struct saver *s, enum saved_kind kind, const struct saved_fields *list, const void *object,
		     uint64_t *v, struct saved_as *as)
{
	uint64_t hash;

	saved_take(s, list, object, v);
	v[SELF] = number_in(s, as->number);
	hash = skep_hash(&s->key, v + 1, (list->numbers - 1) * sizeof(*v));
	if (v[SELF] && as->hash == hash)
		return;
	saved_item(s, kind, v, list->numbers);
	if (!v[SELF])
		as->number = ++s->last;
	as->hash = hash;
}

/* ---- users ------------------------------------------------------------------------- */

/* The user's place, with room for it.  NULL: no memory. */
static struct saved_user *user_of(struct saver *s, uint32_t uid)
{
	struct saved_user *old = s->users;
	size_t room = s->room_users, i;

	if (2 * (s->n_users + 1) > room) {
		s->room_users = room ? 2 * room : 16;
		s->users = calloc(s->room_users, sizeof(*s->users));
		if (!s->users) {
			s->users = old;
			s->room_users = room;
			return NULL;
		}
		s->n_users = 0;
		for (size_t k = 0; k < room; k++)
			if (old[k].known)
				*user_of(s, old[k].uid) = old[k];
		free(old);
	}
	i = skep_hash_number(&s->key, uid) & (s->room_users - 1);
	while (s->users[i].known && s->users[i].uid != uid)
		i = (i + 1) & (s->room_users - 1);
	if (!s->users[i].known) {
		s->users[i] = (struct saved_user){ .uid = uid, .known = true };
		s->n_users++;
	}
	return &s->users[i];
}

static bool is_over(struct saver *s, uint32_t uid)
{
	const struct saved_user *u = user_of(s, uid);

	return !u || u->over;
}

/* The bytes from `before` on are the user's.  Beyond the limit the pass only counts them. */
static void add_bytes(struct saver *s, uint32_t uid, size_t before)
{
	struct saved_user *u = user_of(s, uid);

	if (u)
		u->bytes += s->out.len - before;
	s->full |= (s->whole_due ? 0 : s->since_bytes) + s->out.len > s->most;
	if (s->full)
		s->out.len = before;
}

/* The users with most bytes come first. */
static int by_bytes(const void *a, const void *b)
{
	const struct saved_user *const *x = a, *const *y = b;

	return (*y)->bytes < (*x)->bytes ? -1 : (*y)->bytes > (*x)->bytes;
}

/* Leaves out users, those with most first, until half of the limit is free. */
static void leave_out(struct saver *s)
{
	struct saved_user **list = calloc(s->room_users ? s->room_users : 1, sizeof(struct saved_user *));
	size_t sum = 0, n = 0;

	for (size_t i = 0; list && i < s->room_users; i++)
		if (s->users[i].known && !s->users[i].over) {
			sum += s->users[i].bytes;
			list[n++] = &s->users[i];
		}
	if (!list) {
		s->out.err = -ENOMEM;
		return;
	}
	qsort(list, n, sizeof(struct saved_user *), by_bytes);
	for (size_t i = 0; i < n && (i == 0 || sum > s->most / 2); i++) {
		list[i]->over = true;
		sum -= list[i]->bytes;
		log_because(SKEP_LOG_WARNING, "state", "large",
			    "the state of all processes has more than %zu MiB, most of it of user %u: after a crash or a "
			    "restart the processes of this user begin anew", s->most >> 20, list[i]->uid);
	}
	free(list);
}

/* ---- runs, scopes, tasks ------------------------------------------------------------- */

/* A task that engines found has the user of its run. */
static uint32_t user_of_task(const struct task *task)
{
	return task->run ? task->run->payer : 0;
}

/* "ID\0NAME\0..." and the arguments: most items of a run change its numbers alone. */
static uint64_t run_texts(struct saver *s, struct run *run)
{
	const char *texts[] = { run->id, run->name, run->pipeline, run->cwd, run->traceparent, run->engine, run->parent,
				run->job, run->account, run->key };
	struct bytes_out b = { 0 };
	uint64_t hash;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes_put(&b, texts[i], strlen(texts[i]) + 1);
	bytes_put(&b, run->argv, run->argv_len);
	hash = skep_hash(&s->key, b.at, b.len);
	if (b.err)
		s->out.err = b.err;
	else if (run->saved_texts.number <= s->base || run->saved_texts.hash != hash)
		run->saved_texts = (struct saved_as){ text_item(s, b.at, b.len, b.len), hash };
	free(b.at);
	return number_in(s, run->saved_texts.number);
}

static void write_run(struct saver *s, struct run *run)
{
	uint64_t v[SAVED_NUMBERS] = { [RUN_TEXTS] = run_texts(s, run) };

	attempts_key(run->attempts, &v[RUN_ATTEMPTS_KEY]);
	numbered(s, SAVED_RUN, &saved_run, run, v, &run->saved);
}

static void on_attempts(void *arg, uint64_t text, uint32_t count)
{
	void **to = arg;
	const struct run *run = to[1];
	const uint64_t v[ATTEMPTS_N] = { [ATTEMPTS_RUN] = number_in(to[0], run->saved.number),
					 [ATTEMPTS_TEXT] = text, [ATTEMPTS_COUNT] = count };

	saved_item(to[0], SAVED_ATTEMPTS, v, ATTEMPTS_N);
}

static uint64_t number_of_run(const struct saver *s, const struct run *run)
{
	return run ? number_in(s, run->saved.number) : 0;
}

static void write_scope(struct saver *s, struct scope *scope)
{
	uint64_t v[SAVED_NUMBERS] = {
		[SCOPE_OUTER] = scope->outer ? number_in(s, scope->outer->saved.number) : 0,
		[SCOPE_RUN] = number_of_run(s, scope->run),
		[SCOPE_PROGRAM] = number_of_program(s, scope->program),
	};

	numbered(s, SAVED_SCOPE, &saved_scope, scope, v, &scope->saved);
}

static void write_task(struct saver *s, struct task *task)
{
	uint64_t v[SAVED_NUMBERS] = { [TASK_RUN] = number_of_run(s, task->run) };

	numbered(s, SAVED_TASK, &saved_task, task, v, &task->saved);
}

/* ---- processes ----------------------------------------------------------------------- */

struct facets_out {
	struct saver *s;
	const struct facets *facets;
};

static uint64_t number_of_column(struct saver *s, const struct facets *facets, uint32_t column)
{
	const char *name = facets_column(facets, column);

	if (column >= s->n_columns) {
		uint64_t *columns = realloc(s->columns, (column + 1) * sizeof(*columns));

		if (!columns) {
			s->out.err = -ENOMEM;
			return 0;
		}
		memset(columns + s->n_columns, 0, (column + 1 - s->n_columns) * sizeof(*columns));
		s->columns = columns;
		s->n_columns = column + 1;
	}
	if (s->columns[column] <= s->base)
		s->columns[column] = text_item(s, name, strlen(name), strlen(name));
	return number_in(s, s->columns[column]);
}

static void put_column(void *arg, uint32_t column, const uint64_t bits[FACET_KEPT])
{
	const struct facets_out *to = arg;
	uint64_t v[FACET_N] = { [FACET_COLUMN] = number_of_column(to->s, to->facets, column) };

	memcpy(&v[FACET_VALUES], bits, FACET_KEPT * sizeof(*bits));
	saved_item(to->s, SAVED_FACET, v, FACET_N);
}

static void write_process(struct track *t, struct saver *s, struct proc *p)
{
	struct facets_out facets = { s, t->env.facets };
	uint64_t v[SAVED_NUMBERS] = {
		[PROCESS_PID] = p->upid.pid,
		[PROCESS_START] = p->upid.start_ns,
		[PROCESS_RUN] = number_of_run(s, p->run),
		[PROCESS_IN_RUN] = p->run != NULL,
		[PROCESS_TASK] = p->task ? number_in(s, p->task->saved.number) : 0,
		[PROCESS_SCOPE] = p->scope ? number_in(s, p->scope->saved.number) : 0,
		[PROCESS_PROGRAM] = number_of_program(s, p->program),
		[PROCESS_FLAGS] = p->flags & SAVED_FLAGS,
		[PROCESS_FACETS_AFTER] = t->facets_saved_ns,
		[PROCESS_IMAGE_NS] = p->image_start_ns,
		[PROCESS_SAMPLED_NS] = p->sampled ? p->sampled->time_ns : 0,
	};

	if (p->sampled)
		memcpy(&v[PROCESS_SAMPLED], &p->sampled->counters, sizeof(p->sampled->counters));
	memcpy(&v[PROCESS_LAST], &p->last, sizeof(p->last));
	saved_take(s, &saved_process, p, v);
	saved_item(s, SAVED_PROCESS, v, saved_process.numbers);
	if (p->facets)
		facets_kept(p->facets, put_column, &facets);
}

bool saved_worth(const struct proc *p)
{
	/* Zombies too: only their final counters are missing. */
	return ((p->flags & PROC_CONFIRMED) || p->facets) && !(p->flags & PROC_MUTED) && p->upid.start_ns != 0;
}

static void write_processes(struct track *t, struct saver *s, bool whole, uint64_t *ret_left_out)
{
	struct proc *p = whole ? proctab_first(t->table) : t->dirty;

	for (; p && !s->out.err; p = whole ? p->next : p->dirty_next) {
		size_t before = s->out.len;

		if (!saved_worth(p))
			continue;
		if (is_over(s, p->payer)) {
			++*ret_left_out;
			continue;
		}
		write_process(t, s, p);
		add_bytes(s, p->payer, before);
	}
}

/* ---- chunks -------------------------------------------------------------------------- */

static bool run_worth(const struct run *run)
{
	/* a process that outlives its run's end still belongs to the run */
	return (!run->ended || run->members > 0) && run->root.pid != 0;
}

static void gone(struct saver *s, uint64_t number)
{
	const uint64_t v[GONE_N] = { [GONE_NUMBER] = number_in(s, number) };

	if (v[GONE_NUMBER])
		saved_item(s, SAVED_GONE, v, GONE_N);
}

static void write_groups(struct track *t, struct saver *s, bool whole)
{
	for (size_t i = 0; i < t->forgotten.n; i++)
		gone(s, t->forgotten.numbers[i]);
	for (struct run *run = t->runs.first; run; run = run->next) {
		size_t before = s->out.len;
		void *to[] = { s, run };

		if (run_worth(run) && !is_over(s, run->payer)) {
			write_run(s, run);
			if (!run->ended)
				attempts_changed(run->attempts, whole, on_attempts, to);
		} else {
			gone(s, run->saved.number);
			run->saved = (struct saved_as){ 0 };
		}
		add_bytes(s, run->payer, before);
	}
	/* The oldest first: a scope is younger than those further out. */
	for (struct scope *scope = t->scopes.last; scope; scope = scope->prev) {
		size_t before = s->out.len;

		if (is_over(s, scope->payer))
			continue;
		write_scope(s, scope);
		add_bytes(s, scope->payer, before);
	}
	for (struct task *task = t->tasks.first; task; task = task->next) {
		size_t before = s->out.len;

		if (is_over(s, user_of_task(task)))
			continue;
		write_task(s, task);
		add_bytes(s, user_of_task(task), before);
	}
}

/* false: it does not fit. */
static bool write_chunk(struct track *t, struct saver *s, const char *boot_id, bool whole, bool samples,
			uint64_t *ret_left_out)
{
	static const uint64_t head[HEAD_N] = { [HEAD_VERSION] = SAVED_VERSION };

	*ret_left_out = 0;
	if (whole) {
		s->base = s->last;
		s->out.len = s->failed = s->whole_bytes = s->since_bytes = 0;
		s->whole = true;
		for (size_t i = 0; i < s->room_users; i++)
			s->users[i].bytes = 0;
		saved_item(s, SAVED_HEAD, head, HEAD_N);
		text_item(s, boot_id, strlen(boot_id), strlen(boot_id));
	}
	s->whole_due = whole;
	s->full = false;
	write_groups(t, s, whole);
	if (t->findings && (t->findings->changed || whole || samples))
		saved_findings_write(t, s);
	write_processes(t, s, whole, ret_left_out);
	for (size_t i = 0; i < t->n_gone && !whole; i++) {
		const uint64_t v[ENDED_N] = { [ENDED_PID] = t->gone[i].pid, [ENDED_START] = t->gone[i].start_ns };

		saved_item(s, SAVED_ENDED, v, ENDED_N);
	}
	return !s->full;
}

/* Processes that are not worth saving leave the list of changes, and the state. */
static void not_worth(struct track *t)
{
	for (struct proc *p = t->dirty, *next; p; p = next) {
		next = p->dirty_next;
		if (!saved_worth(p))
			track_clean(t, p, true);
	}
}

/* The changes are in the chunk. */
static void clean(struct track *t, struct saver *s, bool whole)
{
	for (struct proc *p = whole ? proctab_first(t->table) : t->dirty, *next; p; p = next) {
		next = whole ? p->next : p->dirty_next;
		track_clean(t, p, false);
		if (saved_worth(p) && !is_over(s, p->payer))
			p->flags |= PROC_STORED;
		else
			p->flags &= ~PROC_STORED;
	}
	for (struct run *run = t->runs.first; run; run = run->next)
		attempts_saved(run->attempts);
	t->n_gone = t->forgotten.n = 0;
}

void saved_chunk(struct track *t, const char *boot_id, bool whole, bool samples, struct saved_chunk *ret)
{
	struct saver *s = saver_of(t);
	uint64_t left_out = 0;
	bool fitted = false;

	*ret = (struct saved_chunk){ 0 };
	if (!s) {
		track_unsaved(t, 1);
		return;
	}
	not_worth(t);
	whole = whole || s->whole_bytes == 0 || s->failed + s->since_bytes > s->whole_bytes + GROWN ||
		s->n_chunks >= CHUNKS;
	for (size_t i = 0; i < s->room_users && whole; i++)
		s->users[i].over = false; /* who was left out has another chance */
	s->out.err = 0;
	for (unsigned i = 0; i < PASSES && !fitted && !s->out.err; i++) {
		fitted = write_chunk(t, s, boot_id, whole, samples, &left_out);
		if (!fitted && whole)
			leave_out(s);
		whole |= !fitted; /* the numbers of this pass are void */
	}
	if (s->out.err || !fitted) {
		track_unsaved(t, 1 + left_out);
		s->out.len = s->failed = s->whole_bytes = 0; /* the next chunk has the whole state */
		return;
	}
	t->stats.unsaved += left_out;
	if (whole)
		s->whole_bytes = s->out.len;
	clean(t, s, whole);
	*ret = (struct saved_chunk){ s->out.at, s->out.len, s->whole };
}

void saved_stored(struct track *t, bool durable)
{
	struct saver *s = t->saver;

	if (!s)
		return;
	s->failed = durable ? 0 : s->out.len;
	if (!durable)
		return;
	s->since_bytes += s->whole ? 0 : s->out.len;
	s->n_chunks = s->whole ? 0 : s->n_chunks + (s->out.len > 0);
	s->whole = false;
	bytes_clear(&s->out);
}

void saved_most(struct track *t, size_t most)
{
	struct saver *s = saver_of(t);

	if (s)
		s->most = most;
}

/* ---- sampled counters ---------------------------------------------------------------- */

static void put_counters(struct bytes_out *b, const struct skep_counters *c)
{
	uint64_t v[SAVED_COUNTERS];

	memcpy(v, c, sizeof(v));
	for (size_t i = 0; i < SAVED_COUNTERS; i++)
		bytes_number(b, v[i]);
}

int saved_samples(const struct track *t, void **ret, size_t *ret_size)
{
	struct bytes_out b = { 0 };

	for (const struct proc *p = proctab_first(t->table); p; p = p->next) {
		if (!saved_worth(p) || (p->flags & (PROC_EXITED | PROC_FINAL)) || !(p->flags & PROC_CONFIRMED))
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
