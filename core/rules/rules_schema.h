/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/rules/rules_schema.h - the JSON Schema (draft 7) of rule files, for editors.  It knows the keys
 * and their types; what a condition may say is for skep filter test.
 */
#ifndef SKEP_CORE_RULES_SCHEMA_H
#define SKEP_CORE_RULES_SCHEMA_H

#include <jansson.h>

json_t *rules_schema(void); /* a new reference; NULL: no memory */

#endif
