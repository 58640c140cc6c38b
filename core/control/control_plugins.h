/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/control/control_plugins.h - a collector's instances as JSON: state, signals, details,
 * counters.  For the control socket, `skepd --tryload` and `skep doctor`.
 */
#ifndef SKEP_CORE_CONTROL_PLUGINS_H
#define SKEP_CORE_CONTROL_PLUGINS_H

#include <jansson.h>

#include "core/collect/collector.h"
#include "core/plugin/plugin.h"

/* All return new references, NULL when memory runs out. */

/*
 * A sink's option "path", the folder or file where it stores records, as an absolute path: a client compares the path
 * with its own lake.  null: none.
 */
json_t *control_location(const struct skep_instance *);
uint64_t control_min_free(const struct skep_instance *); /* a sink's option "min_free"; 0: none */
/* { "ok": true, "request": "plugins", "plugins": [ ... ], "engine_files": "unit" } */
json_t *control_plugins(const struct collector *);
/* "name", "plugin", "kind", "version", "state", "reason", "required". */
json_t *control_instance(const struct skep_instance *);
/* [ { "name", "help", "scopes", "stream" } ], for an instance. */
json_t *control_details(const struct skep_instance *);
/* name -> "value", "help". */
json_t *control_counters(const struct skep_instance *);

/* The running sink `lake`, the first one of several; NULL: none. */
const struct skep_instance *control_lake(const struct collector *);

const char *control_state_name(enum instance_state);
const char *control_signal_state_name(enum skep_signal_state);

#endif
