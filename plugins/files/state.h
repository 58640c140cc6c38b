/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/state.h - user space: the state of the probe and of its details, and what its files offer each other.
 */
#ifndef SKEP_FILES_STATE_H
#define SKEP_FILES_STATE_H

#include <skep/drain.h>
#include <skep/filetable.h>
#include <skep/plugin.h>
#include <skep/scope.h>

#include "filelat.h"
#include "opens.h"
#include "rows.h"

enum { STREAM_OPENS, STREAM_FILELAT, N_STREAMS };
enum { DETAIL_OPENS, DETAIL_FILELAT, N_DETAILS };

extern const struct skep_stream *const files_streams[N_STREAMS];
extern const struct skep_detail files_details[N_DETAILS];
extern const char *const filelat_op_names[FILELAT_OPS];

/* Opens of a file by a process, since its record before. */
struct opens_record {
	uint64_t id; /* of the attachment */
	struct skep_str path, error;
	uint64_t opens, writes, created, failed;
	uint64_t size, first_ns;
};

/* Calls of a process on a file, of one operation, since its record before. */
struct filelat_record {
	uint64_t id; /* of the attachment */
	struct skep_str path, operation;
	uint64_t calls, bytes, errors, sum_ns;
	struct skep_hist duration;
};

/* A record of either, and the memory that it points to. */
struct files_record {
	union {
		uint64_t id;
		struct opens_record opens;
		struct filelat_record filelat;
	};
	char error[32];
	uint64_t slots[SKEP_HIST_SLOTS];
};

struct files_probe;
struct files_count;

/* What differs between the details. */
struct files_kind {
	const char *name;
	size_t row_size;
	/* Loads and attaches the programs, and sets count->kernel. 0, or what host->fail() returned. */
	int (*load)(struct files_probe *);
	void (*unload)(struct files_probe *);
	/* Times that the kernel skipped a program since the load; 0 before 5.12, which does not count them. */
	uint64_t (*misses)(const struct files_probe *);
	void (*signal)(const struct files_probe *); /* reports how the kernel measures it */
	/* A new attachment's first rows; NULL: none. 0 or -errno. */
	int (*begin)(struct files_count *, uint32_t group);
	/* Computes the growth of a row since its last record, without the id. false: none. */
	bool (*record)(const struct skep_file_row *row, const void *now, struct files_record *ret);
};

extern const struct files_kind opens_kind, filelat_kind;

/* A loaded BPF object, as far as both have it. */
struct files_kernel {
	struct bpf_object_skeleton *skeleton; /* NULL while nothing is attached */
	struct files_shared *shared;
	struct skep_scopes *scopes;
	int rows, paths; /* descriptors of the maps */
};

/* A detail: its attachments, and the rows that its kernel side counts for them. */
struct files_count {
	struct files_probe *st;
	const struct files_kind *kind;
	unsigned stream;
	struct files_kernel kernel;
	const char *missing; /* why this kernel cannot have it; NULL: it can */
	int64_t opt_rows;
	struct skep_drain_ring ring;
	struct skep_filetable table;
	struct skep_drain batch; /* room for a read of the rows */
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	uint32_t group[SKEP_SCOPE_SLOTS]; /* numbers of the attachments: rows of a slot's earlier one are not its own */
	uint32_t last_group;
	uint64_t last_id; /* of rows that user space makes */
	struct files_counters reported; /* as far as reported */
	uint64_t misses;                /* as far as reported */
	struct skep_counter *c_delayed, *c_others;
};

/* Which hook sees opens. */
enum opens_way { OPENS_NONE, OPENS_FEXIT, OPENS_CALLS };

struct files_probe {
	const struct skep_host *host;
	struct skep_instance *inst;
	bool opt_opens_all;
	struct files_count of[N_DETAILS];
	struct skep_counter *c_bad;
	enum opens_way opens_way;
	const char *opens_function; /* OPENS_FEXIT: of the kernel */
	struct opens_bpf *opens;    /* NULL while nothing is attached */
	struct filelat_bpf *filelat;
};

/* count.c */
int files_attach(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
void files_detach(struct skep_instance *, void *state, uint64_t id);
/* Emits what the rows have more, and reports attachments whose process has ended. */
void files_count_sample(struct files_count *);
void files_count_close(struct files_count *);

/* opens_kernel.c, filelat_kernel.c */
void opens_kernel_ask(struct files_probe *, const struct skep_kernel_types *);
void filelat_kernel_ask(struct files_probe *, const struct skep_kernel_types *);
int opens_load(struct files_probe *);
int filelat_load(struct files_probe *);
void opens_unload(struct files_probe *);
void filelat_unload(struct files_probe *);
uint64_t opens_misses(const struct files_probe *);
uint64_t filelat_misses(const struct files_probe *);
void opens_signal(const struct files_probe *);
void filelat_signal(const struct files_probe *);

/* Does skep know how this machine passes the arguments of system calls? */
#if defined(__x86_64__) || defined(__aarch64__)
#define FILES_CALLS_KNOWN true
#else
#define FILES_CALLS_KNOWN false
#endif

#endif
