/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_schema.h - the JSON Schema (draft 7) of skepd.conf with the options of the
 * plugins that are there, for editors and for checks without skepd.  It knows keys, types,
 * words and plain bounds; bounds of texts such as "64MiB", and what a value means, are for
 * skepd -t.
 */
#ifndef SKEP_CORE_CONFIG_SCHEMA_H
#define SKEP_CORE_CONFIG_SCHEMA_H

#include <jansson.h>
#include <skep/plugin.h>
#include <stddef.h>

/* A new reference; NULL: no memory. */
json_t *config_schema(const struct skep_plugin *const *plugins, size_t n);

#endif
