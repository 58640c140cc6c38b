/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/json_out.h - makes and writes the JSON that commands print.
 */
#ifndef SKEP_CLI_BASE_JSON_OUT_H
#define SKEP_CLI_BASE_JSON_OUT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* New references, NULL when memory runs out. */
json_t *json_out_string(const char *);       /* bytes that are not UTF-8 become U+FFFD */
json_t *json_out_time(uint64_t realtime_ns); /* RFC 3339, ns, UTC; null for 0 */
/* Writes the value with a newline and owns its reference (NULL: -ENOMEM). 0 or -errno. */
int json_out_write(json_t *value, FILE *out);
/* Writes a value within a larger one, whose further lines begin with so many spaces, and frees it; the same errors. */
int json_out_part(json_t *value, int spaces, FILE *out);

#endif
