/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/idle.h - decides since when something does nothing: a task, a run, a container, a process's GPU.  Pure:
 * the caller gives sums and the time.
 */
#ifndef SKEP_CORE_IDLE_H
#define SKEP_CORE_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Below these rates something does nothing: a timer that looks whether something has come, and a keep-alive.  The same
 * numbers as the thresholds of analysis/stall.c.
 */
#define IDLE_CORES_PERMILLE 10u
#define IDLE_BYTES_PER_S 1000u

/* The sums of what processes have done so far.  They never shrink. */
struct activity {
	uint64_t cpu_ns;
	uint64_t bytes;  /* of files, pipes, block devices and the network */
	uint64_t others; /* any growth is work: major faults, reclaims, kernels on a GPU */
};

struct idle {
	struct activity seen; /* at the last look */
	uint64_t looked_ns;   /* 0: no look yet */
	uint64_t since_ns;    /* it has done nothing since then; the time between looks too far apart does not count */
};

void activity_add(struct activity *to, const struct activity *);
/*
 * Compares the sums with those of the last look.  The first look only begins.  period_ns: the usual time between two
 * looks; after a gap of more than four of them (a suspended host, a stopped skepd) nothing is known of the gap, so it
 * is no idle time.  Returns how long it has done nothing.
 */
uint64_t idle_look(struct idle *, const struct activity *now, uint64_t period_ns, uint64_t now_ns);
/* Goes on from a state that was saved: it had done nothing for idle_ns.  The time in between does not count. */
void idle_resume(struct idle *, const struct activity *now, uint64_t idle_ns, uint64_t now_ns);

/* A process's use of its GPUs, summed over devices. */
struct gpu_use {
	uint64_t busy_ns;  /* its kernels ran */
	uint64_t held_ns;  /* it had a context */
	uint64_t known_ns; /* the part of held_ns in which skep knows busy_ns */
};
struct gpu_idle {
	struct gpu_use seen;
	uint64_t looked_ns, since_ns;
};
/*
 * The same for a process's GPUs: it is idle while it holds one and no kernel of it runs.  Time in which its use is not
 * known, or in which it holds none, begins the idle time anew.
 */
uint64_t gpu_idle_look(struct gpu_idle *, const struct gpu_use *now, uint64_t period_ns, uint64_t now_ns);
void gpu_idle_resume(struct gpu_idle *, const struct gpu_use *now, uint64_t idle_ns, uint64_t now_ns);

#endif
