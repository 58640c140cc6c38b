/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/sweep/sweep_json.c - prints a sweep as JSON.
 */
#include <errno.h>
#include <string.h>

#include "cli/base/json_stream.h"
#include "cli/sweep/sweep_print.h"

static void put_finding(struct json_stream *j, const struct sweep_finding *f)
{
	json_stream_open(j, NULL, '{');
	json_stream_string(j, "kind", f->kind->id);
	json_stream_string(j, "severity", f->severity == FINDING_WARN ? "warning" : "note");
	json_stream_string(j, "host", f->host->name);
	json_stream_string(j, "subject", f->subject);
	json_stream_string(j, "run", f->run ? f->run->id : NULL);
	if (f->unpriced)
		json_stream_string(j, "worth", NULL);
	else
		json_stream_real(j, "worth", f->worth);
	json_stream_open(j, "wasted", '{');
	json_stream_real(j, "core_s", f->amount.core_s);
	json_stream_real(j, "byte_s", f->amount.byte_s);
	json_stream_real(j, "gpu_s", f->amount.gpu_s);
	json_stream_close(j, '}');
	json_stream_number(j, "windows", f->n);
	json_stream_real(j, "windows_s", f->seconds);
	json_stream_time(j, "from", f->from_ns);
	json_stream_time(j, "to", f->to_ns);
	json_stream_bool(j, "open", f->is_open);
	json_stream_real(j, "value", f->value);
	json_stream_real(j, "threshold", f->threshold);
	json_stream_string(j, "unit", f->kind->unit);
	json_stream_string(j, "source", analysis_source_text(f->kind->source));
	json_stream_string(j, "evidence", f->evidence);
	json_stream_string(j, "advice", f->advice);
	json_stream_string(j, "last_tool", f->last_tool);
	json_stream_time(j, "last_time", f->last_ns);
	json_stream_close(j, '}');
}

int sweep_json(const struct sweep_look *look, FILE *out)
{
	struct json_stream j = { .out = out };
	const struct sweep_finding *findings;
	const size_t n = sweep_findings(look->sweep, &findings);

	json_stream_open(&j, NULL, '{');
	json_stream_time(&j, "since", look->since_ns);
	json_stream_time(&j, "until", look->until_ns);
	json_stream_number(&j, "hosts", look->usage->n_hosts);
	json_stream_string(&j, "worth_unit", look->unit);
	json_stream_open(&j, "partial", '{');
	json_stream_number(&j, "hosts_without_hours", look->doubts.hosts_without_hours);
	json_stream_number(&j, "hours_of_shared_names", look->doubts.hours_shared);
	json_stream_number(&j, "hosts_with_a_clock_ahead", look->doubts.hosts_ahead);
	json_stream_number(&j, "hosts_silent", look->doubts.hosts_silent);
	json_stream_close(&j, '}');
	json_stream_open(&j, "findings", '[');
	for (size_t i = 0; i < n; i++)
		put_finding(&j, &findings[i]);
	json_stream_close(&j, ']');
	json_stream_close(&j, '}');
	return json_stream_end(&j);
}
