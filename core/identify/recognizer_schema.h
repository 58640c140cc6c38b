/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/recognizer_schema.h - the JSON Schema (draft 7) of tables of recognizers, for editors.  The schema has
 * the keys and their types; `skepd -t` also checks conditions, patterns and the tables' own tests.
 */
#ifndef SKEP_CORE_RECOGNIZER_SCHEMA_H
#define SKEP_CORE_RECOGNIZER_SCHEMA_H

#include <jansson.h>

json_t *recognizer_schema(void); /* a new reference; NULL: no memory */

#endif
