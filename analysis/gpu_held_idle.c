/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/gpu_held_idle.c - finds GPUs that a process holds and does not use.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/waste.h"

enum { IDLE, CRITICAL };

#define MINUTE_NS (60 * UINT64_C(1000000000))
#define NEAR_NS   (15 * MINUTE_NS) /* where skep looks for the processes of a window */

/* They hold a GPU so that an answer comes at once. */
static const char *const servers[] = { "tritonserver",
				       "vllm",
				       "vllm serve",
				       "ollama",
				       "ollama serve",
				       "llama-server",
				       "text-generation-launcher",
				       "text-generation-server",
				       "text-embeddings-router",
				       "torchserve",
				       "tensorflow_model_server",
				       "sglang",
				       "bentoml",
				       "Xorg",
				       "gnome-shell",
				       NULL };

/* The state of a GPU in one minute, by the records. */
enum minute { UNKNOWN, HELD_IDLE, OTHER };

static enum minute minute_of(const struct lake_hour *h, unsigned m)
{
	const uint64_t bit = UINT64_C(1) << m;

	if (h->other_minutes & bit)
		return OTHER;
	return h->idle_minutes & bit ? HELD_IDLE : UNKNOWN;
}

struct windows {
	const struct sweep *sweep;
	const double *thresholds;
	struct sweep_finding f;
};

/* The part of the window in which the host is not reported as idle: that finding has the host's GPUs. */
static double own_s(const struct sweep *s, const struct lake_host *h, uint64_t from_ns, uint64_t to_ns)
{
	double seconds = (double)(to_ns - from_ns) / 1e9;

	for (const struct waste_window *w = NULL; (w = waste_idle_before(s, h, w));) {
		const uint64_t from = from_ns > w->from_ns ? from_ns : w->from_ns;
		const uint64_t to = to_ns < w->to_ns ? to_ns : w->to_ns;

		if (to > from)
			seconds -= (double)(to - from) / 1e9;
	}
	return fmax(0, seconds);
}

static void add_window(struct windows *w, uint64_t from_ns, uint64_t to_ns)
{
	const double seconds = to_ns > from_ns ? (double)(to_ns - from_ns) / 1e9 : 0;
	struct sweep_finding *f = &w->f;

	if (seconds < w->thresholds[IDLE] || seconds <= 0)
		return;
	f->n++;
	f->seconds += seconds;
	f->amount.gpu_s += own_s(w->sweep, f->host, from_ns, to_ns);
	if (to_ns - from_ns > f->to_ns - f->from_ns) {
		f->from_ns = from_ns;
		f->to_ns = to_ns;
	}
	f->is_open = waste_is_open(f->host, to_ns + MINUTE_NS);
}

/*
 * Adds each window of consecutive held and idle minutes.  A record describes the interval before it: where records
 * cover the hour, a minute without a record has the state of the next record.
 */
static void find_windows(struct windows *w, const struct lake_hour *hours, size_t n)
{
	uint64_t from_ns = 0;

	for (size_t i = 0; i < n; i++) {
		const struct lake_hour *h = &hours[i];
		const bool whole = waste_is_known(h);
		enum minute states[60], next = UNKNOWN;

		for (unsigned m = 60; m-- > 0;) {
			states[m] = minute_of(h, m);
			if (states[m] == UNKNOWN && whole)
				states[m] = next;
			next = states[m];
		}
		if (from_ns && !waste_is_next(&hours[i - 1], h)) {
			add_window(w, from_ns, hours[i - 1].last_ns);
			from_ns = 0;
		}
		for (unsigned m = 0; m < 60; m++) {
			const uint64_t at = h->start_ns + m * MINUTE_NS;

			if (at >= h->last_ns) /* the rest of the last hour; the next hour goes on */
				break;
			if (states[m] == HELD_IDLE && !from_ns)
				from_ns = at > h->first_ns ? at : h->first_ns;
			if (states[m] != HELD_IDLE && from_ns && at > h->first_ns) {
				add_window(w, from_ns, at);
				from_ns = 0;
			}
		}
	}
	if (from_ns)
		add_window(w, from_ns, hours[n - 1].last_ns);
}

