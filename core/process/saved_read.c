/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_read.c - reads the state that the previous skepd saved, and keeps each process's part until the
 * process has an entry in the table.
 *
 * A later item replaces an earlier one, so what the numbers of runs, scopes and tasks stand for is made at the end.
 */
#include "core/process/saved.h"

#include <errno.h>
#include <inttypes.h>
#include <skep/hash.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/counters.h"
#include "core/process/saved_priv.h"
#include "core/process/track_priv.h"

/* ---- kept ---------------------------------------------------------------------------- */

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

struct waiting *saved_waiting(const struct saved *c, const struct skep_upid *upid)
{
	return *find(c, upid);
}

#define BLOCK 64

struct waiting_block {
	struct waiting_block *next;
	struct waiting places[BLOCK];
};

/* NULL: no memory. */
static struct waiting *waiting_new(struct saved *c)
{
	struct waiting_block *b = c->free ? NULL : malloc(sizeof(*b));
	struct waiting *w;

	if (b) {
		b->next = c->blocks;
		c->blocks = b;
		for (size_t i = BLOCK; i-- > 0;) {
			b->places[i].next = c->free;
			c->free = &b->places[i];
		}
	}
	w = c->free;
	if (w) {
		c->free = w->next;
		*w = (struct waiting){ 0 };
	}
	return w;
}

void saved_waiting_free(struct saved *c, struct waiting *w)
{
	facet_values_free(w->facets);
	w->next = c->free;
	c->free = w;
}

struct saved *saved_free(struct track *t, struct saved *c)
{
	if (!c)
		return NULL;
	for (size_t i = 0; c->buckets && i < c->n_buckets; i++)
		for (struct waiting *w = c->buckets[i]; w; w = w->next)
			facet_values_free(w->facets);
	while (c->blocks) {
		struct waiting_block *next = c->blocks->next;

		free(c->blocks);
		c->blocks = next;
	}
	/* The youngest first: a scope has a reference of the one further out. */
	for (size_t i = c->n_numbered; i-- > 0;) {
		struct numbered *n = &c->numbered[i];

		if (n->kind == SAVED_TEXT)
			intern_unref(t->intern, n->text);
		else
			free(n->v);
		if (n->kind == SAVED_PROGRAM)
			program_unref(t->intern, n->made);
		else if (n->kind == SAVED_RUN)
			run_unref(n->made);
		else if (n->kind == SAVED_SCOPE)
			scope_unref(&t->scopes, t->intern, n->made);
		attempts_free(n->attempts);
	}
	free(c->numbered);
	free(c->findings.items);
	free(c->buckets);
	free(c);
	return NULL;
}

void saved_drop(struct track *t)
{
	t->saved = saved_free(t, t->saved);
	t->reading = saved_free(t, t->reading);
}

static struct saved *saved_new(void)
{
	struct saved *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->key = skep_hash_key_new();
	c->n_buckets = 4096;
	c->buckets = calloc(c->n_buckets, sizeof(struct waiting *));
	if (c->buckets)
		return c;
	free(c);
	return NULL;
}

/* ---- items --------------------------------------------------------------------------- */

/* The numbered item of this kind; NULL: there is none. */
static struct numbered *at(const struct saved *c, uint64_t number, enum saved_kind kind)
{
	struct numbered *n = number > 0 && number <= c->n_numbered ? &c->numbered[number - 1] : NULL;

	return n && n->kind == kind && !n->gone ? n : NULL;
}

const struct interned *saved_text_at(const struct saved *c, uint64_t number)
{
	const struct numbered *n = at(c, number, SAVED_TEXT);

	return n ? n->text : NULL;
}

void *saved_made_at(const struct saved *c, uint64_t number, enum saved_kind kind)
{
	const struct numbered *n = at(c, number, kind);

	return n ? n->made : NULL;
}

/* NULL: no memory. */
static struct numbered *add(struct saved *c, enum saved_kind kind)
{
	if (c->n_numbered == c->room_numbered) {
		size_t room = c->room_numbered ? 2 * c->room_numbered : 256;
		struct numbered *list = realloc(c->numbered, room * sizeof(*list));

		if (!list)
			return NULL;
		c->numbered = list;
		c->room_numbered = room;
	}
	c->numbered[c->n_numbered] = (struct numbered){ .kind = kind };
	return &c->numbered[c->n_numbered++];
}

