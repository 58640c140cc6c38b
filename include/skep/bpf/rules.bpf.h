/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/rules.bpf.h - decides the verdict about a process at its exec, kernel side (skep/rules.h explains the
 * method).  Include this header after kernel.bpf.h and verdict.bpf.h.
 *
 * Before the load, user space replaces the maps by the plugin host's maps: bpf_map__reuse_fd() with
 * skep_host.rules_fd, rules_programs_fd and rules_values_fd.  Without this the maps are empty, and there are no rules.
 */
#ifndef SKEP_BPF_RULES_BPF_H
#define SKEP_BPF_RULES_BPF_H

#include <skep/rules.h>

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct skep_rules);
} rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1); /* of the placeholder; the plugin host's map replaces it */
	__type(key, struct skep_rules_program);
	__type(value, struct skep_rules_answer);
} rules_programs SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, struct skep_rules_value);
	__type(value, struct skep_rules_answer);
} rules_values SEC(".maps");

static __always_inline struct skep_rules *rules_now(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&rules, &zero);
}

/* The set with that number, of skep_rules.current; NULL: there are no rules. */
static __always_inline struct skep_rules_set *rules_set_of(struct skep_rules *r, __u32 number)
{
	if (number == 1)
		return &r->set[0];
	if (number == 2)
		return &r->set[1];
	return NULL;
}

/* The set in use; NULL: there are no rules. */
static __always_inline struct skep_rules_set *rules_set(struct skep_rules *r)
{
	return rules_set_of(r, r->current);
}

/* byte: the verdict that a process inherited from its parent. 1: the exec does not change it. */
static __always_inline int rules_settled(struct skep_rules_set *set, __u8 byte)
{
	__u32 slot = byte & 127;

	if (byte < SKEP_VERDICT_KEEP)
		return 0;
	if (byte < SKEP_VERDICT_EXCLUDED || byte == SKEP_VERDICT_NOBODY)
		return 1;
	/* a byte of the previous set is of other slots: its bit is not set here, so the rules are evaluated anew */
	return set->inherited[slot >> 6 & 1] >> (slot & 63) & 1;
}

/* Input and result of a decision, in the memory of a map. The caller fills the members up to uid and gid. */
struct rules_work {
	struct skep_rules_program program; /* len 0: the path is unknown or too long */
	struct skep_rules_value value;
	struct skep_rules_decision decision;
	__u64 cgroup_id, mount_ns, pid_ns;
	__u32 uid, gid;
	__u64 yes, maybe;
	__u32 generation; /* for the caller's use */
	__u32 reserved;
};

static __always_inline void rules_take(struct rules_work *w, struct skep_rules_set *set, __u32 dimension,
				       struct skep_rules_answer *answer)
{
	if (!answer) {
		w->decision.unknown |= 1u << dimension;
		return;
	}
	w->yes &= answer->yes | answer->maybe | ~set->of[dimension];
	w->maybe |= answer->maybe;
	SKEP_FROM_MEMORY();
}

static __always_inline void rules_ask_value(struct rules_work *w, struct skep_rules_set *set, __u32 dimension, __u64 a,
					    __u64 b)
{
	if (!(set->dimensions & 1u << dimension))
		return;
	w->value.dimension = dimension;
	w->value.a = a;
	w->value.b = b;
	rules_take(w, set, dimension, bpf_map_lookup_elem(&rules_values, &w->value));
}

/* Computes w->decision for the process (pid, start_ns). */
static __noinline int rules_judge(struct rules_work *w, struct skep_rules_set *set, __u32 pid, __u64 start_ns)
{
	__u32 generation = set->generation;

	w->program.generation = generation;
	w->value.generation = generation;
	w->decision.unknown = w->decision.ask = w->decision.byte = 0;
	w->decision.clause = SKEP_RULES_CLAUSES;
	w->yes = ~0ull;
	w->maybe = 0;
	if (set->dimensions & 1u << SKEP_RULES_PROGRAM)
		rules_take(w, set, SKEP_RULES_PROGRAM,
			   w->program.len ? bpf_map_lookup_elem(&rules_programs, &w->program) : NULL);
	rules_ask_value(w, set, SKEP_RULES_USER, w->uid, w->gid);
	rules_ask_value(w, set, SKEP_RULES_CGROUP, w->cgroup_id, 0);
	rules_ask_value(w, set, SKEP_RULES_NAMESPACES, w->mount_ns, w->pid_ns);
	/* An unknown dimension may rule out any clause, so only user space can decide. */
	if (w->decision.unknown) {
		w->decision.ask = 1;
		return 0;
	}
	skep_rules_decide(set, w->yes, w->maybe, skep_rules_key(pid, start_ns), &w->decision);
	/* User space has written the set anew meanwhile: the values read may be a mix of both sets. */
	if (*(volatile __u32 *)&set->generation != generation)
		w->decision.ask = 1;
	return 0;
}

#endif
