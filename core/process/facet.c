/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/facet.c - columns of facet streams, and their values per process.  A number belongs to the image that is
 * current when the number arrives: a probe's counter has no notion of exec.  So the split between images is
 * approximate, and the sum over them is exact.
 */
#include "core/process/facet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union number {
	uint64_t u;
	int64_t i;
	double f;
};

struct column {
	const struct skep_stream *stream;
	uint32_t type, semantics, offset;
	char *name;
};

struct facets {
	struct column *columns;
	uint32_t n, room;
	struct layout *tables[FACET_TABLES]; /* the newest layout of each record; NULL: not built yet */
};

/* A record's fields, as of one facets_build(). */
struct layout {
	uint32_t base_size; /* offset of the first column in the record */
	uint32_t n;         /* number of columns */
	struct skep_stream stream;
	struct skep_field *fields;
	struct layout *older;
};

struct facet_value {
	union number now;  /* delta: the sum; cumulative and gauge: the largest value */
	union number base; /* cumulative: the part that records of earlier images have */
	union number reported; /* the part that samples of this image have */
};

/*
 * The values of one stream's columns, first to first + n - 1; a list in the order of the columns.  A process has blocks
 * only of the streams that have reported about it: most processes have no network, no GPU and no block I/O.
 */
struct facet_values {
	struct facet_values *next;
	uint32_t first, n;
	struct facet_value v[];
};

struct facets *facets_new(void)
{
	return calloc(1, sizeof(struct facets));
}

struct facets *facets_free(struct facets *f)
{
	if (!f)
		return NULL;
	for (uint32_t i = 0; i < f->n; i++)
		free(f->columns[i].name);
	for (int i = 0; i < FACET_TABLES; i++)
		while (f->tables[i]) {
			struct layout *older = f->tables[i]->older;

			free(f->tables[i]->fields);
			free(f->tables[i]);
			f->tables[i] = older;
		}
	free(f->columns);
	free(f);
	return NULL;
}

static bool is_number(const struct skep_field *field)
{
	return field->semantics != SKEP_S_ATTRIBUTE &&
	       (field->type == SKEP_T_U64 || field->type == SKEP_T_I64 || field->type == SKEP_T_F64);
}

int facets_add(struct facets *f, const struct skep_stream *s)
{
	for (uint32_t i = 0; i < f->n; i++) {
		if (f->columns[i].stream == s)
			return 0;
		if (strcmp(f->columns[i].stream->name, s->name) == 0)
			return -EEXIST;
	}
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *field = skep_stream_field(s, i);
		struct column *c;

		if (!is_number(field))
			continue;
		if (f->n == f->room) {
			uint32_t room = f->room ? f->room * 2 : 16;

			c = realloc(f->columns, room * sizeof(*c));
			if (!c)
				return -ENOMEM;
			f->columns = c;
			f->room = room;
		}
		c = &f->columns[f->n];
		*c = (struct column){ s, field->type, field->semantics, field->offset, NULL };
		if (asprintf(&c->name, "%s.%s", s->name, field->name) < 0)
			return -ENOMEM;
		f->n++;
	}
	return 0;
}

static uint32_t base_size(const struct skep_stream *base)
{
	return (base->record_size + 7) / 8 * 8;
}

uint32_t facets_record_size(const struct facets *f, const struct skep_stream *base)
{
	return base_size(base) + 8 * f->n;
}

