/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/sink_terms.h - what an entry of "sinks" may say to skepd itself, whichever plugin it is: "backlog" and
 * "max_age". A plugin that has an option of that name keeps it: they came after 1.0 of the ABI.
 */
#ifndef SKEP_CORE_SINK_TERMS_H
#define SKEP_CORE_SINK_TERMS_H

#include <skep/plugin.h>

#include "core/config/config.h"

struct sink_terms {
	bool shares;         /* the queue offers old and new batches in turn; false: all in order */
	uint64_t max_age_ns; /* older batches count as lost and are not sent; 0: no limit */
};

/* Is this a key of skepd itself in an entry of this plugin?  false: it is an option of the plugin, or unknown. */
bool sink_terms_key(const struct skep_plugin *, const char *name);
bool sink_terms_any_order(const struct skep_plugin *); /* its receiver does not mind */
/* 0, or -EINVAL after adding errors. */
int sink_terms_read(const struct skep_plugin *, const struct config *, const struct config_plugin *,
		    struct sink_terms *ret, struct diag *);

#endif
