/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/cost.h - the cost of runs: splits the price of machines in a time into four parts: used, reserved and
 * unused, idle, and overhead.  The parts add up to the bill, to the billionth.  A pure library: runs, claims and
 * prices in, amounts out.  Any thread.
 *
 * The rules, in docs/reference/cost.md: a task claims its use or its request, whichever is larger; idle is the
 * machine's price less all claims.  A part for which data is missing is in no sum, and a problem names it.
 */
#ifndef SKEP_ANALYSIS_COST_H
#define SKEP_ANALYSIS_COST_H

#include "analysis/price.h"
#include "lake/claims.h"

enum cost_by { COST_PIPELINE, COST_RUN, COST_TASK, COST_TOOL, COST_USER, COST_HOST, COST_LABEL };

struct cost_query {
	enum cost_by by;
	uint64_t since_ns, until_ns; /* of the bill */
	/*
	 * NULL: the bill of all hosts for all of this time. Else the bill of the hosts of these runs while the runs
	 * ran; all other runs share a row. Both: the run's id, the pipeline's name.
	 */
	const char *run, *pipeline;
	uint64_t now_ns; /* the end of runs that have none */
};

/* Why an amount is not in the sums, or what to know of one. */
enum cost_problem_kind {
	COST_NO_PRICE,    /* no price holds for the host: no figure for this time */
	COST_NO_CAPACITY, /* the price needs the host's `resource`, which is not known: no figure for this time */
	COST_NO_RECORDS,  /* `lacking_ns` of the time have no records: the machine was off, or skep did not run */
	COST_NO_GPUS, /* runs claimed GPUs, which have a price, but their number is not known: no figure of them */
	COST_TWO_HOSTS,     /* two machines have this name: no figure */
	COST_TOO_LARGE,     /* an amount is larger than nine billion: no figure */
	COST_NO_ENERGY,     /* energy has a price but was not counted: no figure of energy */
	COST_PART_ENERGY,   /* it was counted, but not in `lacking_ns` of the time */
	COST_NO_SYSTEM,     /* what the host used outside of runs is not known: it is in idle */
	COST_CLAIMS_SCALED, /* runs claimed `ratio` times the `resource` that there is: the claims are scaled down */
};
struct cost_problem {
	enum cost_problem_kind kind;
	const char *host;
	enum price_resource resource;
	uint64_t from_ns, until_ns; /* of the first, and of the last such time of the host */
	uint64_t lacking_ns;        /* in all of them */
	size_t n;
	double ratio;               /* the largest */
};
bool cost_is_gap(enum cost_problem_kind); /* an amount is missing in the bill */

struct cost_row {
	const char *name;  /* of the pipeline, task, tool, host, the labels; the run's id; "": none */
	const char *title; /* of a run: its name; else "" */
	uint64_t uid;      /* COST_USER */
	bool others;       /* the runs that are not the query's */
	uint64_t core_ns;  /* CPU time used */
	int64_t used, reserved; /* nano */
};

struct cost {
	const char *currency;
	struct cost_row *rows; /* the most expensive first; others last */
	size_t n_rows;
	int64_t used, reserved, idle, system, added; /* overhead is system and added */
	int64_t bill;          /* used + reserved + idle + system + added, always */
	bool system_known;     /* of all the time; else system is 0, and it is in idle */
	uint64_t machine_ns;   /* time of machines that the bill is for */
	uint64_t n_hosts;
	int64_t energy;        /* of the machines; beside the bill */
	bool energy_priced;    /* some price is by the kWh */
	uint64_t energy_mj, gpu_energy_mj; /* counted, priced or not */
	size_t n_running;      /* runs without an end */
	/* runs whose use is spread evenly over their time, as a price changed or the asked time ends in it */
	size_t n_spread;
	struct cost_problem *problems;
	size_t n_problems;
};

/*
 * All inputs are borrowed until cost_free().  0; -ENOMEM; -ERANGE: a sum is too large; -EPROTO: the parts do not add up
 * to the bill (a bug: no figure is to be printed).
 */
int cost_new(const struct price_table *, const struct lake_runs *, const struct lake_claims *,
	     const struct cost_query *, struct cost **ret);
struct cost *cost_free(struct cost *);
/*
 * Rounds all amounts to multiples of `unit`, so that rows, sums and bill still add up. 0 or -ENOMEM.
 */
int cost_round(struct cost *, int64_t unit);

#endif
