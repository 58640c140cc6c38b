/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/sweep.h - findings about waste: hosts, GPUs and containers that are held and idle, and processes that
 * outlive their run.  A pure library: answers of a lake in, findings out; it reads no file and no clock.
 *
 * The caller keeps the input until sweep_free().  Findings borrow their strings from the input, except where a
 * comment says "its own".
 */
#ifndef SKEP_ANALYSIS_SWEEP_H
#define SKEP_ANALYSIS_SWEEP_H

#include "analysis/analysis.h"
#include "analysis/price.h"
#include "lake/claims.h"
#include "lake/usage.h"

/* What an hour of a core, of a GiB of memory and of a GPU is worth, in one unit. */
/* The unit of a worth without prices: a GiB-hour is worth 0.13 of it and a GPU-hour 30, as in OpenCost's defaults. */
#define SWEEP_UNIT "core-h"

struct sweep_amount {
	double core_s, byte_s, gpu_s;
};
double sweep_worth(const struct sweep_amount *);

/* Evidence that is asked for only once a finding needs it. Each returns 0 or -errno. */
struct sweep_asks {
	void *arg;
	int (*last_process)(void *arg, const struct lake_span *run, uint64_t until_ns, struct lake_seen_list **ret);
	int (*gpu_processes)(void *arg, const char *boot_id, uint64_t from_ns, uint64_t to_ns,
			     struct lake_seen_list **ret);
};

struct sweep_input {
	const struct lake_usage *usage;
	const struct lake_pulses *pulses; /* NULL: none were asked for */
	const struct price_table *prices; /* NULL: worth is in SWEEP_UNIT, else in the table's currency */
	const struct lake_claims *claims; /* its machines: prices may be by their instance types; NULL: none is known */
	const struct sweep_asks *asks;    /* NULL: findings lack that evidence */
};

struct sweep_finding {
	const struct finding_kind *kind;
	enum finding_severity severity;
	const struct lake_host *host;
	const struct lake_span *run; /* the host's last, or the starter of the process or container; NULL: unknown */
	char *subject;               /* its own: a container, a GPU, a tool; "": the host itself */
	size_t n;                    /* so many windows */
	double seconds;              /* of all of them */
	uint64_t from_ns, to_ns;     /* the longest one */
	bool is_open; /* it reaches to the host's last record: it is still so, as far as the lake knows */
	struct sweep_amount amount;
	double worth;            /* 0 without a price */
	bool unpriced;           /* prices are given, and none holds for the host */
	double value, threshold; /* in the unit of the kind */
	char *evidence;          /* its own */
	char *advice;            /* its own */
	/* The last useful process before the longest window. Its own; NULL: not known. */
	char *last_tool;
	uint64_t last_ns;
};

/* NULL-terminated, in the order in which `skep sweep --list` prints them. */
extern const struct finding_kind *const sweep_kinds[];
/* As analysis_setting_known(). */
bool sweep_setting_known(const char *name, char ret_near[ANALYSIS_SETTING_NAME]);

struct sweep;

/* Finds everything, the most worth first. settings: thresholds of the user. 0; -ENOMEM; an error of asks. */
int sweep_new(const struct sweep_input *, const struct analysis_setting *settings, size_t n_settings,
	      struct sweep **ret);
struct sweep *sweep_free(struct sweep *);
size_t sweep_findings(const struct sweep *, const struct sweep_finding **ret);

/* What makes an answer partial, of each host and of all. */
struct sweep_doubts {
	size_t hosts_without_hours; /* they have runs, and no records of probe host */
	size_t hours_shared;        /* hours of hosts that share a name: more time is known of them than they have */
	size_t hosts_ahead;         /* their clock is more than five minutes ahead of until_ns */
	size_t hosts_silent;        /* no record for more than an hour before until_ns */
	const char *shared, *ahead, *silent; /* the first one of each */
	double ahead_s;                      /* the largest difference */
};
/* until_ns: the end of the time that was asked for, by the caller's clock. */
void sweep_doubts(const struct lake_usage *, uint64_t until_ns, struct sweep_doubts *ret);

#endif
