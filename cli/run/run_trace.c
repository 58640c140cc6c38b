/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_trace.c - takes the trace from the environment, or makes it from the run's id.
 */
#include "cli/run/run_trace.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"

int run_trace(const char *run_id, const char **ret_adopted, char ret[SKEP_TRACEPARENT_SIZE])
{
	const char *given = getenv("TRACEPARENT");
	char boot_id[CLOCK_BOOT_ID_SIZE];
	uint8_t span[SKEP_SPAN_ID];
	struct skep_trace trace;
	int err;

	if (!given || !skep_traceparent_read(given, strlen(given), &trace)) {
		given = NULL;
		err = clock_boot_id(boot_id);
		if (err < 0)
			return err;
		skep_trace_of_run(boot_id, run_id, strlen(run_id), &trace);
	}
	skep_trace_run_span(trace.trace, run_id, strlen(run_id), span);
	skep_traceparent_write(trace.trace, span, trace.flags, ret);
	*ret_adopted = given;
	return 0;
}

void run_trace_missing(const struct collector *c, const char *endpoint, const char *waited, FILE *to)
{
	size_t room = collector_stats(c, NULL, 0), n;
	struct collector_stream_stats *stats = room ? calloc(room, sizeof(*stats)) : NULL;
	uint64_t missing = 0;

	n = stats ? collector_stats(c, stats, room) : 0;
	for (size_t i = 0; i < n && i < room; i++)
		if (strcmp(stats[i].sink, "otlp") == 0)
			missing += stats[i].pending + stats[i].lost[SKEP_LOSS_QUEUE] + stats[i].lost[SKEP_LOSS_SPOOL] +
				   stats[i].lost[SKEP_LOSS_SINK];
	free(stats);
	if (missing)
		fprintf(to,
			"skep run: --otlp %s: %llu records of this run have not arrived there; "
			"the lake has them (--otlp-wait %s)\n",
			endpoint, (unsigned long long)missing, waited);
}
