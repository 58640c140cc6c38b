/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/ucum.h - checks units of UCUM, the unified code for units of measure, as OpenTelemetry uses it.
 */
#ifndef SKEP_CLI_UCUM_H
#define SKEP_CLI_UCUM_H

#include <stdbool.h>

/* "ns", "By", "1", "%", "By/s", "{fault}", "{request}/min", "m2"; not "bytes", "sec", "". */
bool ucum_valid(const char *unit);

#endif
