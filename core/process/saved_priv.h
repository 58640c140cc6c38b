/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/saved_priv.h - the form of the saved state (core/process/saved.h), for its writer and its reader.
 *
 * The state is a sequence of chunks, one for each commit.  A chunk is a sequence of items; the first chunk holds the
 * whole state of one moment, each later chunk the changes since.  An item is its kind and numbers: each number that
 * is not 0 with its place in the item's list + 1, then a 0.  A text is its kind, its full length, its length and its
 * bytes.  Numbers are LEB128.
 *
 * Texts, programs, runs, scopes and tasks are numbered from 1 in the order in which they first appear, so a text that
 * many processes share is there once.  A later item of a run, a scope or a task has the number of the first one
 * (SELF).  Processes have their identity.  Readers skip places that they do not know.
 */
#ifndef SKEP_CORE_SAVED_PRIV_H
#define SKEP_CORE_SAVED_PRIV_H

#include "core/process/containment.h"
#include "core/process/proctab.h"
#include "spool/bytes.h"

#define SAVED_VERSION 2u
#define SAVED_COUNTERS (sizeof(struct skep_counters) / sizeof(uint64_t))

enum saved_kind {
	SAVED_HEAD = 1, /* the first item of a whole state: its version; the host's boot id follows, as a text */
	SAVED_TEXT,
	SAVED_PROGRAM,
	SAVED_RUN,
	SAVED_SCOPE,
	SAVED_TASK,
	SAVED_GONE,     /* the run or the task of this number */
	SAVED_ATTEMPTS, /* of tasks of a run with one text */
	SAVED_PROCESS,
	SAVED_FACET,    /* a column of the process before */
	SAVED_ENDED,    /* the process of this identity has gone */
	SAVED_FINDINGS, /* what earlier items say about findings is void */
	SAVED_FINDING,
	SAVED_IDLE,
	SAVED_KINDS
};

/*
 * An item's numbers: first those below, then the members of the object that saved_fields.c lists.  TEXT, PROGRAM, RUN,
 * SCOPE and TASK: the number of such an item; 0: none.
 */
#define SELF 0 /* of a run, a scope, a task: its number; 0: this item is the first one */
enum { HEAD_VERSION, HEAD_N };
enum { PROGRAM_ARGV /* TEXT */, PROGRAM_FIELDS };
enum { RUN_TEXTS = 1 /* TEXT: see run_texts() */, RUN_ATTEMPTS_KEY, RUN_FIELDS = RUN_ATTEMPTS_KEY + 2 };
enum { SCOPE_OUTER = 1 /* SCOPE */, SCOPE_RUN, SCOPE_PROGRAM, SCOPE_FIELDS };
enum { TASK_RUN = 1, TASK_FIELDS };
enum { GONE_NUMBER, GONE_N };
enum { ATTEMPTS_RUN, ATTEMPTS_TEXT /* its hash */, ATTEMPTS_COUNT, ATTEMPTS_N };
enum { PROCESS_PID, PROCESS_START, PROCESS_RUN, PROCESS_IN_RUN /* even if the state lacks its run */, PROCESS_TASK,
       PROCESS_SCOPE, PROCESS_PROGRAM, PROCESS_FLAGS, PROCESS_FACETS_AFTER, PROCESS_IMAGE_NS, PROCESS_SAMPLED_NS,
       PROCESS_SAMPLED,
       PROCESS_LAST = PROCESS_SAMPLED + SAVED_COUNTERS, PROCESS_FIELDS = PROCESS_LAST + SAVED_COUNTERS };
enum { FACET_COLUMN /* TEXT */, FACET_VALUES, FACET_N = FACET_VALUES + FACET_KEPT };
enum { ENDED_PID, ENDED_START, ENDED_N };
enum { FINDING_ITSELF /* TEXT: its id */, FINDING_FIELDS };
enum idle_of { IDLE_TASK, IDLE_RUN, IDLE_CONTAINER, IDLE_GPU };
enum { IDLE_OF, IDLE_WHICH /* TASK, RUN, TEXT or pid */, IDLE_START /* of the process */, IDLE_NS, IDLE_N };