/* The functions that read an item return 0, -EBADMSG, -ENOMEM. */

static int read_text(struct track *t, struct saved *c, struct bytes_in *in)
{
	uint64_t total = bytes_take_number(in), len = bytes_take_number(in);
	const char *bytes = bytes_take(in, len);
	struct numbered *n;

	if (!bytes || len == 0 || len > UINT32_MAX || total > UINT32_MAX)
		return -EBADMSG;
	n = add(c, SAVED_TEXT);
	if (!n)
		return -ENOMEM;
	n->text = intern_get(t->intern, &(struct skep_str){ bytes, (uint32_t)len, (uint32_t)total });
	return n->text ? 0 : -ENOMEM;
}

/* An item of a run, a scope or a task is a new one, or replaces one. */
static int read_numbered(struct saved *c, enum saved_kind kind, const struct saved_fields *list, const uint64_t *v)
{
	bool is_new = kind == SAVED_PROGRAM || v[SELF] == 0;
	struct numbered *n = is_new ? add(c, kind) : at(c, v[SELF], kind);

	if (!n)
		return is_new ? -ENOMEM : -EBADMSG;
	if (!n->v)
		n->v = malloc(list->numbers * sizeof(*v));
	if (!n->v)
		return -ENOMEM;
	memcpy(n->v, v, list->numbers * sizeof(*v));
	return 0;
}

static int read_gone(struct saved *c, const uint64_t *v)
{
	uint64_t number = v[GONE_NUMBER];
	struct numbered *n = at(c, number, SAVED_RUN);

	n = n ? n : at(c, number, SAVED_TASK);
	if (!n)
		return -EBADMSG;
	n->gone = true;
	return 0;
}

static int read_attempts(struct saved *c, const uint64_t *v)
{
	struct numbered *n = at(c, v[ATTEMPTS_RUN], SAVED_RUN);

	if (!n || v[ATTEMPTS_COUNT] > UINT32_MAX)
		return -EBADMSG;
	return attempts_restore(&n->attempts, &n->v[RUN_ATTEMPTS_KEY], v[ATTEMPTS_TEXT], (uint32_t)v[ATTEMPTS_COUNT]);
}

static int read_process(struct saved *c, const uint64_t *v)
{
	struct skep_upid upid = { .pid = (uint32_t)v[PROCESS_PID], .start_ns = v[PROCESS_START] };
	struct waiting **place = find(c, &upid), *w = *place;

	if (v[PROCESS_PID] == 0 || v[PROCESS_PID] > INT32_MAX || upid.start_ns == 0 ||
	    (v[PROCESS_FLAGS] & ~(uint64_t)SAVED_FLAGS))
		return -EBADMSG;
	if (!w) {
		*place = w = waiting_new(c);
		if (!w)
			return -ENOMEM;
		c->n++;
	}
	w->upid = upid;
	memcpy(w->v, v, sizeof(w->v));
	w->facets = facet_values_free(w->facets);
	c->last = w;
	return 0;
}

static int read_facet(struct track *t, struct saved *c, const uint64_t *v)
{
	const struct interned *column = saved_text_at(c, v[FACET_COLUMN]);

	if (!c->last || !column)
		return -EBADMSG;
	return facets_restore(t->env.facets, &c->last->facets, column->text, &v[FACET_VALUES]) == -ENOMEM ? -ENOMEM : 0;
}

/* Removes a waiting process and gives it to the caller.  NULL: the process is not waiting. */
struct waiting *saved_waiting_take(struct saved *c, const struct skep_upid *upid)
{
	struct waiting **place = find(c, upid), *w = *place;

	if (w) {
		*place = w->next;
		c->n--;
	}
	return w;
}

static int read_ended(struct saved *c, const uint64_t *v)
{
	struct skep_upid upid = { .pid = (uint32_t)v[ENDED_PID], .start_ns = v[ENDED_START] };
	struct waiting *w = saved_waiting_take(c, &upid);

	if (!w)
		return -EBADMSG;
	if (c->last == w)
		c->last = NULL;
	saved_waiting_free(c, w);
	return 0;
}

