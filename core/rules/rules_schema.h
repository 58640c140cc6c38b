/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_schema.h - the JSON Schema (draft 7) of rule files, for editors. The schema has the keys and
 * their types; `skep filter test` checks conditions.
 */
#ifndef SKEP_CORE_RULES_SCHEMA_H
#define SKEP_CORE_RULES_SCHEMA_H

#include <jansson.h>

json_t *rules_schema(void); /* a new reference; NULL: no memory */

#endif
