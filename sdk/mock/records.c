/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/records.c - checks the records that the plugin emits against their field tables, and stores them.  Tests
 * read them by the names of streams and fields.
 */
#include <inttypes.h>
#include <string.h>

#include "sdk/mock/priv.h"

/* Checks one value as a sink would read it. */
static void mock_check_field(struct skep_mock *m, const struct skep_stream *s, const struct skep_field *f,
			     const void *at)
{
	const struct skep_str *text = at;
	const struct skep_hist *hist = at;

	switch (f->type) {
	case SKEP_T_STR:
	case SKEP_T_STRV:
		if (text->len > 0 && !text->ptr)
			mock_defect(m, "%s: field \"%s\": %u bytes at NULL", s->name, f->name, text->len);
		else if (text->total < text->len)
			mock_defect(
				m,
				"%s: field \"%s\": total %u is less than len %u; "
				"set it to the length before the text was cut",
				s->name, f->name, text->total, text->len);
		else if (f->type == SKEP_T_STRV && text->len > 0 && text->ptr[text->len - 1] != '\0')
			mock_defect(m, "%s: field \"%s\": a list of strings ends in a NUL", s->name, f->name);
		break;
	case SKEP_T_BOOL:
		if (*(const uint8_t *)at > 1)
			mock_defect(m, "%s: field \"%s\": a bool of %u", s->name, f->name, *(const uint8_t *)at);
		break;
	case SKEP_T_HIST:
		if (hist->n > SKEP_HIST_SLOTS || (hist->n > 0 && !hist->slots))
			mock_defect(m, "%s: field \"%s\": %u slots of %u, or at NULL", s->name, f->name, hist->n,
				    SKEP_HIST_SLOTS);
		break;
	default:
		break;
	}
}

static void mock_check_record(struct skep_mock *m, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
			      const void *rec)
{
	const struct skep_stream *s = m->plugin->streams[stream];
	uint64_t id;

	if (who && (who->pid == 0 || who->reserved != 0))
		mock_defect(m, "%s: emitted about pid %u with reserved %u; give NULL when it is not about a process",
			    s->name, who->pid, who->reserved);
	if (s->role >= SKEP_ROLE_FACET && s->role <= SKEP_ROLE_PROC_OOM && !who)
		mock_defect(m, "%s: a record of this role is about a process: emit it with its identity", s->name);
	if (s->role >= SKEP_ROLE_PROC_FORK && s->role <= SKEP_ROLE_PROC_OOM && time_ns == 0)
		mock_defect(m, "%s: a record of this role has a time", s->name);
	if (s->role == SKEP_ROLE_DETAIL) {
		memcpy(&id, rec, sizeof(id));
		if (!mock_detail_attached(m->priv, id))
			mock_defect(m, "%s: a record of detail %" PRIu64 ", which is not attached", s->name, id);
	}
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);

		mock_check_field(m, s, f, (const char *)rec + f->offset);
	}
}

/* Returns the bytes outside of the record that a field points to. */
static size_t mock_pointed(const struct skep_field *f, const void *at, const void **ret)
{
	const struct skep_str *text = at;
	const struct skep_hist *hist = at;

	switch (f->type) {
	case SKEP_T_STR:
	case SKEP_T_STRV:
		*ret = text->ptr;
		return text->ptr ? text->len : 0;
	case SKEP_T_HIST:
		*ret = hist->slots;
		return hist->slots && hist->n <= SKEP_HIST_SLOTS ? hist->n * sizeof(*hist->slots) : 0;
	default:
		*ret = NULL;
		return 0;
	}
}

static struct skep_mock_record *mock_copy(const struct skep_stream *s, const void *rec)
{
	struct skep_mock_record *r = mock_need(calloc(1, sizeof(*r)));
	size_t room = 1, used = 0;
	const void *from;

	r->stream = s;
	r->data = mock_need(malloc(s->record_size));
	memcpy(r->data, rec, s->record_size);
	for (uint32_t i = 0; i < s->n_fields; i++)
		room += ((mock_pointed(skep_stream_field(s, i), (const char *)rec + skep_stream_field(s, i)->offset,
				       &from) +
			  1) |
			 7) +
			1;
	r->text = mock_need(calloc(1, room));
	for (uint32_t i = 0; i < s->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(s, i);
		void *at = (char *)r->data + f->offset;
		size_t len = mock_pointed(f, at, &from);

		if (f->type != SKEP_T_STR && f->type != SKEP_T_STRV && f->type != SKEP_T_HIST)
			continue;
		if (len > 0)
			memcpy(r->text + used, from, len);
		/* Terminate each text, so that skep_mock_str() can return it as a string. */
		if (f->type == SKEP_T_HIST)
			((struct skep_hist *)at)->slots = (const void *)(r->text + used);
		else
			((struct skep_str *)at)->ptr = r->text + used;
		used += ((len + 1) | 7) + 1;
	}
	return r;
}

