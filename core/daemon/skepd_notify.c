/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd_notify.c - the status line for the service manager, which
 * `systemctl status skepd` shows.
 */
#include "core/plugin/plugin.h"
#include "core/daemon/skepd.h"

/* Returns the first that failed, for its reason; NULL: all work. */
static const struct skep_instance *count(const struct collector *c, size_t *ret_probes, size_t *ret_sinks,
					 size_t *ret_failed)
{
	const struct skep_instance *first = NULL;

	*ret_probes = *ret_sinks = *ret_failed = 0;
	for (const struct skep_instance *i = collector_instances(c); i; i = i->next) {
		++*(i->plugin->note.kind == SKEP_KIND_PROBE ? ret_probes : ret_sinks);
		if (i->state != INSTANCE_FAILED)
			continue;
		++*ret_failed;
		if (!first)
			first = i;
	}
	return first;
}

void skepd_notify_ready(struct notify *n, const struct collector *c, const char *before)
{
	size_t probes, sinks, failed;
	const struct skep_instance *first = count(c, &probes, &sinks, &failed);

	if (first)
		notify_ready(n, "%s%zu probes, %zu sinks; %zu of them failed: %s: %s", before, probes, sinks, failed,
			     first->name, first->reason ? first->reason : "it gave no reason");
	else
		notify_ready(n, "%s%zu probes, %zu sinks", before, probes, sinks);
}

/* Reports only the first error: the journal and `skep status` have all. */
static void refused(struct notify *n, const struct diag *diag)
{
	for (size_t i = 0; i < diag->n; i++) {
		const struct diag_entry *e = &diag->entries[i];

		if (e->severity != DIAG_ERROR)
			continue;
		if (e->file && e->line > 0)
			notify_ready(n, "reload refused, running configuration unchanged: %s:%d: %s",
					e->file, e->line, e->text);
		else
			notify_ready(n, "reload refused, running configuration unchanged: %s%s%s", e->file ? e->file : "",
				     e->file ? ": " : "", e->text);
		return;
	}
	notify_ready(n, "reload refused, running configuration unchanged");
}

void skepd_notify_reload(struct notify *n, const struct collector *c, const struct reload_outcome *outcome)
{
	if (!outcome)
		notify_reloading(n);
	else if (outcome->err < 0)
		refused(n, &outcome->diag);
	else
		skepd_notify_ready(n, c, "reloaded: ");
}
