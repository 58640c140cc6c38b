/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores rows by their labels, up to max_series.
 */
#include "sinks/prometheus/store.h"

#include <stdlib.h>
#include <string.h>

#include "sinks/prometheus/plan.h"

static const char overflow_labels[] = "overflow\0true";

int store_init(struct store *s, uint64_t max_series)
{
	*s = (struct store){ .key = skep_hash_key_new(), .max_series = max_series, .table_size = 256 };
	s->plans_end = &s->plans;
	s->table = calloc(s->table_size, sizeof(struct row *));
	return s->table ? 0 : -ENOMEM;
}

static void row_unlink(struct store *s, struct row *r)
{
	struct row **p = &s->table[r->hash & (s->table_size - 1)];

	while (*p != r)
		p = &(*p)->hash_next;
	*p = r->hash_next;
	*r->at = r->next;
	if (r->next)
		r->next->at = r->at;
	s->n_rows--;
	if (r == r->plan->overflow)
		r->plan->overflow = NULL;
	else
		s->n_series -= r->plan->width;
	if (r == r->plan->info)
		r->plan->info = NULL;
	free(r->values);
	free(r);
}

void store_drop_plan(struct store *s, struct plan *p)
{
	struct plan **at = &s->plans;

	while (*at && *at != p)
		at = &(*at)->next;
	if (!*at)
		return;
	s->dropped++;
	*at = p->next;
	if (s->plans_end == &p->next)
		s->plans_end = at;
	while (p->rows)
		row_unlink(s, p->rows);
	plan_free(p);
}

void store_free(struct store *s)
{
	while (s->plans)
		store_drop_plan(s, s->plans);
	free(s->table);
	*s = (struct store){ 0 };
}

void store_add_plan(struct store *s, struct plan *p)
{
	p->next = NULL;
	*s->plans_end = p;
	s->plans_end = &p->next;
}

struct plan *store_plan(const struct store *s, const char *stream_name)
{
	for (struct plan *p = s->plans; p; p = p->next)
		if (strcmp(p->name, stream_name) == 0)
			return p;
	return NULL;
}

bool store_has_name(const struct store *s, const char *metric)
{
	for (const struct plan *p = s->plans; p; p = p->next)
		for (uint32_t i = 0; i < p->n_metrics; i++)
			if (strcmp(p->metrics[i].name, metric) == 0)
				return true;
	return false;
}

static uint64_t hash_of(const struct store *s, const struct plan *p, const char *labels, uint32_t len)
{
	return skep_hash(&s->key, labels, len) ^ skep_hash_number(&s->key, (uintptr_t)p);
}

static void grow(struct store *s)
{
	size_t size = s->table_size * 2;
	struct row **table = calloc(size, sizeof(struct row *));

	if (!table)
		return; /* keep the smaller table: longer chains do no other harm */
	for (size_t i = 0; i < s->table_size; i++) {
		struct row *r = s->table[i], *next;

		for (; r; r = next) {
			next = r->hash_next;
			r->hash_next = table[r->hash & (size - 1)];
			table[r->hash & (size - 1)] = r;
		}
	}
	free(s->table);
	s->table = table;
	s->table_size = size;
}

static struct row *row_new(struct store *s, struct plan *p, uint64_t hash, const char *labels, uint32_t len,
			   int64_t realtime_ns)
{
	struct row *r = malloc(sizeof(*r) + len);

	if (!r)
		return NULL;
	*r = (struct row) {
		.plan = p, .hash = hash, .time_ns = INT64_MIN, .created_ns = realtime_ns, .labels_len = len
	};
	r->values = calloc(p->n_values, sizeof(double));
	if (!r->values) {
		free(r);
		return NULL;
	}
	memcpy(r->labels, labels, len);
	if (s->n_rows >= s->table_size)
		grow(s);
	r->hash_next = s->table[hash & (s->table_size - 1)];
	s->table[hash & (s->table_size - 1)] = r;
	r->next = p->rows;
	r->at = &p->rows;
	if (r->next)
		r->next->at = &r->next;
	p->rows = r;
	s->n_rows++;
	return r;
}

struct row *store_row(struct store *s, struct plan *p, const char *labels, uint32_t len, uint64_t now_ns,
		      int64_t realtime_ns)
{
	uint64_t hash = hash_of(s, p, labels, len);
	struct row *r = s->table[hash & (s->table_size - 1)];

	while (r && !(r->hash == hash && r->plan == p && r->labels_len == len && memcmp(r->labels, labels, len) == 0))
		r = r->hash_next;
	if (!r && s->n_series + p->width > s->max_series && !p->is_info) {
		s->refused++;
		if (!p->overflow)
			p->overflow = row_new(s, p, hash_of(s, p, overflow_labels, sizeof(overflow_labels)),
					      overflow_labels, sizeof(overflow_labels), realtime_ns);
		r = p->overflow;
	} else if (!r) {
		r = row_new(s, p, hash, labels, len, realtime_ns);
		if (r)
			s->n_series += p->width;
	}
	if (r)
		r->touched_ns = now_ns;
	return r;
}

void store_expire(struct store *s, uint64_t now_ns, uint64_t expire_ns)
{
	for (struct plan *p = s->plans; p; p = p->next)
		for (struct row *r = p->rows, *next; r; r = next) {
			next = r->next;
			if (p->is_info ? r == p->info : now_ns < r->touched_ns || now_ns - r->touched_ns < expire_ns)
				continue;
			row_unlink(s, r);
			s->expired++;
		}
}
