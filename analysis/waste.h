/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/waste.h - what the files of sweep's findings share. Internal to analysis/.
 */
#ifndef SKEP_ANALYSIS_WASTE_H
#define SKEP_ANALYSIS_WASTE_H

#include "analysis/finding.h"
#include "analysis/sweep.h"

struct waste_window {
	uint64_t from_ns, to_ns;
	size_t before; /* 1 + the index of the host's window before; 0: none */
};

struct sweep {
	const struct sweep_input *in;
	struct sweep_finding *findings;
	size_t n_findings, room;
	/*
	 * Of hosts that idle-host or idle-after-run reports, with all that they have.  idle-after-run leaves those of
	 * idle-host out; gpu-held-idle counts no GPU in them.
	 */
	struct waste_window *idle;
	size_t n_idle, idle_room;
	size_t *idle_of; /* by host: 1 + the index of its newest window; 0: none */
};

int waste_add_idle(struct sweep *, const struct lake_host *, uint64_t from_ns, uint64_t to_ns); /* 0 or -ENOMEM */
/* The host's window before `w`; w NULL: its newest one. NULL: no more. */
const struct waste_window *waste_idle_before(const struct sweep *, const struct lake_host *,
						     const struct waste_window *w);
/* Adds a copy and owns its texts, on failure too. 0 or -ENOMEM, also if one of the texts is NULL. */
int waste_add_take(struct sweep *, const struct sweep_finding *);

/* The hours of one item of the host: "" or one that begins with `kind`; *at: where to begin, 0 first. false: no more. */
bool waste_next_item(const struct sweep *, const struct lake_host *, const char *kind, size_t *at,
		     const struct lake_hour **ret, size_t *ret_n);
/* The second one continues the first without a gap, and both are whole enough to say something. */
bool waste_is_next(const struct lake_hour *, const struct lake_hour *next);
/* Records cover the hour, and not twice: two machines of one name would. */
bool waste_is_known(const struct lake_hour *);
/* The CPU time of an hour in cores, without the system's own programs; with_runs: including the CPU time of runs. */
double waste_cores(const struct lake_hour *, bool with_runs);
/* The host's GPUs in that time, of an hour its part: how long they were busy, and how long they are known. */
void waste_gpus(const struct sweep *, const struct lake_host *, uint64_t from_ns, uint64_t to_ns, double *ret_busy_s,
		double *ret_known_s);
/* A user's work: not a job that the system starts by the clock. */
bool waste_is_useful(const struct lake_span *);
/* The useful run of the host that ended last at that time or before; NULL: none. */
const struct lake_span *waste_last_run(const struct sweep *, const struct lake_host *, uint64_t ns);
/* The host's last record, and whether a window up to `ns` reaches it. */
bool waste_is_open(const struct lake_host *, uint64_t ns);
/* The tool is one of the words. */
bool waste_is_one_of(const char *tool, const char *const *words);

extern const struct finding_kind waste_idle_host, waste_idle_after_run, waste_orphan_container, waste_leftover_process,
	waste_gpu_held_idle, waste_stuck;

#endif
