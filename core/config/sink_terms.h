/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/sink_terms.h - what an entry of "sinks" says to skepd itself, whichever plugin it is: "max_age". An
 * option of that name of the plugin comes first.
 */
#ifndef SKEP_CORE_SINK_TERMS_H
#define SKEP_CORE_SINK_TERMS_H

#include <skep/plugin.h>

#include "core/config/config.h"

struct sink_terms {
	bool any_order;      /* the plugin's receiver accepts any order (SKEP_SINK_ANY_ORDER) */
	uint64_t max_age_ns; /* the queue drops older batches and counts them as lost; 0: no limit */
};

/* Does skepd itself read this key in an entry of the plugin?  False: the key is the plugin's option, or unknown. */
bool sink_terms_key(const struct skep_plugin *, const char *name);
/* 0, or -EINVAL after adding errors. */
int sink_terms_read(const struct skep_plugin *, const struct config *, const struct config_plugin *,
		    struct sink_terms *ret, struct diag *);

#endif