void mock_emit(struct skep_instance *i, unsigned stream, const struct skep_upid *who, uint64_t time_ns, const void *rec)
{
	struct skep_mock *m = i->mock;
	struct skep_mock_record *r;

	if (!mock_may(m, "emit", false))
		return;
	if (stream >= m->plugin->n_streams) {
		mock_defect(m, "emit(): stream number %u, of which there are %u", stream, m->plugin->n_streams);
		return;
	}
	if (!rec) {
		mock_defect(m, "emit(): %s: no record", m->plugin->streams[stream]->name);
		return;
	}
	mock_check_record(m, stream, who, time_ns, rec);
	r = mock_copy(m->plugin->streams[stream], rec);
	r->number = m->priv->emitted[stream]++;
	r->time_ns = time_ns;
	if (who)
		r->who = *who;
	*m->priv->records_end = r;
	m->priv->records_end = &r->next;
}

void mock_lost(struct skep_instance *i, unsigned stream, enum skep_loss where, uint64_t n)
{
	struct skep_mock *m = i->mock;

	if (!mock_may(m, "lost", false))
		return;
	if (stream >= m->plugin->n_streams || where < SKEP_LOSS_KERNEL || where > SKEP_LOSS_SINK)
		mock_defect(m, "lost(): stream number %u at place %d: there is none", stream, (int)where);
	else
		m->priv->lost[stream] += n;
}

/* ---- for the test ---------------------------------------------------------------- */

static unsigned mock_stream(const struct skep_mock *m, const char *name)
{
	for (uint32_t i = 0; i < m->plugin->n_streams; i++)
		if (strcmp(m->plugin->streams[i]->name, name) == 0)
			return i;
	mock_misuse("%s has no stream \"%s\"", m->plugin->name, name);
}

uint64_t skep_mock_lost(const struct skep_mock *m, const char *stream)
{
	return m->priv->lost[mock_stream(m, stream)];
}

unsigned skep_mock_count(const struct skep_mock *m, const char *stream)
{
	return m->priv->emitted[mock_stream(m, stream)];
}

const struct skep_mock_record *skep_mock_record(const struct skep_mock *m, const char *stream, int i)
{
	const struct skep_stream *s = m->plugin->streams[mock_stream(m, stream)];
	unsigned n = skep_mock_count(m, stream), wanted = i < 0 ? n + (unsigned)i : (unsigned)i;

	for (struct skep_mock_record *r = m->priv->records; r; r = r->next)
		if (r->stream == s && r->number == wanted)
			return r;
	mock_misuse("there is no record %d of \"%s\": %u were emitted", i, stream, n);
}

void skep_mock_forget(struct skep_mock *m)
{
	mock_records_free(m->priv);
	m->priv->records_end = &m->priv->records;
	memset(m->priv->emitted, 0, m->plugin->n_streams * sizeof(*m->priv->emitted));
}

uint64_t skep_mock_time(const struct skep_mock_record *r)
{
	return r->time_ns;
}

struct skep_upid skep_mock_who(const struct skep_mock_record *r)
{
	return r->who;
}

static const void *mock_value(const struct skep_mock_record *r, const char *name, const uint32_t *types,
			      const char *what)
{
	for (uint32_t i = 0; i < r->stream->n_fields; i++) {
		const struct skep_field *f = skep_stream_field(r->stream, i);

		if (strcmp(f->name, name) != 0)
			continue;
		for (const uint32_t *t = types; *t; t++)
			if (f->type == *t)
				return (const char *)r->data + f->offset;
		mock_misuse("field \"%s\" of \"%s\" is not %s", name, r->stream->name, what);
	}
	mock_misuse("\"%s\" has no field \"%s\"", r->stream->name, name);
}

uint64_t skep_mock_u64(const struct skep_mock_record *r, const char *field)
{
	static const uint32_t whole[] = { SKEP_T_U64, SKEP_T_TIME, 0 },
			      any[] = { SKEP_T_U64, SKEP_T_TIME, SKEP_T_BOOL, 0 };
	const void *at = mock_value(r, field, any, "u64, time or bool");

	for (uint32_t i = 0; i < r->stream->n_fields; i++)
		if (strcmp(skep_stream_field(r->stream, i)->name, field) == 0 &&
		    skep_stream_field(r->stream, i)->type == SKEP_T_BOOL)
			return *(const uint8_t *)at;
	return *(const uint64_t *)mock_value(r, field, whole, "u64 or time");
}

int64_t skep_mock_i64(const struct skep_mock_record *r, const char *field)
{
	return *(const int64_t *)mock_value(r, field, (const uint32_t[]){ SKEP_T_I64, 0 }, "i64");
}

double skep_mock_f64(const struct skep_mock_record *r, const char *field)
{
	return *(const double *)mock_value(r, field, (const uint32_t[]){ SKEP_T_F64, 0 }, "f64");
}

const char *skep_mock_str(const struct skep_mock_record *r, const char *field)
{
	const struct skep_str *s = mock_value(r, field, (const uint32_t[]){ SKEP_T_STR, SKEP_T_STRV, 0 }, "a text");

	return s->ptr;
}

void mock_records_free(struct skep_mock_priv *p)
{
	while (p->records) {
		struct skep_mock_record *r = p->records;

		p->records = r->next;
		free(r->data);
		free(r->text);
		free(r);
	}
}
