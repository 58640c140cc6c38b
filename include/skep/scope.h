/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/scope.h - who is in which attachment of a detail: the tables that BPF code reads
 * (skep/bpf/scope.bpf.h) and what a plugin does with a struct skep_detail_scope.
 *
 * An attachment has a slot, a bit in each table.  The tables change while programs run: each
 * word by itself, and nothing counts for a slot that is not in of_kind.  All of it is for the
 * loop thread.  A plugin's attach() is
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
	__u32 of_byte[256];              /* slots for a process with that verdict; whole host: in all that are collected */
	__u32 of_kind[SKEP_SCOPE_KINDS]; /* slots of that kind: a slot counts once it is in here */
	__u32 of_pid, of_cgroup;         /* slots that are for a process, for a cgroup */
	__u64 value[SKEP_SCOPE_SLOTS];    /* that process (tgid) or cgroup (id) */
	__u64 start_ns[SKEP_SCOPE_SLOTS]; /* of that process; 0: not known, whoever has the pid */
};

#ifndef __bpf__

#include <errno.h>
#include <poll.h>
#include <skep/plugin.h>
#include <skep/rules.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SKEP_SCOPE_ANY (1u << SKEP_SCOPE_HOST | 1u << SKEP_SCOPE_GROUP | 1u << SKEP_SCOPE_CGROUP | 1u << SKEP_SCOPE_PID)

/* One attachment; a plugin has an array of SKEP_SCOPE_SLOTS, zeroed. */
struct skep_attached {
	bool used, over;        /* over: the host has been told of its end */
	unsigned kind;
	struct skep_detail_scope scope;
	int pidfd;              /* SKEP_SCOPE_PID: tells its end; else, and where the call is refused, -1 */
	struct skep_upid who;   /* that process; pid 0: not known, or another scope */
};

/* 0, or -EINVAL for a scope that cannot be (ret_why: NULL or why). */
static inline int skep_scope_check(const struct skep_detail_scope *scope, const char **ret_why)
{
	*ret_why = NULL;
	switch (scope->kind) {
	case SKEP_SCOPE_HOST:
		return 0;
	case SKEP_SCOPE_GROUP:
		if (scope->value >= 1 && scope->value <= SKEP_VERDICT_GROUPS)
			return 0;
		*ret_why = "a group is a number from 1 to 63";
		return -EINVAL;
	case SKEP_SCOPE_CGROUP:
		if (scope->value > 0)
			return 0;
		*ret_why = "a cgroup's id is not 0";
		return -EINVAL;
	case SKEP_SCOPE_PID:
		if (scope->value >= 1 && scope->value <= INT32_MAX)
			return 0;
		*ret_why = "a pid is a positive number";
		return -EINVAL;
	default:
		*ret_why = "the scope is of a kind that this version does not know";
		return -EINVAL;
	}
}

/*
 * Which hierarchy names a process's cgroup, as in its records: v2 where that has the memory
 * controller, else the v1 hierarchy of it.  For scope_cgroup_v1 of scope.bpf.h.
 */
static inline bool skep_scope_cgroup_v1(void)
{
	char line[256];
	bool v1 = false;
	FILE *f = fopen("/proc/cgroups", "re");

	if (!f)
		return false;
	while (fgets(line, sizeof(line), f)) {
		unsigned hierarchy, cgroups, enabled;

		if (sscanf(line, "memory %u %u %u", &hierarchy, &cgroups, &enabled) == 3)
			v1 = enabled && hierarchy != 0;
	}
	fclose(f);
	return v1;
}

/*
 * The process of that scope: a descriptor that tells its end, and its identity where the host
 * knows it. 0, or what host->fail returned.
 */
static inline int skep_scope_process(struct skep_instance *inst, const struct skep_host *host, uint32_t pid,
				     int *ret_pidfd, struct skep_upid *ret_who)
{
	struct skep_upid who = { 0 };
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0); /* since 5.3; close-on-exec */

	/* in brackets: a test framework may have a macro of that name */
	if (fd < 0 && errno == ESRCH)
		return (host->fail)(inst, -ESRCH, "there is no process %u", pid);
	if (fd < 0 && (errno == EINVAL || errno == ENOENT))
		return (host->fail)(inst, -EINVAL, "%u is a thread; give its process (Tgid in /proc/%u/status)", pid, pid);
	/* fd < 0 otherwise (a sandbox refuses the call): the detail goes on until its time is over */
	if (SKEP_HAS(host, process_by_pid) && host->process_by_pid(inst, pid, &who) && who.pid == pid)
		*ret_who = who;
	*ret_pidfd = fd;
	return 0;
}

static inline unsigned skep_attached_n(const struct skep_attached attached[SKEP_SCOPE_SLOTS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < SKEP_SCOPE_SLOTS; i++)
		n += attached[i].used;
	return n;
}

