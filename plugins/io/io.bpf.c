// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/io/io.bpf.c - counts block requests when they complete.
 *
 * Each request runs two hooks.  When a process creates the request, issuers.bpf.h writes the process into a table.
 * When the request completes, on_complete reads the table and adds the request to maps.  No event leaves the kernel.
 * The times need no table: the request itself has them.  reclaim.bpf.h and delays.bpf.h have programs of their own.
 */
#include "delays.bpf.h"
#include "devices.bpf.h"
#include "issuers.bpf.h"
#include "owners.bpf.h"
#include "reclaim.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u32 blkcg_v2;         /* the io controller is on cgroup v2: requests of write-back name their writer */
const volatile __u32 by_bio;           /* no block_io_start: the first bio identifies a request */

/* Set by user space while a detail is attached that counts each request. */
__u32 details_wanted;

/* For the programs of details. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_done);
} done SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_reported);
} reported SEC(".maps");

/* The cgroup that the request names; 0: the root, or v1. */
static __always_inline __u64 writer_of(struct bio *bio)
{
	struct cgroup___level *at;
	struct blkcg_gq *blkg;
	struct kernfs_node *kn;
	struct cgroup *cgrp;
	struct blkcg *blkcg;

	if (!blkcg_v2 || !bpf_core_field_exists(bio->bi_blkg) || !bio)
		return 0;
	blkg = bio->bi_blkg;
	if (!blkg)
		return 0;
	blkcg = blkg->blkcg;
	if (!blkcg)
		return 0;
	cgrp = blkcg->css.cgroup;
	if (!cgrp)
		return 0;
	at = (void *)cgrp;
	if (at->level == 0)
		return 0;
	kn = cgrp->kn;
	return kn->id;
}

static __always_inline __u32 op_of(__u32 op)
{
	if (op >= REQ_OP_FIRST_PRIVATE)
		return IO_OTHER;
	if (op == REQ_OP_DISCARD)
		return IO_DISCARD;
	if (op == REQ_OP_FLUSH)
		return IO_FLUSH;
	if (op & 1)
		return IO_WRITE;
	return op == REQ_OP_READ ? IO_READ : IO_OTHER;
}

/*
 * Writes the address first: when the completion of another request interrupts, it overwrites the address, and the
 * program of the detail finds that our request is gone.
 */
static __always_inline void done_begin(__u64 request)
{
	struct io_done *r;
	__u32 zero = 0;

	if (!details_wanted)
		return;
	r = bpf_map_lookup_elem(&done, &zero);
	if (!r)
		return;
	*(volatile __u64 *)&r->request = request;
	*(volatile __u64 *)&r->pass = r->pass + 1;
	r->state = IO_DONE_NOTHING;
}

/* NULL: no detail is attached, or the completion of another request has interrupted. */
static __always_inline struct io_done *done_of(__u64 request)
{
	struct io_done *r;
	__u32 zero = 0;

	if (!details_wanted)
		return NULL;
	r = bpf_map_lookup_elem(&done, &zero);
	return r && *(volatile __u64 *)&r->request == request ? r : NULL;
}

/* block_rq_complete(rq, error, nr_bytes): the same in all kernels but for the error's type. */
SEC("tp_btf/block_rq_complete")
int on_complete(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0], *its = SKEP_UNTRUSTED(request, rq);
	struct gendisk *disk = disk_of(its);
	struct bio *bio = blkcg_v2 ? its->bio : NULL;
	void *part = its->part;
	__u32 bytes = ctx[2], left = rq->__data_len;
	__u64 now, begun, latency = 0, service = 0, key = 0, address, cgroup = 0;
	__u64 op, by = IO_BY_UNKNOWN, issuer = IO_DIRECT, seen, any, whole;
	__u32 pid;
	struct io_device *d;
	struct io_done *detail;
	struct slot s = {};

	SKEP_LOAD_HERE(disk);
	SKEP_LOAD_HERE(bio);
	SKEP_LOAD_HERE(part);
	any = rq->cmd_flags;
	op = op_of(any & REQ_OP_MASK);
	SKEP_HIDE(op, any);
	if (skep_asleep(IO_UNATTENDED_DISK))
		return 0;
	/* reads the pointer as a number: the verifier allows no arithmetic on a typed pointer */
	bpf_probe_read_kernel(&address, sizeof(address), &ctx[0]);
	key = by_bio ? (__u64)BPF_CORE_READ(rq, bio) : address;
	done_begin(address);
	/* without data: the second end of a write with REQ_PREFLUSH, whose data completed before */
	if (!bytes && op != IO_FLUSH && op != IO_OTHER) {
		if (key)
			slot_give(key, &s);
		return 0;
	}
	if (!disk)
		return 0;
	d = device_of(disk, op);
	if (!d) {
		detail = done_of(address);
		if (detail)
			detail->state = IO_DONE_LOST;
		return 0;
	}
	seen = key ? slot_give(key, &s) : 0;
	SKEP_HIDE(seen, any);
	SKEP_HIDE(s.start_ns, any);
	SKEP_HIDE(s.cgroup_id, any);
	SKEP_HIDE(s.who, (__u32)any);
	if (bytes < left && seen) /* a part of the request: the rest completes later, with the same issuer */
		slot_take_again(key, s.start_ns, s.cgroup_id, s.who);
	pid = s.who & WHO_PID;
	if (seen)
		by = s.who & WHO_KERNEL                               ? IO_BY_KERNEL
		     : VERDICT_OF_WHO(s.who) >= SKEP_VERDICT_EXCLUDED ? IO_BY_EXCLUDED
								      : IO_BY_PROCESS;
	else if (op == IO_FLUSH)
		by = IO_BY_KERNEL; /* the block layer makes one flush for all that wait (block/blk-flush.c) */

	SKEP_HIDE(by, any);

	ADD(d->bytes, bytes);
	if (part)
		ADD(d->counted[by & 3], bytes);
	if ((__u32)ctx[1])
		ADD(d->errors, 1);
	whole = bytes >= left;
	if (whole) {
		now = bpf_ktime_get_ns();
		skep_unattended_at(now, SKEP_KEPT_UNCOUNTED); /* the next request finds the programs asleep */
		begun = rq->start_time_ns;
		if (begun && begun < now)
			latency = now - begun;
		begun = rq->io_start_time_ns;
		if (begun && begun < now)
			service = now - begun;
		SKEP_HIDE(latency, any);
		SKEP_HIDE(service, any);
		add_device(d, bytes, latency, service);
	}
	SKEP_HIDE(whole, any);

	if (by == IO_BY_PROCESS) {
		add_process(pid, s.start_ns, op, bytes, latency, whole);
		cgroup = s.cgroup_id;
	} else if (by != IO_BY_EXCLUDED) {
		cgroup = writer_of(bio);
		issuer = cgroup ? IO_WRITEBACK : IO_UNKNOWN;
	}
	SKEP_HIDE(cgroup, any);
	SKEP_HIDE(issuer, any);
	if (by != IO_BY_EXCLUDED)
		add_cgroup(cgroup, issuer, op, bytes, latency, whole);
	if (!whole)
		return 0;
	detail = done_of(address);
	if (!detail)
		return 0;
	detail->start_ns = s.start_ns;
	detail->cgroup_id = cgroup;
	detail->latency_ns = latency;
	detail->service_ns = service;
	detail->dev = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	detail->op = op;
	detail->bytes = bytes;
	detail->pid = pid;
	detail->by = by;
	detail->verdict = VERDICT_OF_WHO(s.who);
	detail->error = ctx[1];
	detail->state = IO_DONE_WHOLE;
	return 0;
}
