/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/names.h - what a field is called as a metric: base units, their word
 * at the end of the name, "_total" for counters.
 */
#ifndef SKEP_SINKS_PROMETHEUS_NAMES_H
#define SKEP_SINKS_PROMETHEUS_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * "skep_" PREFIX FIELD UNIT "_total".  A field whose name is of OpenTelemetry's conventions ("system.", "hw.")
 * stands without its prefix.  *ret_unit: the unit's word, a constant, or NULL where it has none; *ret_divisor: what
 * values are divided by.  Returns a name that the caller frees, or NULL: no memory.
 */
char *names_metric(const char *prefix, const char *field, const char *unit, bool counter, const char **ret_unit,
		   double *ret_divisor);
/* A label's name: of letters, digits and '_'. The caller frees it; NULL: no memory. */
char *names_label(const char *attribute);

#endif
