/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/environ.h - the table of variable names by which both sides search an environment, and the key by which
 * both know a program.
 *
 * A name is found by a hash of its first 8 bytes up to the '=': nearly every variable of an environment fails the
 * filter of one bit a hash, and costs no comparison. Names that begin alike (SLURM_JOB_ID, SLURM_JOB_NAME) form a
 * chain.
 */
#ifndef SKEP_PROC_ENVIRON_H
#define SKEP_PROC_ENVIRON_H

#include <linux/types.h>

#define PROC_ENVIRON_NAMES 8u   /* variables that the option environ may name */
#define PROC_BOUNDARY_NAMES 64u /* variables that the host may name for boundaries */
#define PROC_ENVIRON_ALL (PROC_ENVIRON_NAMES + PROC_BOUNDARY_NAMES)
#define PROC_ENVIRON_WORDS 4u   /* a name and its '=' in words of 8 bytes */
#define PROC_ENVIRON_HASHES 2048u
#define PROC_ENVIRON_CHAINS 64u
#define PROC_PROGRAMS 256u        /* programs that the host may name */
#define PROC_PROGRAM_HASHES 448u
#define PROC_PROGRAM_IMAGES 65536u /* a power of two, of which pid_max has 64 at most */

/* "NAME=" of a variable, as words, and a mask of the bits that belong to it. */
struct proc_environ_name {
	__u64 words[PROC_ENVIRON_WORDS], masks[PROC_ENVIRON_WORDS];
	__u64 next; /* of the chain: index + 1; 0: none */
};

struct proc_environ_table {
	__u64 filter[PROC_ENVIRON_HASHES / 64];
	__u8 first[PROC_ENVIRON_CHAINS]; /* of each chain: index + 1; 0: none */
	struct proc_environ_name names[PROC_ENVIRON_ALL];
};

/*
 * Tables, as elements of the map `environ_tables`: two pairs, of which the programs use one while user space writes the
 * other. Of a pair the first is for every exec and the second for boundaries.
 */
#define PROC_ENVIRON_TABLES 4u
#define PROC_BOUNDARY_PAIR 2u   /* the programs use the second pair */
#define PROC_BOUNDARY_PLAIN 4u  /* the pair's first table has names */
#define PROC_BOUNDARY_ALL 8u    /* its second table has names */

/*
 * User space writes it, the programs read it at each exec: one cache line, as exec has emptied the caches (a line more
 * costs some 80 ns). `now` is one word, so that a program sees all of a change or nothing.
 */
struct proc_boundaries {
	__u64 programs[PROC_PROGRAM_HASHES / 64]; /* a bit for each hash of a key in the map `boundary_parents` */
	__u32 now;                                /* PROC_BOUNDARY_* */
	__u32 reserved;
} __attribute__((aligned(64)));

/* Key of the map `boundary_parents`: a comm, zeros behind its NUL. */
struct proc_program {
	__u64 words[2];
};

#define PROC_BYTES_LOW 0x0101010101010101ull
#define PROC_BYTES_HIGH 0x8080808080808080ull
#define PROC_MULTIPLIER 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: Knuth's multiplicative hash */

/* The word up to the first byte c, which it keeps; bytes behind it become zeros. */
static inline __attribute__((always_inline)) __u64 proc_word_to(__u64 word, __u8 c)
{
	__u64 differs = word ^ c * PROC_BYTES_LOW, found = (differs - PROC_BYTES_LOW) & ~differs & PROC_BYTES_HIGH;

	/* Of `found` only the lowest bit is certain. Without one this is the whole word. */
	return word & (found ^ (found - 1));
}

static inline __attribute__((always_inline)) __u64 proc_environ_key(__u64 word)
{
	return proc_word_to(word, '=');
}

static inline __attribute__((always_inline)) __u32 proc_environ_hash(__u64 key)
{
	return (__u32)(key * PROC_MULTIPLIER >> 53); /* below PROC_ENVIRON_HASHES */
}

/* Before 5.17 a comm may have bytes of an older one behind its NUL. */
static inline __attribute__((always_inline)) struct proc_program proc_program_key(__u64 first, __u64 second)
{
	struct proc_program key;

	key.words[0] = proc_word_to(first, 0);
	key.words[1] = key.words[0] >> 56 ? proc_word_to(second, 0) : 0;
	return key;
}

static inline __attribute__((always_inline)) __u32 proc_program_hash(const struct proc_program *key)
{
	__u64 hash = (key->words[0] + 31 * key->words[1]) * PROC_MULTIPLIER >> 32;

	return (__u32)(hash * PROC_PROGRAM_HASHES >> 32); /* below PROC_PROGRAM_HASHES */
}

#endif
