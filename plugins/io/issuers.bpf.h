/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/issuers.bpf.h - which process made a request: a table of slots from the making of a request to its
 * completion.
 *
 * The slots are no BPF hash: an update and a delete of one cost 310 ns.  No other request has the address of a request
 * under way, so a small set-associative table is enough, without locks.  Two CPUs may write one slot at the same
 * moment; then the checksum over the slot is wrong, and the request counts as of an unknown issuer, never as of another
 * process.
 */
#ifndef SKEP_IO_ISSUERS_BPF_H
#define SKEP_IO_ISSUERS_BPF_H

#include "common.bpf.h"

/* Set by user space before the load. */
const volatile __u32 getrq_bio_arg;    /* block_getrq(q, bio, rw) up to 5.10, (bio) after */
const volatile __u32 merge_bio_arg;    /* block_bio_frontmerge(q, rq, bio) up to 5.10, (bio) after */
const volatile __u32 bucket_mask;

#define WAYS 4
#define WHO_KERNEL 0x40000000u
#define WHO_PID 0x003fffffu      /* pids have 22 bits at the most (PID_MAX_LIMIT) */
#define WHO_VERDICT_SHIFT 22     /* above them the byte of the verdict map */
#define VERDICT_OF_WHO(who_) ((who_) >> WHO_VERDICT_SHIFT & 0xff)

struct slot {
	__u64 request; /* or its first bio; 0: free */
	__u64 start_ns;
	__u64 cgroup_id;
	__u32 who;
	__u32 check;
};

struct bucket {
	struct slot way[WAYS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: a power of two */
	__type(key, __u32);
	__type(value, struct bucket);
} slots SEC(".maps");

static __always_inline struct bucket *bucket_of(__u64 request)
{
	__u32 at = ((request >> 3) * 0x9e3779b97f4a7c15ull >> 32) & bucket_mask;

	return bpf_map_lookup_elem(&slots, &at);
}

static __always_inline __u32 check_of(__u64 request, __u64 start_ns, __u64 cgroup_id, __u32 who)
{
	__u64 x = request ^ start_ns * 0x9e3779b97f4a7c15ull ^ cgroup_id * 0xc2b2ae3d27d4eb4full ^ who;

	return (__u32)x ^ (__u32)(x >> 32);
}

static __always_inline void slot_take(__u64 request, __u64 start_ns, __u64 cgroup_id, __u32 who)
{
	struct bucket *b = bucket_of(request);
	struct slot *s = NULL;

	if (!b)
		return;
	/* a slot of the same address is stale: a request that merges into another never completes */
#pragma unroll
	for (int i = 0; i < WAYS; i++)
		if (!s && b->way[i].request == request)
			s = &b->way[i];
#pragma unroll
	for (int i = 0; i < WAYS; i++)
		if (!s && !b->way[i].request)
			s = &b->way[i];
	if (!s) {
		s = &b->way[(start_ns >> 4) & (WAYS - 1)];
		COUNT(evicted);
	}
	s->request = request;
	s->start_ns = start_ns;
	s->cgroup_id = cgroup_id;
	s->who = who;
	s->check = check_of(request, start_ns, cgroup_id, who);
}

/* Reads the slot and frees it.  False: none, or torn by two CPUs. */
static __always_inline int slot_give(__u64 request, struct slot *ret)
{
	struct bucket *b = bucket_of(request);
	struct slot *s = NULL;

	if (!b)
		return 0;
#pragma unroll
	for (int i = 0; i < WAYS; i++)
		if (!s && b->way[i].request == request)
			s = &b->way[i];
	if (!s)
		return 0;
	ret->start_ns = s->start_ns;
	ret->cgroup_id = s->cgroup_id;
	ret->who = s->who;
	ret->check = s->check;
	s->request = 0;
	return ret->check == check_of(request, ret->start_ns, ret->cgroup_id, ret->who);
}

/* ---- a request is made ------------------------------------------------------- */

static __always_inline int made(__u64 request)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	struct who w = {};

	if (skep_asleep(SKEP_KEPT_UNCOUNTED))
		return 0;
	who_is_it(&w);
	if (w.flags & PF_KTHREAD)
		slot_take(request, 0, 0, WHO_KERNEL);
	else
		slot_take(request, w.start_ns, w.cgroup_id,
			  (tgid & WHO_PID) | (__u32)verdict_of(tgid) << WHO_VERDICT_SHIFT);
	return 0;
}

/*
 * Since 6.5, in the context of the task that makes the request.  raw_tp, because tp_btf makes the request a typed
 * pointer: the verifier allows no arithmetic on it, and the program needs only its address.
 */
SEC("raw_tp/block_io_start")
int on_start(__u64 *ctx)
{
	return made(ctx[0]);
}

/*
 * The kernel skips a program that already runs on that CPU, and kernels that preempt programs (load.c) put another task
 * there in the middle of one.  This program runs after on_start for each request, and records requests that on_start
 * missed.
 */
SEC("raw_tp/block_io_start")
int on_start_missed(__u64 *ctx)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32, at;
	__u64 request = ctx[0];
	struct bucket *b = bucket_of(request);

	if (!b || skep_asleep(SKEP_KEPT_UNCOUNTED))
		return 0;
#pragma unroll
	for (int i = 0; i < WAYS; i++) {
		at = b->way[i].who;
		/* same process: on_start saw it, or an earlier request left the same values */
		if (b->way[i].request == request && (at & WHO_KERNEL || (at & WHO_PID) == tgid))
			return 0;
	}
	COUNT(recovered);
	return made(request);
}

/*
 * An argument whose number depends on the kernel.  The barriers keep clang from merging both loads into one with a
 * computed offset, which the verifier refuses.  The other branch is dead code: a program that reads beyond the
 * arguments does not attach.
 */
#define ARGUMENT(ret_, second_, number_)                     \
	do {                                                 \
		if (second_) {                               \
			ret_ = ctx[number_];                 \
			asm volatile("" : "+r"(ret_));       \
		} else {                                     \
			ret_ = ctx[0];                       \
			asm volatile("" : "+r"(ret_));       \
		}                                            \
	} while (0)

/* Before 6.5: the bio that begins a new request. */
SEC("raw_tp/block_getrq")
int on_getrq(__u64 *ctx)
{
	__u64 bio;

	ARGUMENT(bio, getrq_bio_arg, 1);
	return made(bio);
}

/* Before 6.5: a bio that the kernel puts in front of it later. */
SEC("raw_tp/block_bio_frontmerge")
int on_frontmerge(__u64 *ctx)
{
	__u64 bio;

	ARGUMENT(bio, merge_bio_arg, 2);
	return made(bio);
}

#endif
