/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/scope.h - finds the attachments of a detail that a process belongs to: the tables that BPF code reads
 * (skep/bpf/scope.bpf.h), and functions by which a plugin handles a struct skep_detail_scope.
 *
 * An attachment has a slot, a bit in each table.  The tables change while programs run, one word at a time; a program
 * counts for a slot only while its bit is in of_kind.  Loop thread; link libskep-probe (pkg-config skep-probe).  A
 * plugin's attach() is
 *
 *	err = skep_attached_begin(inst, host, attached, kind, scope, &slot);
 *	... load and attach BPF programs when it is the first; on failure skep_attached_end(&attached[slot]) ...
 *	skep_scopes_add(&bpf->bss->scopes, slot, &attached[slot]);
 *
 * its detach() skep_attached_find(), skep_scopes_remove(), the last records, skep_attached_end().
 */
#ifndef SKEP_SCOPE_H
#define SKEP_SCOPE_H

#include <linux/types.h>

#define SKEP_SCOPE_SLOTS 16u /* attachments at a time; a bit each */
#define SKEP_SCOPE_KINDS 4u  /* details that one BPF object serves, numbered from 0 as the plugin likes */

struct skep_scopes {
	/* slots for a process with that verdict; a slot for the whole host is in the entry of every collected byte */
	__u32 of_byte[256];
	__u32 of_kind[SKEP_SCOPE_KINDS]; /* slots of each kind; a slot counts from when its bit is set here */
	__u32 of_pid, of_cgroup;         /* slots for a process, for a cgroup */
	__u64 value[SKEP_SCOPE_SLOTS];    /* the slot's process (tgid) or cgroup (id) */
	__u64 start_ns[SKEP_SCOPE_SLOTS]; /* start of the slot's process; 0: unknown, any process with the pid */
};

#ifndef __bpf__

#include <skep/plugin.h>
#include <skep/rules.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_SCOPE_ANY (1u << SKEP_SCOPE_HOST | 1u << SKEP_SCOPE_GROUP | 1u << SKEP_SCOPE_CGROUP | 1u << SKEP_SCOPE_PID)

/* One attachment; a plugin has an array of SKEP_SCOPE_SLOTS, zeroed. */
struct skep_attached {
	bool used, over;        /* over: detail_over() was called */
	unsigned kind;
	struct skep_detail_scope scope;
	int pidfd;              /* SKEP_SCOPE_PID: readable when the process has ended; else, or if refused, -1 */
	struct skep_upid who;   /* SKEP_SCOPE_PID: the process; pid 0: not known, or another scope */
};

/* 0, or -EINVAL for an impossible scope (ret_why: NULL, or a static reason). */
int skep_scope_check(const struct skep_detail_scope *scope, const char **ret_why);

/*
 * Do the records of processes name the cgroup of v1?  Yes if v1 has the memory controller.  For scope_cgroup_v1 of
 * scope.bpf.h.
 */
bool skep_scope_cgroup_v1(void);

unsigned skep_attached_n(const struct skep_attached attached[SKEP_SCOPE_SLOTS]); /* how many are in use */

/* The slot of the attachment with that id, or SKEP_SCOPE_SLOTS. */
unsigned skep_attached_find(const struct skep_attached attached[SKEP_SCOPE_SLOTS], uint64_t id);

/* Finds a slot for the scope.  0, or the result of host->fail(): a wrong scope, no free slot, no such process. */
int skep_attached_begin(struct skep_instance *inst, const struct skep_host *host,
			struct skep_attached attached[SKEP_SCOPE_SLOTS], unsigned kind,
			const struct skep_detail_scope *scope, unsigned *ret_slot);

/* Frees the slot; no effect on a free slot. */
void skep_attached_end(struct skep_attached *a);

/* Has the attachment's process ended?  Call this before you emit its last records, so that they are complete. */
bool skep_attached_ended(const struct skep_attached *a);

/* Reports once to the host that the attachment's process has ended. */
void skep_attached_over(struct skep_instance *inst, const struct skep_host *host, struct skep_attached *a);

/* ---- the tables -------------------------------------------------------------- */

/* Makes programs count for that attachment. */
void skep_scopes_add(struct skep_scopes *s, unsigned slot, const struct skep_attached *a);

/* Stops the counting and clears the slot's bits. */
void skep_scopes_remove(struct skep_scopes *s, unsigned slot);

#ifdef __cplusplus
}
#endif
#endif
#endif
