/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/sink_terms.h - keys of an entry of "sinks" that skepd itself reads, whichever plugin it is: "backlog" and
 * "max_age". An option of that name of the plugin comes first.
 */
#ifndef SKEP_CORE_SINK_TERMS_H
#define SKEP_CORE_SINK_TERMS_H

#include <skep/plugin.h>

#include "core/config/config.h"

struct sink_terms {
	bool shares;         /* the queue offers old and new batches in turn; false: in order */
	uint64_t max_age_ns; /* the queue drops older batches and counts them as lost; 0: no limit */
};

/* Does skepd itself read this key in an entry of the plugin?  False: the key is the plugin's option, or unknown. */
bool sink_terms_key(const struct skep_plugin *, const char *name);
bool sink_terms_any_order(const struct skep_plugin *); /* does its receiver accept any order? */
/* 0, or -EINVAL after adding errors. */
int sink_terms_read(const struct skep_plugin *, const struct config *, const struct config_plugin *,
		    struct sink_terms *ret, struct diag *);

#endif
