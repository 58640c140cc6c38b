/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/price.h - what machines cost: a table of prices, and the value of machine time, of cores, memory and GPUs.
 * A pure library: the caller fills the table (cli/cost/price_file.c reads it from a file). Any thread.
 *
 * Money is a whole number of billionths of the currency (nano), so that sums are exact. Prices are per hour. Core time
 * and GPU time are in ns, memory is in KiB x s.
 */
#ifndef SKEP_ANALYSIS_PRICE_H
#define SKEP_ANALYSIS_PRICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRICE_NANO   INT64_C(1000000000)    /* one unit of the currency */
#define PRICE_MOST   (1000000 * PRICE_NANO) /* the highest price of an hour */
#define PRICE_ALWAYS INT64_MAX

enum price_resource { PRICE_CPU, PRICE_MEMORY, PRICE_GPU, PRICE_RESOURCES };

/* What a machine has. 0: not known. */
struct price_capacity {
	uint64_t cores, memory_kib, gpus;
};

/* A machine as the records show it. */
struct price_machine {
	const char *host;
	const char *instance_type; /* of a cloud; "": none is known */
	struct price_capacity has;
};

struct price {
	const char *name; /* for messages and reports */
	/* Which machines: all that hold. NULL: any. */
	const char *host, *instance_type;  /* patterns, filters/glob.h */
	const char *const *labels;         /* "name=value", NULL-terminated, in byte order */
	int64_t from_ns, until_ns;         /* since 1970, until_ns excluded; 0, PRICE_ALWAYS: no bound */
	bool by_machine;                   /* hour[PRICE_CPU] is the price of the whole machine */
	int64_t hour[PRICE_RESOURCES];     /* of a core, a GiB, a GPU */
	unsigned split[PRICE_RESOURCES];   /* by_machine: percent of the machine's price, 100 in all */
	struct price_capacity has;         /* comes before what the records show; 0: not given */
	uint32_t overhead_ppm;             /* added to the price of the machine, in millionths of it */
	bool has_energy;                   /* energy is paid by the kWh, and is not in the other prices */
	int64_t kwh;
};

/* What a user says about machines; the records lack it. */
struct price_host {
	const char *host; /* pattern */
	const char *instance_type; /* NULL: not given */
	const char *const *labels; /* "name=value", NULL-terminated */
};

struct price_table;

struct price_table *price_table_new(const char *currency); /* NULL: no memory */
struct price_table *price_table_free(struct price_table *);
const char *price_currency(const struct price_table *);
/* The table keeps copies. The first price whose machines match decides, so the order counts. 0 or -ENOMEM. */
int price_table_add(struct price_table *, const struct price *);
int price_table_add_host(struct price_table *, const struct price_host *);

enum price_problem {
	PRICE_OVERLAP, /* two prices of the same machines hold at one time */
	PRICE_GAP,     /* between two prices of the same machines no price holds */
	PRICE_EMPTY,   /* it ends before it begins; other == at */
	PRICE_HIDDEN,  /* an earlier price matches every machine: this one never holds */
};
/*
 * Calls fn for each problem, with the numbers of both prices in the order of price_table_add(): `other` is the earlier
 * price, by time or, for PRICE_HIDDEN, by its place in the table. 0 or -ENOMEM.
 */
typedef void price_problem_fn(void *arg, enum price_problem, size_t at, size_t other);
int price_table_check(const struct price_table *, price_problem_fn *, void *arg);

/* The price of the machine at that time, borrowed from the table. NULL: none. */
const struct price *price_find(const struct price_table *, const struct price_machine *, int64_t at_ns);
/* The first time after from_ns at which another price may hold for the machine; PRICE_ALWAYS: never. */
int64_t price_next_change(const struct price_table *, const struct price_machine *, int64_t from_ns);
/* The machine's capacity with what the price says of it. */
struct price_capacity price_capacity(const struct price *, const struct price_machine *);

/* The functions below: 0; -ENODATA: the price needs a capacity that is not known; -ERANGE: larger than an int64_t. */

/*
 * The price of the machine for so long, without overhead and energy, and its parts for cores, memory and GPUs, which
 * add up to it.
 */
int price_of_machine(const struct price *, const struct price_capacity *, uint64_t ns,
		     int64_t ret_parts[PRICE_RESOURCES], int64_t *ret);
/* The value of core_ns, KiB x s of memory or gpu_ns, rounded down: a part of price_of_machine(). */
int price_of_use(const struct price *, const struct price_capacity *, enum price_resource, uint64_t amount,
		 int64_t *ret);
/* The same of all resources, in the units above; an amount of 0 or less counts nothing. 0, -ENODATA or -ERANGE. */
int price_of_uses(const struct price *, const struct price_capacity *, const double amounts[PRICE_RESOURCES],
		  int64_t *ret);
/* What the price adds to an amount for overhead, rounded down. */
int64_t price_overhead(const struct price *, int64_t nano);
/* The price of energy in millijoules, rounded down. */
int price_of_energy(const struct price *, uint64_t millijoules, int64_t *ret);

/* value x part / whole, rounded down, without overflow in between. 0 <= part <= whole, whole > 0. */
int64_t price_share(int64_t value, uint64_t part, uint64_t whole);
/*
 * Rounds amounts to multiples of `unit` so that they add up to the rounded sum, which it returns: rounds all down, and
 * those with the largest remainders up. Equal remainders: the first one. -ENOMEM: nothing is changed. values >= 0.
 */
int price_round(int64_t *values, size_t n, int64_t unit, int64_t *ret_sum);

#endif
