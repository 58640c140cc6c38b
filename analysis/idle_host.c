/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/idle_host.c - finds idle hosts: no process uses a CPU, the network or a GPU.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/waste.h"

enum { WINDOW, CORES, RX, TX, SHARE };

static bool is_idle(const struct sweep *s, const struct lake_host *h, const struct lake_hour *hour,
		    const double *thresholds)
{
	const double seconds = (double)hour->known_ns / 1e9;
	double gpu_busy, gpu_known;

	if (!waste_is_known(hour) || waste_cores(hour, true) > thresholds[CORES] ||
	    (double)hour->rx_bytes > thresholds[RX] * seconds || (double)hour->tx_bytes > thresholds[TX] * seconds)
		return false;
	waste_gpus(s, h, hour->start_ns, hour->start_ns + LAKE_HOUR_NS, &gpu_busy, &gpu_known);
	return gpu_busy <= 0.01 * gpu_known;
}

struct found {
	struct sweep_finding f;
	double cores; /* used, x time */
};

/* A window ends: hours[from] to hours[to] are idle, but for some. 0 or -ENOMEM. */
static int add_window(struct sweep *s, const struct lake_host *h, const struct lake_hour *hours, size_t from, size_t to,
		      const double *thresholds, struct found *found)
{
	struct sweep_finding *f = &found->f;
	const uint64_t from_ns = hours[from].first_ns, to_ns = hours[to].last_ns;
	double known_s = 0, core_s = 0, byte_s = 0, used_s = 0, gpu_busy, gpu_s;

	for (size_t i = from; i <= to; i++) {
		known_s += (double)hours[i].known_ns / 1e9;
		core_s += (double)hours[i].capacity_ns / 1e9;
		byte_s += (double)hours[i].memory_limit_bytes * (double)hours[i].known_ns / 1e9;
		used_s += waste_cores(&hours[i], true) * (double)hours[i].known_ns / 1e9;
	}
	if (known_s < thresholds[WINDOW])
		return 0;
	if (waste_add_idle(s, h, from_ns, to_ns) != 0)
		return -ENOMEM;
	waste_gpus(s, h, from_ns, to_ns, &gpu_busy, &gpu_s);
	f->n++;
	f->seconds += known_s;
	f->amount.core_s += core_s;
	f->amount.byte_s += byte_s;
	f->amount.gpu_s += gpu_s;
	found->cores += used_s;
	if (to_ns - from_ns > f->to_ns - f->from_ns) {
		f->from_ns = from_ns;
		f->to_ns = to_ns;
	}
	f->is_open |= waste_is_open(h, to_ns);
	return 0;
}

/*
 * Windows of hours without a gap, of which at most a few are not idle: GCP looks at 97 % of the time.  The share of the
 * others counts from the window's begin, so a nightly job cuts a window only in its first days.
 */
static int find_windows(struct sweep *s, const struct lake_host *h, const struct lake_hour *hours, size_t n,
			const double *thresholds, struct found *found)
{
	size_t from = n, last = 0, others = 0; /* from = n: no window is open */
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++) {
		const bool idle = is_idle(s, h, &hours[i], thresholds);
		const bool next = i > 0 && waste_is_next(&hours[i - 1], &hours[i]);

		if (from < n &&
		    (!next || (!idle && (double)(others + 1) > (1 - thresholds[SHARE]) * (double)(i + 1 - from)))) {
			rc = add_window(s, h, hours, from, last, thresholds, found);
			from = n;
		}
		if (idle && from == n) {
			from = i;
			others = 0;
		}
		others += from < n && !idle;
		last = idle ? i : last;
	}
	if (rc == 0 && from < n)
		rc = add_window(s, h, hours, from, last, thresholds, found);
	return rc;
}

static int add(struct sweep *s, const struct finding_kind *kind, const double *thresholds, const struct lake_host *h,
	       struct found *found)
{
	struct sweep_finding *f = &found->f;
	char total[FINDING_NUMBER], longest[FINDING_NUMBER];

	f->kind = kind;
	f->severity = FINDING_WARN;
	f->host = h;
	f->run = waste_last_run(s, h, f->from_ns + LAKE_HOUR_NS);
	f->value = found->cores / f->seconds;
	f->threshold = thresholds[CORES];
	f->subject = finding_text("%s", "");
	f->evidence = finding_text("for %s%s%s%s it used %.3f of its %.0f cores, and its network was as quiet",
				   finding_seconds(f->seconds, total), f->n > 1 ? " in all, at most " : "",
				   f->n > 1 ? finding_seconds((double)(f->to_ns - f->from_ns) / 1e9, longest) : "",
				   f->n > 1 ? " at a time," : "", f->value, h->cpus);
	f->advice = finding_text("stop it, or give it work%s", f->is_open ? "" : "; it has been used again since");
	return waste_add_take(s, f);
}

static int sweep_hosts(struct sweep *s, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_usage *u = s->in->usage;
	int rc = 0;

	for (size_t i = 0; i < u->n_hosts && rc == 0; i++) {
		const struct lake_hour *hours;
		struct found found = { 0 };
		size_t at = 0, n;

		if (waste_next_item(s, &u->hosts[i], "", &at, &hours, &n))
			rc = find_windows(s, &u->hosts[i], hours, n, thresholds, &found);
		if (rc == 0 && found.f.n)
			rc = add(s, kind, thresholds, &u->hosts[i], &found);
	}
	return rc;
}

const struct finding_kind waste_idle_host = {
	.id = "idle-host",
	.title = "an idle host",
	.measures = "cores that processes used in the hours of the windows, without skep and the system's own programs",
	.unit = "{cpu}",
	.guards = "hours with a busy GPU, with traffic, of which skep has no records, or of two machines of one name",
	.advice = "a stop, or work",
	.saving = "all its cores, memory and GPUs in these windows",
	.source = ANALYSIS_EXACT,
	.thresholds = {
		[WINDOW] = { "window", 86400, "s", "own: a day, so that what a host does every night is in it" },
		[CORES] = { "cores", 0.03, "{cpu}", "GCP's idle machines" },
		[RX] = { "rx", 2000, "By/s", "GCP's idle machines" },
		[TX] = { "tx", 1000, "By/s", "GCP's idle machines" },
		[SHARE] = { "share", 0.97, "1", "GCP: 97 % of the time; here of the hours of a window" },
	},
	.sweep = sweep_hosts,
};
