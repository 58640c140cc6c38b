/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/names.h - makes metric names from field names: base units, the unit's word at the end of the name,
 * "_total" for counters.
 */
#ifndef SKEP_SINKS_PROMETHEUS_NAMES_H
#define SKEP_SINKS_PROMETHEUS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns "skep_" PREFIX FIELD UNIT "_total", which the caller frees, or NULL: no memory.  A field named by
 * OpenTelemetry's conventions ("system.", "hw.") gets no prefix.  *ret_unit: the unit's word, a constant, or NULL;
 * *ret_divisor: divide values by it.
 */
char *names_metric(const char *prefix, const char *field, const char *unit, bool counter, const char **ret_unit,
		   double *ret_divisor);
/* Returns a label's name, of letters, digits and '_'. The caller frees it; NULL: no memory. */
char *names_label(const char *attribute);

#endif