/* Its slot; SKEP_SCOPE_SLOTS: there is none of that id. */
static inline unsigned skep_attached_find(const struct skep_attached attached[SKEP_SCOPE_SLOTS], uint64_t id)
{
	unsigned i = 0;

	while (i < SKEP_SCOPE_SLOTS && (!attached[i].used || attached[i].scope.id != id))
		i++;
	return i;
}

/* Takes a slot for it. 0, or what host->fail returned: the scope cannot be, no slot is left, there is no such process. */
static inline int skep_attached_begin(struct skep_instance *inst, const struct skep_host *host,
				      struct skep_attached attached[SKEP_SCOPE_SLOTS], unsigned kind,
				      const struct skep_detail_scope *scope, unsigned *ret_slot)
{
	struct skep_attached taken = { .used = true, .kind = kind, .scope = *scope, .pidfd = -1 };
	const char *why;
	unsigned slot = 0;
	int err = skep_scope_check(scope, &why);

	if (err)
		return (host->fail)(inst, err, "%s, not %llu", why, (unsigned long long)scope->value);
	while (slot < SKEP_SCOPE_SLOTS && attached[slot].used)
		slot++;
	if (slot == SKEP_SCOPE_SLOTS)
		return (host->fail)(inst, -EBUSY, "%u details are attached already; detach one", SKEP_SCOPE_SLOTS);
	if (scope->kind == SKEP_SCOPE_PID)
		err = skep_scope_process(inst, host, (uint32_t)scope->value, &taken.pidfd, &taken.who);
	if (err)
		return err;
	attached[slot] = taken;
	*ret_slot = slot;
	return 0;
}

/* The slot is free again. One that is not used is fine. */
static inline void skep_attached_end(struct skep_attached *a)
{
	if (a->used && a->pidfd >= 0)
		close(a->pidfd);
	*a = (struct skep_attached){ .pidfd = -1 };
}

/* Has its process ended? Ask before its records are emitted: then all of it is in them. */
static inline bool skep_attached_ended(const struct skep_attached *a)
{
	struct pollfd p = { .fd = a->pidfd, .events = POLLIN };

	return a->used && a->pidfd >= 0 && poll(&p, 1, 0) == 1;
}

/* Its process has ended: tells the host, once. */
static inline void skep_attached_over(struct skep_instance *inst, const struct skep_host *host, struct skep_attached *a)
{
	if (a->over || !SKEP_HAS(host, detail_over))
		return;
	a->over = true;
	host->detail_over(inst, a->scope.id, "the process has ended");
}

/* ---- the tables -------------------------------------------------------------- */

static inline void skep_scopes_put(__u32 *word, __u32 bit)
{
	__atomic_fetch_or(word, bit, __ATOMIC_RELEASE);
}

static inline void skep_scopes_take(__u32 *word, __u32 bit)
{
	__atomic_fetch_and(word, ~bit, __ATOMIC_RELEASE);
}

static inline void skep_scopes_add(struct skep_scopes *s, unsigned slot, const struct skep_attached *a)
{
	__u32 bit = 1u << slot;

	__atomic_store_n(&s->value[slot], a->scope.value, __ATOMIC_RELAXED);
	__atomic_store_n(&s->start_ns[slot], a->who.start_ns, __ATOMIC_RELAXED);
	switch (a->scope.kind) {
	case SKEP_SCOPE_HOST:
		for (unsigned byte = 0; byte < SKEP_VERDICT_EXCLUDED; byte++)
			skep_scopes_put(&s->of_byte[byte], bit);
		break;
	case SKEP_SCOPE_GROUP:
		skep_scopes_put(&s->of_byte[a->scope.value % SKEP_VERDICT_KEEP], bit);
		skep_scopes_put(&s->of_byte[a->scope.value % SKEP_VERDICT_KEEP + SKEP_VERDICT_KEEP], bit);
		break;
	case SKEP_SCOPE_CGROUP:
		skep_scopes_put(&s->of_cgroup, bit);
		break;
	default:
		skep_scopes_put(&s->of_pid, bit);
		break;
	}
	skep_scopes_put(&s->of_kind[a->kind % SKEP_SCOPE_KINDS], bit);
}

/* Nothing is counted for it from then on; the rest of its entry goes as well. */
static inline void skep_scopes_remove(struct skep_scopes *s, unsigned slot)
{
	__u32 bit = 1u << slot;

	for (unsigned kind = 0; kind < SKEP_SCOPE_KINDS; kind++)
		skep_scopes_take(&s->of_kind[kind], bit);
	for (unsigned byte = 0; byte < SKEP_VERDICT_EXCLUDED; byte++)
		skep_scopes_take(&s->of_byte[byte], bit);
	skep_scopes_take(&s->of_pid, bit);
	skep_scopes_take(&s->of_cgroup, bit);
}

#endif
#endif
