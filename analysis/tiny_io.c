/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/tiny_io.c - finds tools that read and write in tiny pieces.
 */
#include <errno.h>
#include <string.h>

#include "analysis/finding.h"

enum { SIZE, CALLS, SYSTEM };

struct sums {
	double calls, bytes, net, cpu, system;
	const struct lake_process *most;
};

static struct sums sums_of(const struct lake_report *r, const struct lake_tool *t)
{
	struct sums s = { 0 };

	for (size_t i = 0; i < t->n_images; i++) {
		const struct lake_process *p = &r->processes[t->images[i]];

		s.calls += (double)(p->read_calls + p->write_calls);
		s.bytes += (double)(p->totals.rchar_bytes + p->totals.wchar_bytes);
		s.net += (double)(p->totals.net_rx_bytes + p->totals.net_tx_bytes);
		s.cpu += (double)p->totals.cpu_ns;
		s.system += (double)p->totals.system_ns;
		if (!s.most || p->read_calls + p->write_calls > s.most->read_calls + s.most->write_calls)
			s.most = p;
	}
	return s;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;

	for (size_t i = 0; i < r->n_tools; i++) {
		const struct lake_tool *t = &r->tools[i];
		const struct sums s = sums_of(r, t);
		struct finding f = { .kind = kind, .of = FINDING_OF_TOOL, .name = t->tool, .n = t->calls };

		if (s.calls <= 0 || s.calls < thresholds[CALLS] || s.cpu <= 0 ||
		    s.system < thresholds[SYSTEM] * s.cpu ||
		    s.net > s.bytes / 2)
			continue;
		f.value = s.bytes / s.calls;
		f.saving.cpu_s = s.system / 2e9;
		if (f.value >= thresholds[SIZE] || !analysis_worth(a, f.saving.cpu_s))
			continue;
		f.severity = FINDING_NOTE;
		f.confidence = FINDING_LOW;
		f.threshold = thresholds[SIZE];
		f.process = s.most;
		f.evidence = finding_text("made %.0f calls to read and write, of %.0f bytes on average; %.0f %% of its CPU time is "
					  "the kernel's",
					  s.calls, f.value, s.system / s.cpu * 100);
		f.advice = finding_text("let it read and write through a buffer of 64 KiB or more (setvbuf, BufferedReader, bs=)");
		if (finding_add_take(a, &f) != 0)
			return -ENOMEM;
	}
	return 0;
}

const struct finding_kind finding_tiny_io = {
	.id = "tiny-io",
	.title = "reads and writes in tiny pieces",
	.measures = "bytes of a read or write call, the mean of a tool's processes",
	.unit = "By",
	.guards = "a tool of which half of the bytes are sockets'; pipes and terminals count, so the confidence is low",
	.advice = "a buffer of 64 KiB or more",
	.saving = "half of the tool's system time",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[SIZE] = { "size", 4096, "By", "own: a page; Drishti asks for 1 MiB on parallel file systems" },
		[CALLS] = { "calls", 100000, "1", "own: fewer cost no second" },
		[SYSTEM] = { "system", 0.20, "1", "own: a fifth of the CPU time" },
	},
	.find = find,
};
