/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/detail.c - attaches and detaches details as the plugin host does.
 */
#include <inttypes.h>
#include <string.h>

#include "sdk/mock/priv.h"

static const struct skep_detail *mock_detail_at(const struct skep_plugin *plugin, unsigned i)
{
	if (!plugin->details || !plugin->n_details || i >= plugin->n_details)
		return NULL;
	return (const void *)((const char *)plugin->details + (size_t)i * plugin->detail_size);
}

static struct mock_detail *mock_detail_by_id(const struct skep_mock_priv *p, int64_t id)
{
	struct mock_detail *d = p->details;

	while (d && d->id != id)
		d = d->next;
	return d;
}

bool mock_detail_attached(const struct skep_mock_priv *p, uint64_t id)
{
	return mock_detail_by_id(p, (int64_t)id) != NULL;
}

int64_t skep_mock_attach(struct skep_mock *m, const char *name, enum skep_scope kind, uint64_t value)
{
	const struct skep_detail *detail;
	struct skep_detail_scope scope = { .size = sizeof(scope), .kind = kind, .value = value };
	struct mock_detail *d;
	unsigned i = 0;
	int err;

	if (m->priv->life != MOCK_RUNNING)
		mock_misuse("skep_mock_attach(): the plugin does not run");
	while ((detail = mock_detail_at(m->plugin, i)) && strcmp(detail->name, name) != 0)
		i++;
	if (!detail)
		mock_misuse("%s has no detail \"%s\"", m->plugin->name, name);
	if (!(detail->scopes >> kind & 1))
		return mock_refuse(m, -EINVAL, "detail \"%s\" cannot be limited to that", name);
	d = mock_need(calloc(1, sizeof(*d)));
	scope.id = (uint64_t)(d->id = ++m->priv->last_detail);
	/* Add the detail first: attach() may emit. */
	d->next = m->priv->details;
	m->priv->details = d;
	mock_enter(m, "attach");
	err = m->plugin->attach(m->instance, m->state, i, &scope);
	mock_leave(m, false);
	if (err == 0)
		return d->id;
	m->priv->details = d->next;
	free(d);
	if (err > 0)
		mock_defect(m, "attach() returned %d: 0 or a negative errno is expected", err);
	return err > 0 ? -EINVAL : err;
}

void skep_mock_detach(struct skep_mock *m, int64_t id)
{
	struct mock_detail **at = &m->priv->details, *d;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	d = *at;
	if (!d)
		mock_misuse("skep_mock_detach(): no detail %" PRId64 " is attached", id);
	mock_enter(m, "detach");
	m->plugin->detach(m->instance, m->state, (uint64_t)id);
	mock_leave(m, false);
	*at = d->next;
	free(d);
}

void mock_details_end(struct skep_mock *m)
{
	while (m->priv->details)
		skep_mock_detach(m, m->priv->details->id);
}

bool skep_mock_detail_over(const struct skep_mock *m, int64_t id)
{
	const struct mock_detail *d = mock_detail_by_id(m->priv, id);

	return d && d->over;
}

void mock_detail_over(struct skep_instance *i, uint64_t id, const char *why)
{
	struct skep_mock *m = i->mock;
	struct mock_detail *d;

	if (!mock_may(m, "detail_over", false))
		return;
	d = mock_detail_by_id(m->priv, (int64_t)id);
	if (!d)
		mock_defect(m, "detail_over(): no detail %" PRIu64 " is attached", id);
	else
		d->over = true;
	if (!why)
		mock_defect(m, "detail_over(): why it is over must be said");
}

void mock_details_free(struct skep_mock_priv *p)
{
	while (p->details) {
		struct mock_detail *d = p->details;

		p->details = d->next;
		free(d);
	}
}