#define SAVED_NUMBERS 96 /* at least as many as the longest item has */

/* The flags that describe the past.  The next skepd finds the others out again. */
#define SAVED_FLAGS \
	(PROC_EXECED | PROC_EXITED | PROC_FINAL | PROC_PLACED | PROC_CONFIRMED | PROC_ROOT | PROC_OOM | \
	 PROC_RSS_KNOWN | PROC_TASK_NONE | PROC_ENGINE | PROC_RECOGNIZED | PROC_BOUNDARY | PROC_KEEPS)

struct saved;
struct saver;
struct track;

/* Members of an object, each with its place behind an item's own numbers. */
struct saved_fields {
	const struct saved_field *fields;
	size_t n;       /* of fields */
	size_t own;     /* numbers of an item before them */
	size_t numbers; /* of an item in all */
};

extern const struct saved_fields saved_program, saved_run, saved_scope, saved_task, saved_process, saved_finding;

/* A process that waits to be claimed: its item, and the facets behind it. */
struct waiting {
	struct waiting *next;
	struct skep_upid upid;
	uint64_t v[SAVED_NUMBERS];
	struct facet_values *facets;
};

struct saved_found {
	bool idle;
	uint64_t v[SAVED_NUMBERS];
};

struct saved_findings {
	struct saved_found *items;
	size_t n, room;
};

/* What a number stands for. */
struct numbered {
	enum saved_kind kind;
	bool gone;
	union {
		const struct interned *text; /* a reference */
		uint64_t *v; /* its item's numbers */
	};
	/* a reference to a program, a run, a scope; a task: borrowed, as none is freed while processes wait */
	void *made;
	struct attempts *attempts; /* of a run */
};

struct saved {
	struct waiting **buckets;
	/*
	 * All that wait, in large blocks, and the places that are free.  Allocated one by one they would lie between
	 * what lives on, and no page of their 20 MB, with 20,000 processes, could be returned to the system.
	 */
	struct waiting_block *blocks;
	struct waiting *free;
	struct skep_hash_key key;
	size_t n_buckets, n; /* n_buckets: a power of two */
	struct numbered *numbered;
	size_t n_numbered, room_numbered;
	struct waiting *last; /* facets that follow are its */
	struct saved_findings findings;
};

/* saved_fields.c: the object's members to an item's numbers, and back; texts as references, in place of none. */
void saved_take(struct saver *, const struct saved_fields *, const void *object, uint64_t *numbers);
void saved_give(const struct saved *, const struct saved_fields *, const uint64_t *numbers, void *object);
/* saved.c */
void saved_item(struct saver *, enum saved_kind, const uint64_t *numbers, size_t n);
uint64_t saved_number_of_text(struct saver *, const struct interned *); /* writes the text if it is not there yet */
uint64_t saved_number_of_bytes(struct saver *, const void *bytes, size_t len);
uint64_t saved_number_of(const struct saver *, const struct saved_as *); /* of a run or a task; 0: it is not there */
/* saved_finding.c */
void saved_findings_write(struct track *, struct saver *);
void saved_findings_read(struct track *, const struct saved_findings *, uint64_t now_ns);
/* saved_read.c */
struct saved *saved_free(struct track *, struct saved *); /* NULL is fine; returns NULL */
struct waiting *saved_waiting(const struct saved *, const struct skep_upid *); /* borrowed; NULL: it does not wait */
struct waiting *saved_waiting_take(struct saved *, const struct skep_upid *);  /* it waits no longer */
void saved_waiting_free(struct saved *, struct waiting *);
/* What a number stands for, borrowed; NULL: nothing of this kind. */
const struct interned *saved_text_at(const struct saved *, uint64_t number);
void *saved_made_at(const struct saved *, uint64_t number, enum saved_kind);

#endif
