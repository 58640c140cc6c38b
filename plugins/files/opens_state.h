/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/opens_state.h - the detail "opens" in user space: its state, and what its files offer.
 */
#ifndef SKEP_PROC_OPENS_STATE_H
#define SKEP_PROC_OPENS_STATE_H

#include <skep/drain.h>
#include <skep/filetable.h>
#include <skep/plugin.h>
#include <skep/scope.h>

#include "opens.h"

extern const struct skep_stream proc_opens_stream;
extern const struct skep_detail opens_details[];
#define OPENS_DETAILS 1u

/* Opens of a file by a process, since its record before. */
struct opens_record {
	uint64_t id; /* of the attachment */
	struct skep_str path, error;
	uint64_t opens, writes, created, failed;
	uint64_t first_ns;
};

/* By which hook. */
enum opens_way { OPENS_NONE, OPENS_FEXIT, OPENS_CALLS };

struct opens_kernel {
	enum opens_way way;
	const char *function; /* OPENS_FEXIT: of the kernel */
	const char *missing;  /* OPENS_NONE: why */
};

struct opens {
	struct opens_kernel kernel;
	struct opens_bpf *bpf; /* NULL while nothing is attached */
	struct ring_buffer *ring;
	struct skep_watch *watch;
	struct skep_filetable table;
	struct skep_attached attached[SKEP_SCOPE_SLOTS];
	uint32_t group[SKEP_SCOPE_SLOTS]; /* numbers of the attachments: a slot's earlier rows are not its own */
	uint32_t last_group;
	struct skep_drain rows; /* room for a read of the rows */
	uint64_t lost, unsent, misses; /* as far as told */
	struct skep_counter *c_unsent;
};

struct proc_state;

/* opens.c */
void opens_start(struct skep_instance *, struct proc_state *);
int opens_attach(struct skep_instance *, void *state, unsigned detail, const struct skep_detail_scope *);
void opens_detach(struct skep_instance *, void *state, uint64_t id);
void opens_sample(struct skep_instance *, struct proc_state *);
void opens_close(struct proc_state *);
/* The record of a row: what its value has more than told. false: nothing. */
bool opens_record(const struct skep_file_row *, const struct opens_row *now, struct opens_record *ret, char error[32]);

/* opens_kernel.c: asks the kernel, loads, attaches */
struct btf;
void opens_kernel_ask(struct opens_kernel *, const struct btf *);
void opens_kernel_tell(struct skep_instance *, const struct proc_state *);
int opens_load(struct skep_instance *, struct proc_state *);
void opens_unload(struct proc_state *);
/* Times that the hook was skipped since it was loaded (0 before 5.12, where the kernel does not say). */
uint64_t opens_misses(const struct proc_state *);

#endif
