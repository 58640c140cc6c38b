/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda.h - the detail "cuda": whose libcuda is probed, and what is made of it.
 */
#ifndef SKEP_GPU_CUDA_H
#define SKEP_GPU_CUDA_H

#include <skep/plugin.h>

#include "gpu.h"
#include "records.h"

#define CUDA_ATTACHMENTS 16
#define CUDA_PATH_MAX 1024

struct bpf_link;
struct cuda_bpf;

/* ---- cuda_find.c ------------------------------------------------------------------ */

struct cuda_mapping {
	uint64_t from, to, inode;
	bool deleted;
	char path[CUDA_PATH_MAX];
};
/* A line of /proc/PID/maps that maps a file whose name begins with library. */
bool cuda_maps_line(const char *line, const char *library, struct cuda_mapping *ret);
/*
 * Opens the process's libcuda, a regular file.  ret: its path as seen from here, for messages.
 * -ENOENT: it has none mapped; -ESRCH: no such process; -E2BIG: too many mappings.
 */
int cuda_find(const char *procfs, uint32_t pid, const char *library, char *ret, size_t room, int *ret_fd);

struct cuda_symbol {
	const char *name;
	uint64_t offset; /* in the file; 0: not there */
	unsigned char code[2]; /* it begins with */
};
/* Fills in offsets; returns how many are there, or -errno. */
int cuda_symbols(int fd, struct cuda_symbol *, size_t n);
int cuda_file_offset(const char *file, uint64_t address, uint64_t *ret);

/* ---- cuda_probes.c: links of one process, the price of a hit ----------------------- */

#define CUDA_FUNCTIONS_MAX 64
#define CUDA_LINKS_MAX (2 * CUDA_FUNCTIONS_MAX)

/* One process's libcuda: open, and read. */
struct cuda_library {
	uint32_t pid;
	uint64_t started; /* the process, in ticks: against a pid that comes again */
	int fd;
	char path[CUDA_PATH_MAX];
	struct cuda_symbol symbols[CUDA_FUNCTIONS_MAX];
};
/* May wait for ever: cuda_find.c. 0, -ENOENT: no libcuda (yet), or another -errno; why says it. */
int cuda_library_open(const char *procfs, uint32_t pid, const char *library, struct cuda_library **ret, char *why,
		      size_t why_size);
struct cuda_library *cuda_library_free(struct cuda_library *);
/* Field 22 of /proc/PID/stat; 0: no such process. */
uint64_t cuda_process_started(const char *procfs, uint32_t pid);

/* Attaches to all functions that the file has; links: room for CUDA_LINKS_MAX. How many, or -errno (why says it). */
int cuda_probe(struct cuda_bpf *, const struct cuda_library *, struct bpf_link **links, bool *ret_stepped, char *why,
	       size_t why_size);
/* Does the kernel emulate an instruction that begins so, or step through it? stepped: some function needs that. */
bool cuda_emulated(const unsigned char code[2]);
/* What a hit of a uprobe costs here, measured on functions of our own. */
struct cuda_price {
	uint64_t emulated_ns, stepped_ns;
};
int cuda_calibrate(struct cuda_bpf *, struct cuda_price *ret);

/* ---- cuda.c -------------------------------------------------------------------------- */

struct cuda_state;

struct cuda_config {
	const struct skep_host *host;
	const char *procfs, *library;
	double max_share; /* of a core; 0: no limit */
};

struct cuda_state *cuda_new(struct skep_instance *, const struct cuda_config *);
/* No work may be under way. */
struct cuda_state *cuda_free(struct cuda_state *);
int cuda_attach(struct cuda_state *, const struct skep_detail_scope *);
void cuda_detach(struct cuda_state *, uint64_t id);
/* Emits what has been counted, and looks for processes that have come or gone. */
void cuda_sample(struct cuda_state *, uint64_t now_ns);

/* What now has beyond before, as a record but its detail, cost and histogram's slots (which go to stall). */
void cuda_difference(const struct cuda_stats *now, const struct cuda_stats *before, uint64_t stall[GPU_HIST_SLOTS],
		     struct cuda_record *ret);

#endif