static int read_finding(struct saved *c, enum saved_kind kind, const uint64_t *v)
{
	struct saved_findings *f = &c->findings;

	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct saved_found *items = realloc(f->items, room * sizeof(*items));

		if (!items)
			return -ENOMEM;
		f->items = items;
		f->room = room;
	}
	f->items[f->n].idle = kind == SAVED_IDLE;
	memcpy(f->items[f->n++].v, v, sizeof(f->items->v));
	return 0;
}

static int read_item(struct track *t, struct saved *c, enum saved_kind kind, const uint64_t *v)
{
	switch (kind) {
	case SAVED_PROGRAM:
		return read_numbered(c, kind, &saved_program, v);
	case SAVED_RUN:
		return read_numbered(c, kind, &saved_run, v);
	case SAVED_SCOPE:
		return read_numbered(c, kind, &saved_scope, v);
	case SAVED_TASK:
		return read_numbered(c, kind, &saved_task, v);
	case SAVED_GONE:
		return read_gone(c, v);
	case SAVED_ATTEMPTS:
		return read_attempts(c, v);
	case SAVED_PROCESS:
		return read_process(c, v);
	case SAVED_FACET:
		return read_facet(t, c, v);
	case SAVED_ENDED:
		return read_ended(c, v);
	case SAVED_FINDINGS:
		c->findings.n = 0;
		return 0;
	case SAVED_FINDING:
	case SAVED_IDLE:
		return read_finding(c, kind, v);
	default: /* a head within the state, or an item of a newer skepd */
		return kind == SAVED_HEAD ? -EBADMSG : 0;
	}
}

static void take_numbers(struct bytes_in *in, uint64_t *ret)
{
	uint64_t place;

	memset(ret, 0, SAVED_NUMBERS * sizeof(*ret));
	while ((place = bytes_take_number(in)) > 0) {
		uint64_t number = bytes_take_number(in);

		if (place <= SAVED_NUMBERS)
			ret[place - 1] = number;
	}
}

static bool take_head(struct bytes_in *in, const char *boot_id)
{
	uint64_t v[SAVED_NUMBERS];
	const char *boot;
	uint64_t len;

	if (bytes_take_number(in) != SAVED_HEAD)
		return false;
	take_numbers(in, v);
	if (in->bad || v[HEAD_VERSION] != SAVED_VERSION || bytes_take_number(in) != SAVED_TEXT)
		return false;
	bytes_take_number(in);
	len = bytes_take_number(in);
	boot = bytes_take(in, len);
	return boot && (!boot_id || (len == strlen(boot_id) && memcmp(boot, boot_id, len) == 0));
}

bool saved_of_boot(const void *chunk, size_t size, const char *boot_id)
{
	struct bytes_in in = { .begin = chunk, .at = chunk, .end = (const unsigned char *)chunk + size };

	return take_head(&in, boot_id);
}

int saved_read(struct track *t, const void *chunk, size_t size, char *why, size_t why_size)
{
	struct bytes_in in = { .begin = chunk, .at = chunk, .end = (const unsigned char *)chunk + size };
	const unsigned char *begin = in.at;
	uint64_t v[SAVED_NUMBERS];
	int err = 0;

	if (!t->reading) {
		t->reading = saved_new();
		err = t->reading ? 0 : -ENOMEM;
		if (err == 0 && !take_head(&in, NULL))
			err = -EBADMSG;
		if (err == 0 && !add(t->reading, SAVED_HEAD)) /* the boot id has a number, too */
			err = -ENOMEM;
	}
	while (err == 0 && in.at < in.end) {
		uint64_t kind;

		begin = in.at;
		kind = bytes_take_number(&in);
		if (kind == SAVED_TEXT) {
			err = read_text(t, t->reading, &in);
			continue;
		}
		take_numbers(&in, v);
		err = in.bad ? -EBADMSG : read_item(t, t->reading, (enum saved_kind)kind, v);
	}
	if (err < 0) {
		snprintf(why, why_size, err == -EBADMSG ? "damaged at byte %zu" : "no memory at byte %zu",
			 (size_t)(begin - in.begin));
		t->reading = saved_free(t, t->reading);
	}
	return err;
}
