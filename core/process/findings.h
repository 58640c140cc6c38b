/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/findings.h - findings of a running skepd: the list of open findings, and their records.
 * track_finding.c opens and closes findings, saved_finding.c saves them for the next skepd.
 */
#ifndef SKEP_CORE_FINDINGS_H
#define SKEP_CORE_FINDINGS_H

#include "core/base/intern.h"
#include "core/config/config.h"
#include "core/process/idle.h"

struct proc;
struct run;
struct task;
struct track;

enum finding_kind { FINDING_STALL, FINDING_LEFTOVER, FINDING_ORPHAN, FINDING_GPU, FINDING_OOM, FINDING_KINDS };

#define FINDINGS_MOST 1024u   /* open at a time; skepd counts further findings and does not report them */
#define FINDING_ID_SIZE 17
#define FINDING_SUBJECT_SIZE 160 /* of the longest text that identifies a task, a run or a container */

struct finding {
	struct finding *next;
	enum finding_kind kind;
	uint32_t payer; /* who answers for it: skep/record.h, struct skep_context */
	uint64_t key;  /* of its kind and its subject */
	uint64_t look; /* the last look that still found it */
	char id[FINDING_ID_SIZE];
	struct skep_upid upid;
	/* NULL: none */
	const struct interned *run, *pipeline, *task, *task_id, *tool, *container, *cgroup;
	uint64_t started_ns;
	int64_t realtime_offset_ns; /* of its run, 0: none */
	double value, threshold;
};

/* What skepd remembers of a task or a run between two looks. */
struct watch {
	struct idle idle;
	struct activity done; /* of the images whose records have left */
	uint64_t waits_look;  /* the last look that saw a live child outside of it */
	bool hidden;          /* a rule has excluded one of its processes, whose work skepd does not see */
};

/* A container whose run has ended. */
struct container_watch {
	struct container_watch *next;
	const struct interned *id;
	struct idle idle;
	struct activity sum;   /* of this look */
	uint64_t look;
	const struct proc *first; /* of its processes the oldest, in this look */
};

/* Columns of facets that show a process's work. */
enum finding_column {
	COLUMN_RX, COLUMN_TX, COLUMN_LOOPBACK_RX, COLUMN_LOOPBACK_TX, COLUMN_ACCEPTS, COLUMN_RECLAIMS,
	COLUMN_CGROUP_RECLAIMS, COLUMN_GPU_BUSY, COLUMN_GPU_HELD, COLUMN_GPU_KNOWN, FINDING_COLUMNS,
};

struct findings {
	struct config_findings limits;
	struct finding *open;
	size_t n, n_of[FINDING_KINDS];
	size_t reported_of[FINDING_KINDS]; /* in the newest record of the stream "findings" */
	uint64_t reported_ns;
	uint64_t dropped;     /* beyond FINDINGS_MOST, or without memory */
	uint64_t look;        /* number of the last one */
	uint64_t looked_ns;
	uint64_t swept_ns;    /* the sweep whose readings the last look had */
	bool changed;         /* since saved_findings() */
	bool saved;           /* what saved_findings() last gave was not empty */
	struct container_watch *containers;
	uint32_t columns_seen; /* columns that the facets had when `columns` was filled */
	uint32_t columns[FINDING_COLUMNS]; /* UINT32_MAX: no probe has it */
};

/* A finding that begins. */
struct finding_begin {
	enum finding_kind kind;
	const char *subject; /* the task, process or container that it is about; unique within the kind */
	const struct proc *process;
	struct run *run;     /* NULL: none */
	const struct task *task;
	struct skep_str container, cgroup; /* empty: those of the process */
	uint64_t started_ns, time_ns;
	double value, threshold;
	const char *evidence, *advice;
};

const char *finding_kind_name(enum finding_kind); /* "stall" */
int finding_kind_of(const char *name);            /* -1: there is none of that name */
const char *finding_unit(enum finding_kind);

/* What this look has found again; NULL: it is not open. */
struct finding *findings_again(struct findings *, enum finding_kind, const char *subject);
void findings_open(struct track *, const struct finding_begin *);
/* Closes the open findings that the last look did not find again. */
void findings_close_rest(struct track *, uint64_t now_ns);
/* A process or a task has ended: closes its open findings. */
void findings_process_over(struct track *, const struct skep_upid *, uint64_t end_ns);
void findings_task_over(struct track *, const struct task *, uint64_t end_ns);
/* Reports how many are open, if that has changed or a minute has passed. */
void findings_report(struct track *, uint64_t now_ns);
/* Adds a saved one to the list; owns its references, also on failure.  0 or -ENOMEM. */
int findings_restore(struct track *, const struct finding *);
struct findings *findings_free(struct findings *, struct intern *);

#endif
