/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/rules.h - how the kernel decides by rules: types that the host and the BPF programs of a life-cycle probe share
 * (skep/bpf/rules.bpf.h).
 *
 * The kernel evaluates no rule.  The host cuts the rules into clauses, conjunctions of
 * conditions; a clause has a bit.  Conditions on one dimension (the program's path, the user ...)
 * are a function of that dimension's value: the host evaluates them, with the code of user space,
 * for the first process with that value, and stores the answer in a map:
 *
 *	value -> { yes: clauses whose conditions on that dimension hold,
 *	           maybe: clauses that it could not decide }
 *
 * At an exec the kernel reads the answers for the process's values and ANDs them.  The lowest bit
 * of the result decides, since clauses are in the order of their rules.  If an answer is missing,
 * or that clause has a condition that the kernel cannot know (arguments, ancestors), it asks user
 * space: the probe reports the process as collected, and user space evaluates the rules.  So the
 * kernel's verdict is user space's own, earlier.
 *
 * The host changes rules by writing the set that is not in use and then `current`.  Answers carry
 * their generation, and a program reads the number once: no process is decided by two sets.
 */
#ifndef SKEP_RULES_H
#define SKEP_RULES_H

#include <linux/types.h>

/*
 * A process's byte in the verdict map.
 *   0            collect
 *   1 to 63      collect; the number of its group, to which a detail may be attached
 *   64 to 127    64 plus such a number: collect the process and all descendants without evaluating rules for them
 *   128 to 254   excluded by a rule; SKEP_RULES_SLOTS values for each parity of the generation
 *   255          excluded with all descendants: the process belongs to no run that is collected
 */
#define SKEP_VERDICT_GROUPS 63u
#define SKEP_VERDICT_KEEP 64u
#define SKEP_VERDICT_EXCLUDED 128u /* from here on */
#define SKEP_VERDICT_NOBODY 255u
#define SKEP_RULES_SLOTS 63u       /* of one set; all further rules share the last */

#define SKEP_RULES_CLAUSES 64u

enum skep_rules_dimension {
	SKEP_RULES_PROGRAM = 0, /* path of the binary, and comm: the name by which it was called */
	SKEP_RULES_USER,       /* uid and gid */
	SKEP_RULES_CGROUP,     /* the cgroup's id, which implies the path and the container */
	SKEP_RULES_NAMESPACES, /* mount and pid */
	SKEP_RULES_DIMENSIONS,
};

struct skep_rules_answer {
	__u64 yes, maybe;
};

/* Key of the map of programs. */
#define SKEP_RULES_PATH 232u
struct skep_rules_program {
	__u32 generation;
	__u32 len;       /* of path */
	char comm[16];   /* zeros behind its NUL */
	char path[SKEP_RULES_PATH]; /* components, the last first, each with its NUL; zeros to the end */
};

/* Key of the map of the other dimensions. */
struct skep_rules_value {
	__u32 generation;
	__u32 dimension;
	__u64 a, b; /* user: uid, gid; cgroup: id, 0; namespaces: mount, pid */
};

/* What happens to the processes of a clause; byte 0: collected. */
struct skep_rules_clause {
	__u32 sample; /* n above 1: collect one process in n; the others get `byte` */
	__u8 byte;    /* for the verdict map; SKEP_VERDICT_KEEP and excluded values unchanged */
	__u8 sampled_byte; /* for the processes of the sample, which are collected */
	__u16 reserved;
};

struct skep_rules_set {
	__u32 generation;
	__u32 dimensions;  /* bits: dimensions with a condition in some clause */
	__u64 clauses;     /* bits in use */
	__u64 ask;         /* clauses that only user space can decide */
	__u64 of[SKEP_RULES_DIMENSIONS]; /* clauses with a condition on that dimension */
	__u64 inherited[2]; /* bits: slots (byte - 128) that descendants inherit without evaluation */
	__u32 otherwise;   /* the byte if no clause holds */
	__u32 reserved;
	struct skep_rules_clause clause[SKEP_RULES_CLAUSES];
	/* execs that the kernel decided by each clause; the last: by the default */
	__u64 hits[SKEP_RULES_CLAUSES + 1];
};

/* The value of the host's array of one element; mapped by the host. */
struct skep_rules {
	__u32 current;   /* index into set, plus 1; 0: no rules */
	__u32 reserved;
	struct skep_rules_set set[2];
	__u64 asked;     /* execs that user space has to decide; set.hits counts execs that the kernel decided */
	__u64 full;      /* lineages that were not stored because the map was full */
	__u64 excluded[128];    /* ended processes that were excluded, by their byte - 128 */
	__u64 excluded_ns[128]; /* their CPU time */
};

/* The decision about a process at its exec. */
struct skep_rules_decision {
	__u32 unknown; /* bits: dimensions without an answer */
	__u32 ask;     /* 1: user space decides */
	__u32 clause;  /* the deciding clause; SKEP_RULES_CLAUSES: none, so the default */
	__u32 byte;
};

/* Decides which processes are in a sample: spread evenly, and equal in kernel and user space. End of splitmix64. */
static inline __u32 skep_rules_key(__u32 pid, __u64 start_ns)
{
	__u64 x = start_ns ^ pid * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (__u32)((x ^ x >> 31) >> 32);
}

static inline int skep_rules_sampled(__u32 key, __u32 n)
{
	return (__u64)key * n >> 32 == 0;
}

/*
 * Number of the lowest bit; 64: none.  BPF has no instruction for it, and a search by halves would show the verifier 64
 * ways through, each of which it follows to the end of the program.  So the bit is multiplied by a de Bruijn sequence,
 * whose upper 6 bits differ for each number.
 */
static inline __u32 skep_rules_lowest(__u64 x)
{
	static const __u8 number[64] = { 0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,
					 62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
					 63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
					 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6 };

	return x ? number[(x & -x) * 0x03f79d71b4cb0a89ull >> 58] : 64;
}

/*
 * Combines the answers. yes: AND over the dimensions of answer.yes | answer.maybe | clauses without a condition
 * there.
 */
static inline void skep_rules_decide(const struct skep_rules_set *set, __u64 yes, __u64 maybe, __u32 key,
				     struct skep_rules_decision *d)
{
	__u32 n = skep_rules_lowest(yes & set->clauses);

	d->clause = n;
	if (n >= SKEP_RULES_CLAUSES) {
		d->byte = set->otherwise;
		return;
	}
	n &= SKEP_RULES_CLAUSES - 1; /* the verifier needs the bound next to the use */
	if ((set->ask | maybe) & 1ull << n) {
		d->ask = 1;
		return;
	}
	d->byte = set->clause[n].byte;
	if (set->clause[n].sample > 1 && skep_rules_sampled(key, set->clause[n].sample))
		d->byte = set->clause[n].sampled_byte;
}

#endif
