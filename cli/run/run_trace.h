/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_trace.h - the trace that a run belongs to, for the command's environment.
 */
#ifndef SKEP_CLI_RUN_TRACE_H
#define SKEP_CLI_RUN_TRACE_H

#include <skep/trace.h>
#include <stdio.h>

#include "core/collect/collector.h"

/*
 * Makes the value of TRACEPARENT for the command: the span of this run, in the caller's trace or in its own trace.
 * ret_adopted: the valid TRACEPARENT of our environment; NULL: none.  Only for a run that skep sends to a tracing
 * system: spans below a parent that never arrives are hard to find.  0 or -errno.
 */
int run_trace(const char *run_id, const char **ret_adopted, char ret[SKEP_TRACEPARENT_SIZE]);
/*
 * After the end: prints how many records did not reach the receiver, if any. endpoint, waited: values of --otlp and
 * --otlp-wait.
 */
void run_trace_missing(const struct collector *, const char *endpoint, const char *waited, FILE *);

#endif
