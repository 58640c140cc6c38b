/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/cuda_state.h - the state of the detail "cuda", for cuda.c, cuda_scan.c, cuda_pass.c and cuda_record.c.
 *
 * User space attaches uprobes process by process, in two steps, each on a thread of the instance:
 *
 * - A scan opens and reads the libcuda of wanted processes that are not followed yet. A process's owner can make it
 *   block for ever (cuda_find.c), so a scan shares nothing with other work: the loop leaves a stuck scan and its
 *   process behind, and the next scan reads the other processes.
 * - A pass attaches and removes uprobes. That takes milliseconds and waits for the kernel's grace periods; meanwhile
 *   the pass owns targets[], want[] and scanned.
 *
 * The loop emits counts from the kernel's table for the processes of live[], its copy of the last pass's result. A
 * pass only adds to the kernel's table, and only the loop removes entries.
 */
#ifndef SKEP_GPU_CUDA_STATE_H
#define SKEP_GPU_CUDA_STATE_H

#include "cuda.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/gpu/cuda.skel.h"

#define SCAN_PROCESSES 512u        /* processes of a group whose maps one scan reads */
#define SCAN_FOUND     32u         /* libraries that one scan opens */
#define SCAN_STUCK_NS  10000000000u /* for one process */
#define SCANS_STUCK    2u /* at a time: an instance has four threads, of which a pass and the devices need one each */

enum target_state { TARGET_FREE = 0, TARGET_ON, TARGET_GONE };

struct target {
	enum target_state state;
	uint32_t pid;
	uint32_t members; /* bits of the attachments that follow it */
	uint64_t started; /* its start time, because a pid may repeat */
	bool stepped;     /* at the higher price of single-stepping */
	int n_links;
	struct bpf_link *links[CUDA_LINKS_MAX];
};

struct attachment {
	uint64_t id; /* 0: unused */
	uint32_t kind;
	uint32_t resume; /* of a group: where the next scan continues */
	uint64_t value;
	bool over; /* the end was reported */
	uint64_t window_hits, window_cost_ns, window_ns; /* since the last check of the share */
	struct cuda_stats *base; /* by target: the counts already emitted */
};

/* An attachment as the loop wants it when a scan or a pass begins, and its result. */
struct attachment_want {
	uint64_t id, value; /* id 0: unused */
	uint32_t kind, resume;
	bool failed;
	char why[CUDA_PATH_MAX + 160];
};

/* Belongs to the thread until the scan is done, except for the first members. */
struct scan {
	struct cuda_state *state; /* owned by the loop */
	atomic_uint given_up;     /* the process that blocked this scan, which then reads no other */
	atomic_uint pid;          /* the process whose files the scan reads */
	atomic_ullong since_ns;   /* since when; 0: the scan reads nothing now */
	const char *procfs, *library;
	int verdict_fd;
	uint32_t verdict_pids;
	struct attachment_want want[CUDA_ATTACHMENTS];
	uint32_t n_skip, n_found;
	uint32_t skip[CUDA_PROCESSES + SCANS_STUCK]; /* already followed, or stuck */
	struct cuda_library *found[SCAN_FOUND];
};

/* A target as the last pass left it. */
struct live {
	uint32_t pid; /* 0: unused */
	uint32_t members;
	bool stepped;
	struct skep_upid who; /* set when it is known */
};

struct cuda_state {
	struct skep_instance *inst;
	struct cuda_config config;
	struct cuda_bpf *bpf;
	struct cuda_price price;
	uint64_t last_ns;
	bool busy, again, calibrated;
	uint64_t lost_seen;
	struct attachment attachments[CUDA_ATTACHMENTS];
	struct live live[CUDA_PROCESSES];
	struct target targets[CUDA_PROCESSES];
	struct attachment_want want[CUDA_ATTACHMENTS]; /* the pass's own copy */
	struct scan *scan;    /* under way */
	struct scan *scanned; /* done; the next pass attaches its libraries */
	uint32_t n_stuck, stuck[SCANS_STUCK]; /* processes that block a scan, each with its thread left behind */
	struct skep_counter *full, *held_up;
};

/* cuda.c: begins a scan where one is useful, else a pass. */
void cuda_kick(struct cuda_state *);
/* Removes all uprobes and the programs. */
void cuda_unload(struct cuda_state *);

/* cuda_scan.c. False: no scan began. */
bool cuda_scan_begin(struct cuda_state *);
struct scan *cuda_scan_free(struct scan *);
/* Leaves a scan behind, with its thread, that has read one process for SCAN_STUCK_NS. */
void cuda_scan_watch(struct cuda_state *, uint64_t now_ns);
/* The verdict map has a byte for each pid: the group, and a bit for the rules. NULL: the map cannot be mapped. */
const unsigned char *cuda_verdicts_map(int fd, uint32_t pids);
void cuda_verdicts_unmap(const unsigned char *bytes, uint32_t pids);
bool cuda_in_group(unsigned char byte, uint64_t group);

/* cuda_pass.c */
void cuda_pass_begin(struct cuda_state *);
void cuda_target_off(struct target *);
void cuda_want_all(const struct cuda_state *, struct attachment_want *want);

/* cuda_record.c: the counts of a target since its last record, for one attachment. */
void cuda_emit_one(struct cuda_state *, struct attachment *, int target, uint64_t now_ns);
void cuda_emit_all(struct cuda_state *, uint64_t now_ns);

#endif
