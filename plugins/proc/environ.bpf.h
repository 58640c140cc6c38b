/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/environ.bpf.h - copies the variables that user space names from a new program's environment.
 *
 * The walk searches the environment word by word in a buffer of this CPU. One bpf_probe_read_user_str() for each string
 * took 100 ns a string (6.18): in a large environment more than all the rest of an exec. Only named variables leave the
 * buffer. Mitigations that make each return slow (SRSO) make calls the main cost, so the walk calls no function for a
 * string with another name. The walk's state is in the map, and the verifier checks each step by itself: see
 * skep/bpf/path.bpf.h and judge_exec. bpf_loop() (5.17) is newer than the oldest supported kernel, and no cheaper.
 */
#ifndef SKEP_PROC_ENVIRON_BPF_H
#define SKEP_PROC_ENVIRON_BPF_H

#include "exec_buffer.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROC_ENVIRON_TABLES);
	__type(key, __u32);
	__type(value, struct proc_environ_table);
} environ_tables SEC(".maps");

#define ENVIRON_MOST 65536u /* bytes of an environment that the walk searches */
#define ENVIRON_STEP 128u   /* bytes at a time */
#define ENVIRON_NEAR 8u     /* names of a chain at a time */
/* (1 << 8 * i) times this number has i in its three highest bits. */
#define ENVIRON_INDEX (1ull << 53 | 2ull << 45 | 3ull << 37 | 4ull << 29 | 5ull << 21 | 6ull << 13 | 7ull << 5)

/* May a variable of the table begin at `at`? */
static __always_inline int environ_maybe(const struct proc_environ_table *t, const char *at)
{
	__u32 hash = proc_environ_hash(proc_environ_key(*(const __u64 *)at));

	return t->filter[hash / 64] >> hash % 64 & 1;
}

/*
 * Is the string at `start` of the buffered part one of the next names of a chain, from index n - 1 on?  Returns
 * ENVIRON_IS, or the number where the chain goes on; 0: it has ended. Not static: see judge_exec.
 */
#define ENVIRON_IS (1u << 16)
__noinline int environ_chain(__u32 buffer, __u32 start, __u32 n)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	const struct proc_environ_name *name;
	struct proc_environ_table *t;
	__u64 key, from = start;
	const char *at;

	if (!b)
		return 0;
	t = bpf_map_lookup_elem(&environ_tables, &b->environ.table);
	/* 64 bits, and kept in one register: the verifier knows a bound only of the register that was compared */
	asm volatile("" : "+r"(from));
	if (!t || from > ENVIRON_PART)
		return 0;
	at = b->environ.part + from;
	key = proc_environ_key(*(const __u64 *)at);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < ENVIRON_NEAR; i++) {
		__u64 differs, index = (__u64)n - 1;

		/* n 0, the end of the chain, is beyond the names too. The verifier (5.10) knows this one's bound. */
		asm volatile("" : "+r"(index));
		if (index >= PROC_ENVIRON_ALL)
			return 0;
		name = &t->names[index];
		differs = key ^ name->words[0];
		for (__u32 k = 1; k < PROC_ENVIRON_WORDS; k++)
			differs |= (*(const __u64 *)(at + 8 * k) ^ name->words[k]) & name->masks[k];
		if (!differs)
			return ENVIRON_IS;
		n = name->next;
	}
	return n;
}

/*
 * Copies the string that begins at `start` of the buffered part, if the table names it. A name has no NUL, so old bytes
 * behind a short string do no harm. Not static: see judge_exec.
 */
__noinline int environ_string(__u32 buffer, __u32 start)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	struct proc_environ_table *t;
	struct environ_walk *w;
	__u64 from = start;
	const char *at;
	__u32 off, n;
	long len;

	if (!b)
		return 0;
	w = &b->environ;
	t = bpf_map_lookup_elem(&environ_tables, &w->table);
	asm volatile("" : "+r"(from)); /* as in environ_chain() */
	if (!t || from >= w->len || from > ENVIRON_PART)
		return 0;
	at = w->part + from;
	n = t->first[proc_environ_hash(proc_environ_key(*(const __u64 *)at)) & (PROC_ENVIRON_CHAINS - 1)];
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < PROC_ENVIRON_ALL / ENVIRON_NEAR && n && n != ENVIRON_IS; i++)
		n = environ_chain(buffer, start, n);
	if (n != ENVIRON_IS)
		return 0;
	off = w->found_len;
	if (off > PROC_ENVIRON_MAX - PROC_ENVIRON_ENTRY) {
		w->full = 1;
		return 0;
	}
	len = bpf_probe_read_kernel_str(w->found + (off & (PROC_ENVIRON_MAX - 1)), PROC_ENVIRON_ENTRY, at);
	if (len > 0)
		w->found_len = off + len;
	return 0;
}

