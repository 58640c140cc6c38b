/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/otlp/attr.h - OTLP's KeyValue, as field number `field` of the message around it.
 */
#ifndef SKEP_SINKS_OTLP_ATTR_H
#define SKEP_SINKS_OTLP_ATTR_H

#include <skep/record.h>
#include <string.h>

#include "sinks/otlp/pb.h"

void attr_str(struct pb *, uint32_t field, const char *key, struct skep_str); /* an empty one is left out */
void attr_text(struct pb *, uint32_t field, const char *key, const char *);
void attr_int(struct pb *, uint32_t field, const char *key, int64_t);
void attr_bool(struct pb *, uint32_t field, const char *key, bool);
void attr_list(struct pb *, uint32_t field, const char *key, struct skep_str list); /* "a\0b\0" */

#endif
