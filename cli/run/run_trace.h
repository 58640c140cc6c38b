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
 * The value of TRACEPARENT for the command: the span of this run, in the trace that we were started in, or in
 * one of its own.  ret_adopted: the TRACEPARENT that we were started with; NULL: none, or none of use.  Only
 * for a run that is sent to a tracing system: spans below one that never comes are hard to find.  0 or -errno.
 */
int run_trace(const char *run_id, const char **ret_adopted, char ret[SKEP_TRACEPARENT_SIZE]);
/*
 * After the end: how much of it did not reach the receiver, where that is so. endpoint, waited: as --otlp and
 * --otlp-wait have them.
 */
void run_trace_missing(const struct collector *, const char *endpoint, const char *waited, FILE *);

#endif
