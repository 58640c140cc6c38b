/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/claims.h - what the runs of a time used and had asked for, and what their machines were in that time: the input
 * of `skep cost`.  lake_runs() with until_ns and alive_ns lists the runs.
 *
 * A row has the run's id and boot id: ids of runs on several hosts may be equal.  Strings are never NULL.
 */
#ifndef SKEP_LAKE_CLAIMS_H
#define SKEP_LAKE_CLAIMS_H

#include "lake/lake.h"

struct lake_claims_query {
	uint64_t since_ns, until_ns; /* runs that lived, and records of machines, in this time */
	/* Sums of machines cover so many ns, by the clock; 0: a row for each record. */
	uint64_t bucket_ns;
	bool labels; /* also the CPU time by labels; reads every process */
};

enum lake_part {
	LAKE_PART_MEMORY, /* KiB x s: sum over samples of the resident memory */
	LAKE_PART_GPU,    /* ns: busy time of GPUs */
	LAKE_PART_TOOL,   /* ns: CPU time of the tool `name` */
	LAKE_PART_LABEL,  /* ns: CPU time of processes with the labels `name`, "a=b c=d"; "": with none */
};

/* A sum over a run's whole life. */
struct lake_claims_part {
	enum lake_part part;
	const char *run, *boot_id, *name;
	uint64_t amount;
};

/* A task as its record has it.  reserved: what it was granted, else what it asked for; 0: neither is known. */
struct lake_claims_task {
	const char *run, *boot_id, *task, *task_id, *job;
	uint64_t start_ns, end_ns, cpu_ns, rss_peak_bytes, inner_runs, reserved_memory_bytes, reserved_gpus;
	double reserved_cpus;
};

enum lake_machine_sum {
	LAKE_MACHINE_CAPACITY,   /* ns of CPUs */
	LAKE_MACHINE_IDLE,       /* ns of CPUs */
	LAKE_MACHINE_ENERGY,     /* mJ that processors and memory used, by RAPL */
	LAKE_MACHINE_GPU_ENERGY, /* mJ of GPUs */
};

/* What one machine reported from start_ns to end_ns. */
struct lake_machine_row {
	const char *host, *boot_id; /* "", "": the lake is of several machines and does not say of which this is */
	enum lake_machine_sum sum;
	uint64_t start_ns, end_ns;
	uint64_t
		interval_ns; /* CAPACITY, IDLE: sum of the records' intervals; more than the time: several collectors */
	uint64_t records;
	int64_t amount;
};

/* Its latest identity before until_ns. */
struct lake_machine {
	const char *host;          /* as above */
	const char *instance_type; /* "" */
	uint64_t cores, memory_bytes; /* 0: not known */
};

struct lake_claims {
	size_t n_parts;
	struct lake_claims_part *parts;     /* by part, run, boot id, name */
	size_t n_tasks;
	struct lake_claims_task *tasks;     /* by run, boot id, start, id */
	size_t n_rows;
	struct lake_machine_row *rows;     /* by host, sum, start */
	size_t n_machines;
	struct lake_machine *machines;     /* by host, which each has once */
};

/* 0, also when some files cannot be read (lake_unread); -errno with the reason. */
int lake_claims(struct lake *, const struct lake_claims_query *, struct lake_claims **ret, char *why, size_t why_size);
struct lake_claims *lake_claims_free(struct lake_claims *);

#endif