int facets_build(struct facets *f, enum facet_table which, const struct skep_stream *base,
		 const struct skep_stream **ret)
{
	struct layout *t = f->tables[which];
	struct skep_field *fields;

	if (t && t->n == f->n) {
		*ret = &t->stream;
		return 0;
	}
	t = calloc(1, sizeof(*t));
	fields = calloc((size_t)base->n_fields + f->n, sizeof(*fields));
	if (!t || !fields) {
		free(t);
		free(fields);
		return -ENOMEM;
	}
	t->base_size = base_size(base);
	t->n = f->n;
	for (uint32_t i = 0; i < base->n_fields; i++)
		fields[i] = *skep_stream_field(base, i);
	for (uint32_t i = 0, n = 0; i < f->n; i++, n++) {
		const struct column *c = &f->columns[i];
		const struct skep_field *from = NULL;

		for (uint32_t k = 0; k < c->stream->n_fields && !from; k++)
			if (is_number(skep_stream_field(c->stream, k)) &&
			    skep_stream_field(c->stream, k)->offset == c->offset)
				from = skep_stream_field(c->stream, k);
		fields[base->n_fields + n] = (struct skep_field){
			.name = c->name,
			.unit = from ? from->unit : "1",
			.type = c->type,
			/* A record is about one image, so a counter holds only what that image used. */
			.semantics = c->semantics == SKEP_S_GAUGE ? SKEP_S_GAUGE : SKEP_S_DELTA,
			.offset = t->base_size + 8 * i,
			.help = from ? from->help : "",
		};
	}
	t->fields = fields;
	t->older = f->tables[which];
	f->tables[which] = t;
	t->stream = *base;
	t->stream.size = sizeof(struct skep_stream);
	t->stream.field_size = sizeof(struct skep_field);
	t->stream.record_size = facets_record_size(f, base);
	t->stream.n_fields = base->n_fields + f->n;
	t->stream.fields = fields;
	*ret = &t->stream;
	return 0;
}

static bool less(uint32_t type, union number a, union number b)
{
	return type == SKEP_T_F64 ? a.f < b.f : type == SKEP_T_I64 ? a.i < b.i : a.u < b.u;
}

static union number add(uint32_t type, union number a, union number b)
{
	if (type == SKEP_T_F64)
		a.f += b.f;
	else
		a.u += b.u; /* also right for I64 (two's complement), without undefined overflow */
	return a;
}

static union number subtract(uint32_t type, union number a, union number b)
{
	if (less(type, a, b))
		return (union number){ .u = 0 };
	if (type == SKEP_T_F64)
		a.f -= b.f;
	else
		a.u -= b.u;
	return a;
}

/* The first column of the stream; f->n: it has none. */
static uint32_t first_of(const struct facets *f, const struct skep_stream *s)
{
	uint32_t i = 0;

	while (i < f->n && f->columns[i].stream != s)
		i++;
	return i;
}

/* The block whose first column that is, new if the process has none yet; NULL: no memory. */
static struct facet_values *block_at(const struct facets *f, uint32_t first, struct facet_values **values)
{
	struct facet_values *v;
	uint32_t n = 1;

	while (*values && (*values)->first < first)
		values = &(*values)->next;
	v = *values;
	if (v && v->first == first)
		return v;
	while (first + n < f->n && f->columns[first + n].stream == f->columns[first].stream)
		n++;
	v = calloc(1, sizeof(*v) + n * sizeof(v->v[0]));
	if (!v)
		return NULL;
	v->first = first;
	v->n = n;
	v->next = *values;
	*values = v;
	return v;
}

int facets_record(const struct facets *f, const struct skep_stream *s, const void *rec, struct facet_values **values)
{
	uint32_t first = first_of(f, s);
	struct facet_values *v;

	if (first == f->n)
		return -ENOENT;
	v = block_at(f, first, values);
	if (!v)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->n; i++) {
		const struct column *c = &f->columns[first + i];
		union number x;

		memcpy(&x, (const char *)rec + c->offset, sizeof(x));
		if (c->semantics == SKEP_S_DELTA)
			v->v[i].now = add(c->type, v->v[i].now, x);
		else if (less(c->type, v->v[i].now, x))
			/* a gauge keeps its largest value, and a cumulative counter never goes backwards */
			v->v[i].now = x;
	}
	return 0;
}

/* The part of a value that belongs to the current image. */
static union number of_image(const struct column *c, const struct facet_value *v)
{
	return c->semantics == SKEP_S_CUMULATIVE ? subtract(c->type, v->now, v->base) : v->now;
}

