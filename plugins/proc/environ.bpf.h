/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/environ.bpf.h - copies the variables that user space names from a new program's environment.
 *
 * The walk searches the environment word by word in a buffer of this CPU. One bpf_probe_read_user_str for each string
 * took 100 ns a string (6.18): in a large environment more than all the rest of an exec. Only named variables leave the
 * buffer. Mitigations that make each return slow (SRSO) make calls the main cost, so the walk calls no function for a
 * string that has another name. The walk's state is in the map, and the verifier checks each step by itself: see
 * skep/bpf/path.bpf.h and judge_exec. bpf_loop (5.17) is newer than the oldest supported kernel, and no cheaper.
 */
#ifndef SKEP_PROC_ENVIRON_BPF_H
#define SKEP_PROC_ENVIRON_BPF_H

#include "exec_buffer.bpf.h"

/* Set by user space before the load. 0: no cost, as the verifier removes the call. */
const volatile __u32 environ_names;
const volatile struct proc_environ_name environ_name[PROC_ENVIRON_NAMES];

#define ENVIRON_MOST 65536u /* bytes of an environment that the walk searches */
#define ENVIRON_STEP 256u   /* bytes at a time */
#define ENVIRON_LOW 0x0101010101010101ull
#define ENVIRON_HIGH 0x8080808080808080ull
/* (1 << 8 * i) times this number has i in its three highest bits. */
#define ENVIRON_INDEX (1ull << 53 | 2ull << 45 | 3ull << 37 | 4ull << 29 | 5ull << 21 | 6ull << 13 | 7ull << 5)

/*
 * Does a named variable begin there? A name has no NUL, so old bytes behind a short string do no harm.
 */
static __always_inline int environ_wanted(const char *at)
{
	for (__u32 i = 0; i < PROC_ENVIRON_NAMES; i++) {
		__u64 differs = 0;

		if (i >= environ_names)
			break;
		if ((*(const __u64 *)at ^ environ_name[i].words[0]) & environ_name[i].masks[0])
			continue;
		for (__u32 k = 1; k < PROC_ENVIRON_WORDS; k++)
			differs |= (*(const __u64 *)(at + 8 * k) ^ environ_name[i].words[k]) & environ_name[i].masks[k];
		if (!differs)
			return 1;
	}
	return 0;
}

/* Copies the string that begins at `start` of the buffered part, if user space named it. */
static __noinline int environ_string(struct environ_walk *w, __u32 start)
{
	__u32 off = w->found_len;
	long n;

	if (start >= w->len || start > ENVIRON_PART || off > PROC_ENVIRON_MAX - PROC_ENVIRON_ENTRY ||
	    !environ_wanted(w->part + start))
		return 0;
	n = bpf_probe_read_kernel_str(w->found + (off & (PROC_ENVIRON_MAX - 1)), PROC_ENVIRON_ENTRY, w->part + start);
	if (n > 0)
		w->found_len = off + n;
	return 0;
}

/* Checks the strings of that word: one begins behind each NUL. */
static __noinline int environ_nuls(struct environ_walk *w, __u32 pos)
{
	pos &= ENVIRON_PART - 8;
	for (__u32 i = 0; i < 8; i++)
		if (!w->part[pos + i])
			environ_string(w, pos + i + 1);
	return 0;
}

/* May a named variable begin there? Compares 8 bytes only, as a call costs more than the comparison. */
static __always_inline int environ_maybe(const char *at)
{
	for (__u32 i = 0; i < PROC_ENVIRON_NAMES; i++) {
		if (i >= environ_names)
			break;
		if (!((*(const __u64 *)at ^ environ_name[i].words[0]) & environ_name[i].masks[0]))
			return 1;
	}
	return 0;
}

static __always_inline void environ_word(struct environ_walk *w, __u32 pos)
{
	__u64 word = *(__u64 *)(w->part + pos), nul = (word - ENVIRON_LOW) & ~word & ENVIRON_HIGH;
	__u32 start;

	if (!nul)
		return;
	if (nul & (nul - 1)) { /* several NULs, or one NUL with a byte of 1 above it */
		environ_nuls(w, pos);
		return;
	}
	start = pos + 1 + ((nul >> 7) * ENVIRON_INDEX >> 61);
	if (environ_maybe(w->part + start))
		environ_string(w, start);
}

/* Reads the next part, and beyond it as many bytes as one variable may have. 0, or 1: the environment ends. */
static __always_inline int environ_fill(struct environ_walk *w)
{
	__u64 at = w->at, left = w->end - at, len;

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

/* Not static: see judge_exec. */
__noinline int environ_step(__u32 buffer)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	struct environ_walk *w;
	__u32 pos;

	if (!b)
		return 1;
	w = &b->environ;
	pos = w->pos;
	if (pos >= w->len || pos >= ENVIRON_PART) {
		__u32 first = !w->len;

		if (environ_fill(w))
			return 1;
		if (first)
			environ_string(w, 0);
		pos = 0;
	}
	pos &= ENVIRON_PART - ENVIRON_STEP;
#pragma clang loop unroll(full)
	for (__u32 i = 0; i < ENVIRON_STEP / 8; i++)
		environ_word(w, pos + 8 * i);
	w->pos = pos + ENVIRON_STEP;
	return 0;
}

/* Walks the environment of the current task, which executes. Returns how many bytes `found` has. */
static __always_inline __u32 read_environ(struct environ_walk *w, __u32 buffer, __u64 start, __u64 end)
{
	w->at = start;
	w->end = end;
	w->found_len = w->fault = w->len = w->pos = 0;
	if (start < end)
		for (__u32 i = 0; i < ENVIRON_MOST / ENVIRON_STEP; i++)
			if (environ_step(buffer))
				break;
	return w->found_len;
}

#endif
