/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/filelat_state.h - the detail "filelat" in user space: its state, and what its files offer.
 */
#ifndef SKEP_IO_FILELAT_STATE_H
#define SKEP_IO_FILELAT_STATE_H

#include <skep/drain.h>
#include <skep/filetable.h>
#include <skep/plugin.h>
#include <skep/scope.h>

#include "filelat.h"
#include "levels.h"

extern const struct skep_stream io_filelat_stream;
extern const char *const filelat_op_names[FILELAT_OPS];

/* Calls of a process on a file, of one operation, since its record before. */
struct filelat_record {
	uint64_t id; /* of the attachment */
	struct skep_str path, operation;
	uint64_t calls, bytes, errors, sum_ns;
	struct skep_hist duration;
};

struct filelat {
	const char *missing; /* why it cannot be had here; NULL: it can */
	struct filelat_bpf *bpf; /* NULL while nothing is attached */
	struct ring_buffer *ring;
	struct skep_watch *watch;
	struct skep_filetable table;
	struct skep_drain batch; /* room for a read of the rows */
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	uint32_t group[SKEP_SCOPE_SLOTS]; /* numbers of the attachments: a slot's earlier rows are not its own */
	uint32_t last_group;
	uint64_t last_id; /* of rows that are made here */
	uint64_t lost, unsent, others, misses; /* as far as told */
	struct skep_counter *c_unsent, *c_others;
};

struct io_probe;

/* filelat.c */
void filelat_start(struct skep_instance *, struct io_probe *);
int filelat_attach(struct skep_instance *, struct io_probe *, const struct skep_detail_scope *);
bool filelat_detach(struct skep_instance *, struct io_probe *, uint64_t id); /* false: it has no such attachment */
void filelat_sample(struct skep_instance *, struct io_probe *);
void filelat_close(struct io_probe *);
/* The record of a row: what its value has more than told; the distribution lies in delta. false: nothing. */
bool filelat_record(const struct skep_file_row *, const struct filelat_row *now, struct filelat_record *ret,
		    uint64_t delta[SKEP_HIST_SLOTS]);

/* filelat_kernel.c: asks the kernel, loads, attaches */
struct btf;
void filelat_kernel_ask(struct filelat *, const struct btf *);
void filelat_kernel_tell(struct skep_instance *, const struct io_probe *);
int filelat_load(struct skep_instance *, struct io_probe *);
void filelat_unload(struct io_probe *);
/* Times that a hook was skipped since it was loaded (0 before 5.12, where the kernel does not say). */
uint64_t filelat_misses(const struct io_probe *);

#endif
