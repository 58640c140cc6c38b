/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/instance_signal.c - stores which signals a plugin can measure on this machine, and how, for `skep
 * doctor`. A plugin reports each signal once or twice in its life, so a list is enough.
 */
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/plugin/plugin.h"

static bool replace(char **text, const char *with)
{
	char *copy = strdup(with ? with : "");

	if (!copy)
		return false;
	free(*text);
	*text = copy;
	return true;
}

void instance_signal(struct skep_instance *inst, const char *name, enum skep_signal_state state, const char *how,
		     const char *why)
{
	struct instance_signal **at = &inst->signals, *s;

	if (!name || !*name || state < SKEP_SIGNAL_OK || state > SKEP_SIGNAL_OFF) {
		log_at(SKEP_LOG_ERROR, inst->name,
		       "reported a signal without a name or with state %d: a bug in the plugin", (int)state);
		return;
	}
	while (*at && strcmp((*at)->name, name) != 0)
		at = &(*at)->next;
	s = *at;
	if (!s) {
		s = calloc(1, sizeof(*s));
		if (!s || !replace(&s->name, name)) {
			free(s);
			goto out_memory;
		}
		*at = s;
	}
	s->state = state;
	if (!replace(&s->how, how) || !replace(&s->why, why))
		goto out_memory;
	return;
out_memory:
	log_at(SKEP_LOG_WARNING, inst->name, "no memory for the state of signal %s", name);
}

void instance_signals_free(struct skep_instance *inst)
{
	while (inst->signals) {
		struct instance_signal *s = inst->signals;

		inst->signals = s->next;
		free(s->name);
		free(s->how);
		free(s->why);
		free(s);
	}
}