/* What the processes near the window's begin say. 0 or -errno; *ret_served: a model server holds the GPU. */
static int look_for(const struct sweep *s, struct sweep_finding *f, char **ret_holder, bool *ret_served)
{
	const struct sweep_asks *asks = s->in->asks;
	struct lake_seen_list *list = NULL;
	const struct lake_seen *last = NULL, *holder = NULL;
	int rc;

	*ret_holder = NULL;
	*ret_served = false;
	if (!asks || !asks->gpu_processes)
		return 0;
	rc = asks->gpu_processes(asks->arg, f->host->boot_id, f->from_ns > NEAR_NS ? f->from_ns - NEAR_NS : 0,
				 f->from_ns + NEAR_NS, &list);
	if (rc)
		return rc;
	for (size_t i = 0; i < list->n; i++) {
		const struct lake_seen *seen = &list->one[i];

		*ret_served |= seen->held && waste_is_one_of(seen->tool, servers);
		if (seen->held && (!holder || seen->time_ns > holder->time_ns))
			holder = seen;
		if (seen->busy && seen->time_ns <= f->from_ns + MINUTE_NS && (!last || seen->time_ns > last->time_ns))
			last = seen;
	}
	if (last) {
		f->last_tool = strdup(last->tool);
		f->last_ns = last->time_ns;
		rc = f->last_tool ? 0 : -ENOMEM;
	}
	if (holder && rc == 0) {
		*ret_holder = strdup(holder->tool);
		rc = *ret_holder ? 0 : -ENOMEM;
	}
	lake_seen_list_free(list);
	return rc;
}

static int look_at(struct sweep *s, const struct finding_kind *kind, const double *thresholds,
		   const struct lake_host *h, const struct lake_hour *hours, size_t n)
{
	struct windows w = { s, thresholds, { .kind = kind, .host = h, .threshold = thresholds[IDLE] } };
	struct sweep_finding *f = &w.f;
	char total[FINDING_NUMBER], longest[FINDING_NUMBER], *holder;
	bool served;
	int rc;

	find_windows(&w, hours, n);
	if (!f->n)
		return 0;
	rc = look_for(s, f, &holder, &served);
	if (rc || served) {
		free(f->last_tool);
		free(holder);
		return rc;
	}
	f->value = (double)(f->to_ns - f->from_ns) / 1e9;
	f->severity = f->value >= thresholds[CRITICAL] ? FINDING_WARN : FINDING_NOTE;
	f->run = waste_last_run(s, h, f->from_ns);
	f->subject = finding_text("%s", hours[0].item + strlen("gpu/"));
	f->evidence =
		finding_text("%s%s it and no kernel ran for %s%s%s%s%s", holder ? holder : "a process",
			     f->is_open ? " holds" : " held", finding_seconds(f->value, longest),
			     f->n > 1 ? "; in all windows " : "", f->n > 1 ? finding_seconds(f->seconds, total) : "",
			     f->is_open ? ", to the host's last record" : "",
			     f->amount.gpu_s < f->seconds ? "; the worth of the idle host has the GPU already" : "");
	f->advice = finding_text("%s", f->is_open ? "end the process, or let it release the GPU while it waits"
						  : "let the program release the GPU while it waits");
	free(holder);
	return waste_add_take(s, f);
}

static int sweep_gpus(struct sweep *s, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_usage *u = s->in->usage;
	int rc = 0;

	for (size_t i = 0; i < u->n_hosts && rc == 0; i++) {
		const struct lake_hour *hours;
		size_t at = 0, n;

		while (rc == 0 && waste_next_item(s, &u->hosts[i], "gpu/", &at, &hours, &n))
			rc = look_at(s, kind, thresholds, &u->hosts[i], hours, n);
	}
	return rc;
}

const struct finding_kind waste_gpu_held_idle = {
	.id = "gpu-held-idle",
	.title = "a GPU that is held and not used",
	.measures = "the longest time in a row in which a process held the GPU and no kernel ran on it",
	.unit = "s",
	.guards = "gaps in the records; model servers and desktops; MIG instances count as their device",
	.advice = "its release while the process waits",
	.saving = "the GPU in these windows, where no finding of the idle host has it already",
	.source = ANALYSIS_SAMPLED,
	.thresholds = {
		[IDLE] = { "idle", 1800, "s", "gpu-pruner: 30 minutes" },
		[CRITICAL] = { "critical", 7200, "s", "job_defense_shield cancels after 120 minutes; a warning from then on" },
	},
	.sweep = sweep_gpus,
};
