/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/sink_terms.h - what an entry of "sinks" may say to skepd itself, whichever plugin it is: "backlog" and "max_age".
 * A plugin that has an option of that name keeps it: they came after 1.0 of the ABI.
 */
#ifndef SKEP_CORE_SINK_TERMS_H
#define SKEP_CORE_SINK_TERMS_H

#include <skep/plugin.h>

#include "core/config.h"
#include "core/out.h"

/* The host's key of that name in an entry of this plugin; false: it is the plugin's, or nobody's. */
bool sink_terms_key(const struct skep_plugin *, const char *name);
bool sink_terms_any_order(const struct skep_plugin *); /* its receiver does not mind */
/* 0, or -EINVAL after adding errors. */
int sink_terms_read(const struct skep_plugin *, const struct config *, const struct config_plugin *, struct out_terms *ret, struct diag *);

#endif
