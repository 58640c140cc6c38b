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

/* { "ok": true, "request": "plugins", "plugins": [ ... ] } */
json_t *control_plugins(const struct collector *);
/* "name", "plugin", "kind", "version", "state", "reason", "required". */
json_t *control_instance(const struct skep_instance *);
/* [ { "name", "help", "scopes", "stream" } ], for an instance. */
json_t *control_details(const struct skep_instance *);
/* name -> "value", "help". */
json_t *control_counters(const struct skep_instance *);

const char *control_state_name(enum instance_state);
const char *control_signal_state_name(enum skep_signal_state);

#endif