/* Checks the strings that begin in the word at `pos`: one begins after each NUL. Not static: see judge_exec. */
__noinline int environ_nuls(__u32 buffer, __u32 pos)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	const struct proc_environ_table *t;
	struct environ_walk *w;

	if (!b)
		return 0;
	w = &b->environ;
	t = bpf_map_lookup_elem(&environ_tables, &w->table);
	if (!t)
		return 0;
	pos &= ENVIRON_PART - 8;
	for (__u32 i = 0; i < 8; i++)
		if (!w->part[pos + i] && environ_maybe(t, w->part + pos + i + 1))
			environ_string(buffer, pos + i + 1);
	return 0;
}

static __always_inline void environ_word(struct environ_walk *w, const struct proc_environ_table *t, __u32 buffer,
					 __u32 pos)
{
	__u64 word = *(__u64 *)(w->part + pos), nul = (word - PROC_BYTES_LOW) & ~word & PROC_BYTES_HIGH;
	__u32 start;

	if (!nul)
		return;
	if (nul & (nul - 1)) { /* several NULs, or one NUL with a byte of 1 above it */
		environ_nuls(buffer, pos);
		return;
	}
	start = pos + 1 + ((nul >> 7) * ENVIRON_INDEX >> 61);
	if (environ_maybe(t, w->part + start))
		environ_string(buffer, start);
}

/*
 * Reads the next part, and beyond it as many bytes as one variable may have. 0, or 1: the environment ends. Not static:
 * see judge_exec.
 */
__noinline int environ_fill(__u32 buffer)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	struct environ_walk *w;
	__u64 at, left, len;

	if (!b)
		return 1;
	w = &b->environ;
	at = w->at;
	left = w->end - at;
	if (at >= w->end)
		return 1;
	len = left;
	if (len > ENVIRON_PART + PROC_ENVIRON_ENTRY)
		len = ENVIRON_PART + PROC_ENVIRON_ENTRY;
	asm volatile("" : "+r"(len));
	if (len > ENVIRON_PART + PROC_ENVIRON_ENTRY)
		return 1;
	if (bpf_probe_read_user(w->part, len, (void *)at)) {
		w->fault = 1;
		return 1;
	}
	w->part[len] = 0;
	w->len = len;
	w->pos = 0;
	w->at = at + (left > ENVIRON_PART ? ENVIRON_PART : left);
	return 0;
}

/* Searches the next bytes of the part. 1: the part ends. Not static: see judge_exec. */
__noinline int environ_step(__u32 buffer)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	const struct proc_environ_table *t;
	struct environ_walk *w;
	__u32 pos;

	if (!b)
		return 1;
	w = &b->environ;
	t = bpf_map_lookup_elem(&environ_tables, &w->table);
	if (!t || w->full)
		return 1;
	pos = w->pos;
	if (pos >= w->len)
		return 1;
	pos &= ENVIRON_PART - ENVIRON_STEP;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < ENVIRON_STEP / 8; i++)
		environ_word(w, t, buffer, pos + 8 * i);
	w->pos = pos + ENVIRON_STEP;
	return 0;
}

/* Searches the part in the buffer. Not static: see judge_exec. */
__noinline int environ_part(__u32 buffer)
{
	for (__u32 i = 0; i < ENVIRON_PART / ENVIRON_STEP; i++)
		if (environ_step(buffer))
			break;
	return 0;
}

/*
 * Searches the environment of the current task, which executes: `found` of the buffer then has its variables. Inlined,
 * for the stack: 5.10 counts 32 bytes at least for each function below.
 */
static __always_inline void read_environ(struct environ_walk *w, __u32 buffer, __u32 table, __u64 start, __u64 end)
{
	w->at = start;
	w->end = end;
	w->table = table;
	w->found_len = w->full = w->len = w->pos = 0;
	w->fault = end > start && end - start > ENVIRON_MOST;
	for (__u32 i = 0; i < ENVIRON_MOST / ENVIRON_PART; i++) {
		if (environ_fill(buffer))
			break;
		if (!i)
			environ_string(buffer, 0);
		environ_part(buffer);
		if (w->full)
			break;
	}
}

#endif