void facets_take(const struct facets *f, struct facet_values *v, void *record)
{
	const struct layout *t = f->tables[FACETS_OF_IMAGE];
	char *to = (char *)record + t->base_size;

	memset(to, 0, 8 * (size_t)t->n);
	for (; v; v = v->next)
		for (uint32_t i = 0; i < v->n && v->first + i < t->n; i++) {
			const struct column *c = &f->columns[v->first + i];
			union number x = of_image(c, &v->v[i]);

			if (c->semantics == SKEP_S_CUMULATIVE)
				v->v[i].base = v->v[i].now;
			else
				v->v[i].now = (union number){ .u = 0 };
			v->v[i].reported = (union number){ .u = 0 };
			memcpy(to + 8 * (size_t)(v->first + i), &x, sizeof(x));
		}
}

bool facets_sample(const struct facets *f, struct facet_values *v, void *record)
{
	const struct layout *t = f->tables[FACETS_OF_SAMPLE];
	char *to = (char *)record + t->base_size;
	bool any = false;

	memset(to, 0, 8 * (size_t)t->n);
	for (; v; v = v->next)
		for (uint32_t i = 0; i < v->n && v->first + i < t->n; i++) {
			const struct column *c = &f->columns[v->first + i];
			union number x = of_image(c, &v->v[i]), all = x;

			if (c->semantics != SKEP_S_GAUGE) {
				x = subtract(c->type, all, v->v[i].reported);
				v->v[i].reported = all;
				any |= x.u != 0;
			}
			memcpy(to + 8 * (size_t)(v->first + i), &x, sizeof(x));
		}
	return any;
}

uint32_t facets_find(const struct facets *f, const char *name)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (strcmp(f->columns[i].name, name) == 0)
			return i;
	return UINT32_MAX;
}

uint64_t facets_value(const struct facets *f, const struct facet_values *v, uint32_t column)
{
	while (v && column - v->first >= v->n) /* unsigned: also where the block begins behind the column */
		v = v->next;
	if (!v || f->columns[column].type != SKEP_T_U64)
		return 0;
	return of_image(&f->columns[column], &v->v[column - v->first]).u;
}

const char *facets_column(const struct facets *f, uint32_t column)
{
	return column < f->n ? f->columns[column].name : NULL;
}

uint64_t facets_number(const struct facet_values *v, uint32_t column)
{
	while (v && v->first + v->n <= column)
		v = v->next;
	return v && v->first <= column ? v->v[column - v->first].now.u : 0;
}

void facets_kept(const struct facet_values *v,
		 void (*cb)(void *arg, uint32_t column, const uint64_t bits[FACET_KEPT]), void *arg)
{
	for (; v; v = v->next)
		for (uint32_t i = 0; i < v->n; i++) {
			const uint64_t bits[FACET_KEPT] = { v->v[i].now.u, v->v[i].base.u, v->v[i].reported.u };

			if (bits[0] | bits[1] | bits[2])
				cb(arg, v->first + i, bits);
		}
}

int facets_restore(const struct facets *f, struct facet_values **values, const char *column,
		   const uint64_t bits[FACET_KEPT])
{
	for (uint32_t i = 0; i < f->n; i++) {
		struct facet_values *v;
		uint32_t first;

		if (strcmp(f->columns[i].name, column) != 0)
			continue;
		first = first_of(f, f->columns[i].stream);
		v = block_at(f, first, values);
		if (!v)
			return -ENOMEM;
		v->v[i - first] = (struct facet_value){
			.now.u = bits[0],
			.base.u = bits[1],
			.reported.u = bits[2],
		};
		return 0;
	}
	return -ENOENT;
}

struct facet_values *facet_values_free(struct facet_values *v)
{
	while (v) {
		struct facet_values *next = v->next;

		free(v);
		v = next;
	}
	return NULL;
}
