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
	union number told; /* the part that samples of this image have */
};

struct facet_values {
	uint32_t n;
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

static int values_ready(const struct facets *f, struct facet_values **values)
{
	struct facet_values *v = *values;
	uint32_t n = v ? v->n : 0;

	if (v && n >= f->n)
		return 0;
	/* The first facet of the process, or its first since facets_add() added columns. */
	v = realloc(v, sizeof(*v) + f->n * sizeof(v->v[0]));
	if (!v)
		return -ENOMEM;
	memset(&v->v[n], 0, (f->n - n) * sizeof(v->v[0]));
	v->n = f->n;
	*values = v;
	return 0;
}

int facets_record(const struct facets *f, const struct skep_stream *s, const void *rec, struct facet_values **values)
{
	struct facet_values *v;
	bool found = false;
	int err;

	for (uint32_t i = 0; i < f->n; i++) {
		const struct column *c = &f->columns[i];
		union number x;

		if (c->stream != s)
			continue;
		found = true;
		err = values_ready(f, values);
		if (err < 0)
			return err;
		v = *values;
		memcpy(&x, (const char *)rec + c->offset, sizeof(x));
		if (c->semantics == SKEP_S_DELTA)
			v->v[i].now = add(c->type, v->v[i].now, x);
		else if (less(c->type, v->v[i].now, x))
			/* a gauge keeps its largest value, and a cumulative counter never goes backwards */
			v->v[i].now = x;
	}
	return found ? 0 : -ENOENT;
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

	for (uint32_t i = 0; i < t->n; i++, to += 8) {
		const struct column *c = &f->columns[i];
		union number x = { .u = 0 };

		if (v && i < v->n) {
			x = of_image(c, &v->v[i]);
			if (c->semantics == SKEP_S_CUMULATIVE)
				v->v[i].base = v->v[i].now;
			else
				v->v[i].now = (union number){ .u = 0 };
			v->v[i].told = (union number){ .u = 0 };
		}
		memcpy(to, &x, sizeof(x));
	}
}

bool facets_sample(const struct facets *f, struct facet_values *v, void *record)
{
	const struct layout *t = f->tables[FACETS_OF_SAMPLE];
	char *to = (char *)record + t->base_size;
	bool any = false;

	for (uint32_t i = 0; i < t->n; i++, to += 8) {
		const struct column *c = &f->columns[i];
		union number x = { .u = 0 }, all;

		if (v && i < v->n) {
			all = of_image(c, &v->v[i]);
			if (c->semantics == SKEP_S_GAUGE) {
				x = all;
			} else {
				x = subtract(c->type, all, v->v[i].told);
				v->v[i].told = all;
				any |= x.u != 0;
			}
		}
		memcpy(to, &x, sizeof(x));
	}
	return any;
}

void facets_kept(const struct facets *f, const struct facet_values *v,
		 void (*cb)(void *arg, const char *column, const uint64_t bits[FACET_KEPT]), void *arg)
{
	for (uint32_t i = 0; v && i < f->n && i < v->n; i++) {
		const uint64_t bits[FACET_KEPT] = { v->v[i].now.u, v->v[i].base.u, v->v[i].told.u };

		if (bits[0] | bits[1] | bits[2])
			cb(arg, f->columns[i].name, bits);
	}
}

int facets_restore(const struct facets *f, struct facet_values **values, const char *column,
		   const uint64_t bits[FACET_KEPT])
{
	for (uint32_t i = 0; i < f->n; i++) {
		int err;

		if (strcmp(f->columns[i].name, column) != 0)
			continue;
		err = values_ready(f, values);
		if (err < 0)
			return err;
		(*values)->v[i].now.u = bits[0];
		(*values)->v[i].base.u = bits[1];
		(*values)->v[i].told.u = bits[2];
		return 0;
	}
	return -ENOENT;
}

struct facet_values *facet_values_free(struct facet_values *v)
{
	free(v);
	return NULL;
}
