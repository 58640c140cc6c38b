/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/config_schema.h - the JSON Schema (draft 7) of skepd.conf with the options of the installed plugins, for
 * editors and for checks without skepd.  The schema has keys, types, words and bounds; only skepd -t checks what a
 * value means (does a capability exist, can a plugin open its file).
 */
#ifndef SKEP_CORE_CONFIG_SCHEMA_H
#define SKEP_CORE_CONFIG_SCHEMA_H

#include <jansson.h>
#include <skep/plugin.h>
#include <stddef.h>

/* A new reference; NULL: no memory. */
json_t *config_schema(const struct skep_plugin *const *plugins, size_t n);

#endif
