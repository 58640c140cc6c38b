/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/top/model.h - what `skep top` shows: processes, live and ended, their sums by run, task, tool, container or user,
 * sorted and filtered.  Pure: no terminal, no socket, no clock.  A source (source.h) fills the model; the screen and
 * the printed tables read rows of it.
 */
#ifndef SKEP_CLI_TOP_MODEL_H
#define SKEP_CLI_TOP_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum top_group { TOP_RUN, TOP_TASK, TOP_TOOL, TOP_CONTAINER, TOP_USER, TOP_PROCESS, TOP_GROUPS };

enum top_column {
	TOP_NAME,
	TOP_CORES,
	TOP_CPU,
	TOP_QUEUED,
	TOP_BLOCKED,
	TOP_RSS,
	TOP_READ,
	TOP_WRITTEN,
	TOP_NET,
	TOP_ALIVE,
	TOP_ENDED,
	TOP_FAILED,
	TOP_STATE,
	TOP_COLUMNS
};

/* An image of a process. */
struct top_key {
	uint64_t start_boot_ns;
	uint32_t pid, image;
};

/* Since the image began. */
struct top_figures {
	uint64_t cpu_ns, run_delay_ns, block_delay_ns;
	uint64_t rss_bytes;      /* now; 0: ended */
	uint64_t rss_peak_bytes; /* of a group: of its largest process */
	uint64_t read_bytes, write_bytes, net_bytes;
	bool block_known, net_known; /* a probe counts it */
};

/* Strings are never NULL in an item; NULL in a call is "". */
struct top_names {
	const char *run, *pipeline, *task, *tool, *container, *user;
	const char *comm, *exe, *filename, *cwd, *cgroup; /* "": not known */
	const char *argv; /* "a\0b\0" */
	size_t argv_len;
	uint64_t start_ns; /* of the image, boot time */
	uint64_t parent_start_boot_ns;
	uint32_t ppid, uid, gid, session;
	bool wrapper, cut; /* cut: the arguments are longer */
};

struct top_process {
	struct top_key key;
	struct top_figures figures;
	const struct top_names *names; /* NULL: as before */
	char state;                    /* 'R' 'D' 'S' 'Z', '+': alive; of an ended image not used */
	uint64_t count;                /* live: it stands for so many processes; 0: one */
	bool last;                     /* ended: the process has ended, not only this image */
	bool failed;                   /* ended: by a signal, or with another exit code than 0 */
	int exit_code, signal;         /* ended; exit_code -1: none */
};

struct top_run {
	const char *id, *name, *engine;
	uint64_t start_ns;
	bool ended;
};

/* A process, or ended ones of the same names that the model has merged. */
struct top_item {
	struct top_key key; /* pid 0: merged */
	struct top_figures figures;
	const struct top_names *names;
	uint64_t hashes[TOP_GROUPS]; /* of its group of each kind */
	uint64_t recent_ns;          /* CPU time in the last interval */
	uint64_t alive, ended, failed;
	int exit_code, signal;
	char state;
	bool accepted; /* by the filter */
	/* the model's own */
	uint64_t passed_ns; /* CPU time at the last pass */
	struct top_item *chain, *older, *newer;
	size_t slot;
};

struct top_model;

struct top_model *top_model_new(void); /* NULL: no memory */
struct top_model *top_model_free(struct top_model *);
void top_model_clear(struct top_model *); /* forgets all processes; the filter stays */

/*
 * What a source reports.  All copy; 0 or -ENOMEM.
 * live: a live process as it is now.  ended: an image with its final figures.  earlier: one that ended before the
 * source began; nothing if the model has it.  gone: a live process leaves without final figures.
 */
