/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/issuers.bpf.h - the process of each block request: a table with a slot for each request, from its creation
 * to its completion.
 *
 * The table is no BPF hash: an update and a delete of a hash cost 310 ns.  No two requests under way have the same
 * address, so a small set-associative table is enough, without locks.  When two CPUs write one slot at the same
 * moment, the slot's checksum is wrong.  The request then counts for an unknown issuer, never for another process.
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
#define WHO_PID 0x003fffffu      /* a pid has at most 22 bits (PID_MAX_LIMIT) */
#define WHO_VERDICT_SHIFT 22     /* the byte of the verdict map is above the pid */
#define VERDICT_OF_WHO(who_) ((who_) >> WHO_VERDICT_SHIFT & 0xff)

struct slot {
	__u64 request; /* address of the request, or before 6.5 of its first bio; 0: free */
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

#define NO_WAY WAYS
/*
 * The slot with that address.  The verifier follows one path behind it, whichever of the slots it is: it does not know
 * the number.
 */
static __always_inline __u64 way_of(const struct bucket *b, __u64 address, __u64 any)
{
	__u64 way = NO_WAY;

#pragma unroll
	for (int i = WAYS - 1; i >= 0; i--) {
		if (b->way[i].request == address)
			way = i;
		SKEP_HIDE(way, any);
	}
	return way;
}

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
	struct slot *s;
	__u64 way;

	if (!b)
		return;
	/* a slot of the same address is stale: a request that merges into another never completes */
	way = way_of(b, request, request);
	if (way >= WAYS)
		way = way_of(b, 0, request);
	if (way >= WAYS) {
		way = start_ns >> 4;
		COUNT(evicted);
	}
	SKEP_HIDE(way, request);
	s = &b->way[way & (WAYS - 1)];
	s->request = request;
	s->start_ns = start_ns;
	s->cgroup_id = cgroup_id;
	s->who = who;
	s->check = check_of(request, start_ns, cgroup_id, who);
}

/* The same for a rare place.  Not static, so that the verifier checks it once. */
__noinline int slot_take_again(__u64 request, __u64 start_ns, __u64 cgroup_id, __u32 who)
{
	slot_take(request, start_ns, cgroup_id, who);
	return 0;
}

/* Reads the slot and frees it.  False: no slot, or two CPUs wrote the slot at once. */
static __always_inline int slot_give(__u64 request, struct slot *ret)
{
	struct bucket *b = bucket_of(request);
	struct slot *s;
	__u64 way;

	if (!b)
		return 0;
	way = way_of(b, request, request);
	if (way >= WAYS)
		return 0;
	s = &b->way[way & (WAYS - 1)];
	ret->start_ns = s->start_ns;
	ret->cgroup_id = s->cgroup_id;
	ret->who = s->who;
	ret->check = s->check;
	s->request = 0;
	return ret->check == check_of(request, ret->start_ns, ret->cgroup_id, ret->who);
}

/* ---- a task creates a request ------------------------------------------------- */

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
 * Since 6.5; runs in the context of the task that creates the request.  The program needs only the request's address.
 * It is a raw_tp, as with tp_btf the request is a typed pointer, on which the verifier allows no arithmetic.
 */
SEC("raw_tp/block_io_start")
int on_start(__u64 *ctx)
{
	return made(ctx[0]);
}

/*
 * The kernel skips a program that already runs on that CPU, and kernels that preempt programs (load.c) put another task
 * on the CPU in the middle of a program.  The kernel calls this program after on_start for each request, and it records
 * the requests that on_start missed.
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
		/* the slot names this process: on_start saw the request, or an earlier request left the same values */
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

/* Before 6.5: a bio that the kernel later puts in front of a request. */
SEC("raw_tp/block_bio_frontmerge")
int on_frontmerge(__u64 *ctx)
{
	__u64 bio;

	ARGUMENT(bio, merge_bio_arg, 2);
	return made(bio);
}

#endif
