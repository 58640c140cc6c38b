/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report_json.h - the pieces of the JSON report that other answers use, too.
 */
#ifndef SKEP_CLI_REPORT_JSON_H
#define SKEP_CLI_REPORT_JSON_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "lake/lake.h"

/* New references, NULL when memory runs out. */
json_t *report_json_run(const struct lake_run *); /* "run" */
json_t *report_json_string(const char *);         /* bytes that are not UTF-8 become U+FFFD */
json_t *report_json_time(uint64_t realtime_ns);   /* RFC 3339, ns, UTC; null for 0 */
/* Takes the value (NULL: -ENOMEM), writes it with a newline. 0 or -errno. */
int report_json_write(json_t *value, FILE *out);

#endif
