/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/host/booked.h - the scheduler's own sum of what all tasks have run.
 */
#ifndef SKEP_HOST_BOOKED_H
#define SKEP_HOST_BOOKED_H

#define BOOKED_CPUS 64u /* that one run of the program adds up */

#ifndef __bpf__
#include "sdk/probe/text.h"

struct booked;

/*
 * variable: the kernel has one that a program can read (struct cpu_accounting).  root: the
 * directory below which proc and sys are.  NULL: it cannot be had; *ret_why says why.
 */
struct booked *booked_new(bool variable, int root, struct text_buffer *, const char **ret_why);
struct booked *booked_free(struct booked *);
/* Since the boot, in ns, over all CPUs. 0 or a negative errno. */
int booked_read(struct booked *, uint64_t *ret_ns);
/* How, for people. */
const char *booked_how(const struct booked *);

/* A line of mountinfo: is it the whole hierarchy of version 1's cpuacct? Then where it is. */
bool booked_mount(struct text line, struct text *ret_path);
#endif

#endif