int top_model_live(struct top_model *, const struct top_process *);
int top_model_ended(struct top_model *, const struct top_process *);
int top_model_earlier(struct top_model *, const struct top_process *);
void top_model_gone(struct top_model *, uint32_t pid, uint64_t start_boot_ns);
int top_model_run(struct top_model *, const struct top_run *);
/*
 * All live processes are as of that time (boot time): computes the CPU time of the interval since the last pass.  When
 * the model has tens of thousands of runs, it merges the older half of the ended runs into "(ended earlier)".
 */
void top_model_pass(struct top_model *, uint64_t sampled_ns);
/* The cores of a live process in a time that the source knows itself, for a moment of the lake. */
void top_model_interval(struct top_model *, uint64_t interval_ns);
uint64_t top_model_interval_ns(const struct top_model *); /* 0: not known yet */
void top_model_recent(struct top_model *, const struct top_key *, uint64_t cpu_ns);
/*
 * Merges the oldest ended processes of the same names when the model has more than that; 0: merges none.  A source sets
 * it when it has reported the earlier ones.
 */
void top_model_bound(struct top_model *, size_t ended_most);

/* Which processes count; NULL: all. */
typedef bool (*top_accept)(void *arg, const struct top_item *);
void top_model_filter(struct top_model *, top_accept, void *arg);
/* For a filter on ancestors: the newest image of that process, or NULL. */
const struct top_item *top_model_find(const struct top_model *, uint32_t pid, uint64_t start_boot_ns);
const struct top_run *top_model_run_of(const struct top_model *, const char *id); /* NULL: not known */

/* ---- rows ---------------------------------------------------------------------------------- */

#define TOP_DEPTH 5 /* levels of drill-down */

struct top_place {
	enum top_group group;
	uint64_t hash;
	char label[96];
};

struct top_view {
	enum top_group group;
	enum top_column sort;
	bool ascending;
	struct top_place path[TOP_DEPTH]; /* the rows into which the user has gone, outermost first */
	size_t n_path;
	uint64_t *unfolded; /* ids of rows; owned, see top_view_fold */
	size_t n_unfolded;
};

struct top_row {
	uint64_t id, hash; /* hash: of its processes for this kind of group; id: with those of the rows around it */
	enum top_group group;
	unsigned depth;              /* 1 and more: within an unfolded row */
	const struct top_item *item; /* one of its processes, for its label; until the model's next change */
	struct top_figures figures;
	double cores;
	uint64_t alive, ended, failed;
	char state; /* of its live processes the most urgent: R D S + Z; '-': all have ended */
	bool unfolded;
};

struct top_rows {
	struct top_row *rows;
	size_t n, room;
	struct top_row totals; /* of what the view shows; its item is NULL */
};

/* Rows of the view, sorted; pointers into the model live until its next change.  0 or -ENOMEM. */
int top_rows_build(struct top_rows *, const struct top_model *, const struct top_view *);
void top_rows_free(struct top_rows *);

/* The group that Enter and unfolding show below it; TOP_GROUPS: none. */
enum top_group top_group_below(enum top_group);
const char *top_group_name(enum top_group);            /* "run" */
int top_group_named(const char *name, enum top_group *ret); /* 0 or -ENOENT; also top_column_named */
const char *top_column_name(enum top_column);          /* "cpu", as in --sort */
int top_column_named(const char *name, enum top_column *ret);

/*
 * Goes into the row, and into those around it if it is within an unfolded one.  The model may have changed since the
 * rows were built.  false: the row has nothing below, or its processes have left the model.
 */
bool top_view_enter(struct top_view *, const struct top_model *, const struct top_rows *, size_t at);
bool top_view_leave(struct top_view *);                                            /* false: at the top */
/* Unfolds a folded row, folds an unfolded one.  0 or -ENOMEM. */
int top_view_fold(struct top_view *, const struct top_row *);
void top_view_free(struct top_view *);

/* Text of a row's name, not safe for a terminal: "nightly" "(no task)" "4711 cc1 -O2"; the caller frees it. */
char *top_row_label(const struct top_model *, const struct top_row *);

#endif
