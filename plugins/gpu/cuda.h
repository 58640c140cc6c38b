/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda.h - the detail "cuda": finds libcuda in processes, probes it, and makes records of the counts.
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
/* Whether the line of /proc/PID/maps maps a file whose name begins with `library`. */
bool cuda_maps_line(const char *line, const char *library, struct cuda_mapping *ret);
/*
 * Opens the process's libcuda, a regular file. ret: its path through /proc/PID, for messages. -ENOENT: the process maps
 * none; -ESRCH: no such process; -E2BIG: too many mappings.
 */
int cuda_find(const char *procfs, uint32_t pid, const char *library, char *ret, size_t room, int *ret_fd);

struct cuda_symbol {
	const char *name;
	uint64_t offset; /* in the file; 0: the file lacks it */
	unsigned char code[2]; /* its first two bytes */
};
/* Fills in offsets; returns the number of functions found, or -errno. */
int cuda_symbols(int fd, struct cuda_symbol *, size_t n);
int cuda_file_offset(const char *file, uint64_t address, uint64_t *ret);

/* ---- cuda_probes.c: links of one process, the price of a hit ----------------------- */

#define CUDA_FUNCTIONS_MAX 64
#define CUDA_LINKS_MAX (2 * CUDA_FUNCTIONS_MAX)

/* One process's libcuda, opened and parsed. */
struct cuda_library {
	uint32_t pid;
	uint64_t started; /* the process's start in ticks, because a pid may repeat */
	int fd;
	char path[CUDA_PATH_MAX];
	struct cuda_symbol symbols[CUDA_FUNCTIONS_MAX];
};
/* May block for ever: see cuda_find.c. 0, -ENOENT: no libcuda (yet), or another -errno with the reason in why. */
int cuda_library_open(const char *procfs, uint32_t pid, const char *library, struct cuda_library **ret, char *why,
		      size_t why_size);
struct cuda_library *cuda_library_free(struct cuda_library *);
/* Field 22 of /proc/PID/stat; 0: no such process. */
uint64_t cuda_process_started(const char *procfs, uint32_t pid);

/*
 * Attaches to every function that the file has; links: room for CUDA_LINKS_MAX. Returns their number, or -errno (reason
 * in why).
 */
int cuda_probe(struct cuda_bpf *, const struct cuda_library *, struct bpf_link **links, bool *ret_stepped, char *why,
	       size_t why_size);
/* Whether the kernel emulates an instruction with these first bytes; otherwise it single-steps the instruction. */
bool cuda_emulated(const unsigned char code[2]);
/* The cost of a uprobe's hit on this machine, measured on functions of our own. */
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
/* Call it when no work is under way. */
struct cuda_state *cuda_free(struct cuda_state *);
int cuda_attach(struct cuda_state *, const struct skep_detail_scope *);
void cuda_detach(struct cuda_state *, uint64_t id);
/* Emits the counts, and looks for processes that began or ended. */
void cuda_sample(struct cuda_state *, uint64_t now_ns);

/*
 * The counts of now beyond those of before, as a record without detail, cost and the histogram's slots (these go to
 * stall).
 */
void cuda_difference(const struct cuda_stats *now, const struct cuda_stats *before, uint64_t stall[GPU_HIST_SLOTS],
		     struct cuda_record *ret);

#endif
