/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/attr.h - writes attributes as OTLP's KeyValue, as field number `field` of the enclosing message.
 */
#ifndef SKEP_SINKS_OTLP_ATTR_H
#define SKEP_SINKS_OTLP_ATTR_H

#include <skep/record.h>
#include <string.h>

#include "sinks/otlp/pb.h"

void attr_str(struct pb *, uint32_t field, const char *key, struct skep_str); /* omits an empty text */
void attr_text(struct pb *, uint32_t field, const char *key, const char *);
void attr_int(struct pb *, uint32_t field, const char *key, int64_t);
void attr_double(struct pb *, uint32_t field, const char *key, double);
void attr_bool(struct pb *, uint32_t field, const char *key, bool);
void attr_list(struct pb *, uint32_t field, const char *key, struct skep_str list); /* "a\0b\0" */

#endif
