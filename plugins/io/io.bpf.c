// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/io/io.bpf.c - block requests, counted when they are done; and reclaim.
 *
 * Two hooks a request.  When it is made, who makes it is written into a table of slots;
 * when it is done, that slot is read and all is added up in maps: no event leaves the
 * kernel.  Its times need no table: the request itself carries them.
 *
 * The slots are no BPF hash: an update and a delete of one cost 310 ns, and a request
 * under way is a pointer that nothing else has, so a small set-associative table does,
 * without locks.  Two CPUs may write one slot at the same moment; a checksum over it
 * tells, and such a request counts as of an unknown issuer, never as somebody else's.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/verdict.bpf.h>
#include <skep/bpf/hist.bpf.h>

#include "block.bpf.h"
#include "io.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u32 cgroup_v1_memory; /* which hierarchy names a process's cgroup: as in the records of processes */
const volatile __u32 blkcg_v2;         /* the io controller is on cgroup v2: requests of write-back know their writer */
const volatile __u32 by_bio;           /* no block_io_start: requests are known by their first bio */
const volatile __u32 getrq_bio_arg;    /* block_getrq(q, bio, rw) up to 5.10, (bio) after */
const volatile __u32 merge_bio_arg;    /* block_bio_frontmerge(q, rq, bio) up to 5.10, (bio) after */
const volatile __u32 bucket_mask;
const volatile __u32 shard_mask;

/* Set by user space while a detail is attached that wants to be told of each request. */
__u32 details_wanted;

#define WAYS 4
#define WHO_KERNEL 0x40000000u
#define WHO_PID 0x003fffffu      /* pids have 22 bits at the most (PID_MAX_LIMIT) */
#define WHO_VERDICT_SHIFT 22     /* above them its byte in the verdict map */
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

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_device_key);
	__type(value, struct io_device);
} devices SEC(".maps");

/* What a new entry of `devices` begins with: too large for the stack. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_device);
} new_device SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_process_key);
	__type(value, struct io_process);
} processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_cgroup_key);
	__type(value, struct io_cgroup);
} cgroups SEC(".maps");

/* Tasks in reclaim: tid -> since when. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, __u64);
} reclaiming SEC(".maps");

/* For the programs of details. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_done);
} done SEC(".maps");

/* One a CPU by index, mapped into user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct io_counters);
} counters SEC(".maps");

/*
 * User space's own: of `processes` and `cgroups`, as far as they have been told, for the skepd that comes
 * after it.  Of processes also those that wait and have made no request: hence twice as many.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_process_key);
	__type(value, struct io_process_told);
} processes_told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct io_cgroup_key);
	__type(value, struct io_cgroup);
} cgroups_told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct io_reported);
} reported SEC(".maps");

#define ADD(field_, n_) __sync_fetch_and_add(&(field_), n_)

#define COUNT(field_)                                                    \
	do {                                                             \
		__u32 cpu_ = bpf_get_smp_processor_id();                 \
		struct io_counters *c_ = bpf_map_lookup_elem(&counters, &cpu_); \
		if (c_)                                                  \
			ADD(c_->field_, 1);                              \
	} while (0)

/* ---- who ------------------------------------------------------------------- */

struct who {
	__u64 start_ns, cgroup_id;
	__u32 flags;
};

static __always_inline __u64 memory_cgroup(struct css_set *set)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = NULL;

	bpf_core_read(&css, sizeof(css), &set->subsys[memory & 15]);
	return BPF_CORE_READ(css, cgroup, kn, id);
}

/* The same by plain loads. The index is a constant once the kernel's own enum has been put in. */
static __always_inline __u64 memory_cgroup_typed(struct css_set *set)
{
	__u64 memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = set->subsys[memory];
	struct cgroup *cgrp = css->cgroup;
	struct kernfs_node *kn = cgrp->kn;

	return kn->id;
}

/* The running task, by plain loads (5.11 and later) ... */
static __always_inline void who_of_typed(struct who *w, struct task_struct *t)
{
	struct task_struct *leader;
	struct css_set *set;

	w->flags = t->flags;
	if (w->flags & PF_KTHREAD)
		return;
	leader = t->group_leader;
	set = t->cgroups;
	w->start_ns = leader->start_boottime;
	if (cgroup_v1_memory) {
		w->cgroup_id = memory_cgroup_typed(set);
	} else {
		struct cgroup *cgrp = set->dfl_cgrp;
		struct kernfs_node *kn = cgrp->kn;

		w->cgroup_id = kn->id;
	}
}

/* ... and by the helper that older kernels have: 5.10's verifier does not know its type. */
static __always_inline void who_of_untyped(struct who *w, struct task_struct *t)
{
	w->flags = BPF_CORE_READ(t, flags);
	if (w->flags & PF_KTHREAD)
		return;
	w->start_ns = BPF_CORE_READ(t, group_leader, start_boottime);
	w->cgroup_id = cgroup_v1_memory ? memory_cgroup(BPF_CORE_READ(t, cgroups)) :
					  BPF_CORE_READ(t, cgroups, dfl_cgrp, kn, id);
}

static __always_inline void who_is_it(struct who *w)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf))
		who_of_typed(w, bpf_get_current_task_btf());
	else
		who_of_untyped(w, (void *)bpf_get_current_task());
}

/* ---- slots ------------------------------------------------------------------ */

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
	/* its own, when it was left behind: a request that was merged into another is never done */
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

/* False: not there, or torn. Frees it. */
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
 * raw_tp and not tp_btf, which would make the request a typed pointer: the verifier allows no
 * arithmetic on those, and all that is wanted of it here is its address.
 *
 * Since 6.5, in the context of whoever makes the request.
 */
SEC("raw_tp/block_io_start")
int on_start(__u64 *ctx)
{
	return made(ctx[0]);
}

/*
 * A program is skipped while it is already running on that CPU, and kernels that preempt programs
 * (load.c) put another task there in the middle of one.  This one is called after on_start for each
 * request, and takes care of those that on_start has not seen.
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
		/* as it is for the same process, also if it was left behind by an earlier request */
		if (b->way[i].request == request && (at & WHO_KERNEL || (at & WHO_PID) == tgid))
			return 0;
	}
	COUNT(recovered);
	return made(request);
}

/*
 * An argument whose number depends on the kernel.  The barriers keep clang from making one load
 * with a computed offset of the two, which the verifier refuses; and the one that is not
 * taken is dead code, or a program that reads beyond the arguments would not attach.
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

/* Before: the bio that a new request begins with ... */
SEC("raw_tp/block_getrq")
int on_getrq(__u64 *ctx)
{
	__u64 bio;

	ARGUMENT(bio, getrq_bio_arg, 1);
	return made(bio);
}

/* ... and one that is put before it later. */
SEC("raw_tp/block_bio_frontmerge")
int on_frontmerge(__u64 *ctx)
{
	__u64 bio;

	ARGUMENT(bio, merge_bio_arg, 2);
	return made(bio);
}

/* ---- a request is done ------------------------------------------------------- */

static __always_inline struct io_device *device_of(struct gendisk *disk, __u32 op)
{
	struct io_device_key key = {};
	struct io_device *d, *none;
	__u32 zero = 0;

	key.dev = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	key.op = op;
	key.shard = op <= IO_WRITE ? bpf_get_smp_processor_id() & shard_mask : 0;
	d = bpf_map_lookup_elem(&devices, &key);
	if (d)
		return d;
	none = bpf_map_lookup_elem(&new_device, &zero);
	if (none)
		bpf_map_update_elem(&devices, &key, none, BPF_NOEXIST);
	d = bpf_map_lookup_elem(&devices, &key); /* also where another CPU was first */
	if (!d)
		COUNT(devices_full);
	return d;
}

static __always_inline struct io_process *process_of(__u32 pid, __u64 start_ns)
{
	struct io_process_key key = { .start_ns = start_ns, .pid = pid };
	struct io_process *p = bpf_map_lookup_elem(&processes, &key);
	struct io_process none = {};

	if (p)
		return p;
	bpf_map_update_elem(&processes, &key, &none, BPF_NOEXIST);
	p = bpf_map_lookup_elem(&processes, &key);
	if (!p)
		COUNT(processes_full);
	return p;
}

static __always_inline void add_process(__u32 pid, __u64 start_ns, __u32 op, __u32 bytes, __u64 latency)
{
	struct io_process *p = process_of(pid, start_ns);

	if (!p || op >= IO_OPS)
		return;
	ADD(p->operations[op], 1);
	ADD(p->bytes[op], bytes);
	ADD(p->latency_ns[op], latency);
	if (latency > p->latency_max_ns)
		p->latency_max_ns = latency;
}

static __always_inline void add_cgroup(__u64 id, __u32 issuer, __u32 op, __u32 bytes, __u64 latency)
{
	struct io_cgroup_key key = { .id = id, .op = op, .issuer = issuer };
	struct io_cgroup *c = bpf_map_lookup_elem(&cgroups, &key);
	struct io_cgroup none = {};

	if (!c) {
		bpf_map_update_elem(&cgroups, &key, &none, BPF_NOEXIST);
		c = bpf_map_lookup_elem(&cgroups, &key);
	}
	if (!c) {
		COUNT(cgroups_full);
		return;
	}
	ADD(c->operations, 1);
	ADD(c->bytes, bytes);
	ADD(c->latency_ns, latency);
}

/* The cgroup that the request itself names, when that says anything: 0 where it is the root, or v1. */
static __always_inline __u64 writer_of(struct request *rq)
{
	struct bio *bio = rq->bio;
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
 * Not static: the verifier then looks at it once.  Inlined, it followed each way through both
 * histograms and all that comes after: 256,433 steps instead of 14,963, a third of a second of each start.
 */
__noinline int hist_slot(__u64 value)
{
	return (int)skep_hist_slot(value);
}

static __always_inline void hist_add(__u64 *slots, __u32 n, __u64 value)
{
	__u64 slot = (__u32)hist_slot(value);

	/* in one register from here on: the verifier wants the bound where it is used */
	asm volatile("" : "+r"(slot));
	if (slot < n)
		ADD(slots[slot], 1);
}

static __always_inline void add_device(struct io_device *d, __u32 bytes, __u64 latency, __u64 service)
{
	ADD(d->operations, 1);
	hist_add(d->size, IO_SIZE_SLOTS, bytes);
	if (latency) {
		ADD(d->latency_operations, 1);
		ADD(d->latency_ns, latency);
		hist_add(d->latency, IO_LATENCY_SLOTS, latency);
	}
	if (service) {
		ADD(d->service_operations, 1);
		ADD(d->service_ns, service);
	}
}

/*
 * The request first: what interrupts us here and completes one as well takes its place, and
 * whoever is called next for ours will find that it is gone.
 */
static __always_inline struct io_done *done_begin(__u64 request)
{
	struct io_done *r;
	__u32 zero = 0;

	if (!details_wanted)
		return NULL;
	r = bpf_map_lookup_elem(&done, &zero);
	if (!r)
		return NULL;
	*(volatile __u64 *)&r->request = request;
	*(volatile __u64 *)&r->pass = r->pass + 1;
	r->state = IO_DONE_NOTHING;
	return r;
}

/* block_rq_complete(rq, error, nr_bytes): the same in all kernels but for the error's type. */
SEC("tp_btf/block_rq_complete")
int on_complete(__u64 *ctx)
{
	struct request *rq = (void *)ctx[0];
	__u32 bytes = ctx[2], left = rq->__data_len;
	__u64 now, begun, latency = 0, service = 0, key = 0, address, writer = 0;
	__u32 op = op_of(rq->cmd_flags & REQ_OP_MASK), by = IO_BY_UNKNOWN, pid;
	struct gendisk *disk = disk_of(rq);
	struct io_device *d;
	struct io_done *tell;
	struct slot s = {};
	int seen;

	if (skep_asleep(IO_UNATTENDED_DISK))
		return 0;
	/* as a number: see on_start */
	bpf_probe_read_kernel(&address, sizeof(address), &ctx[0]);
	key = by_bio ? (__u64)BPF_CORE_READ(rq, bio) : address;
	tell = done_begin(address);
	/* without data: the end of a flush that was asked for with a write (REQ_PREFLUSH), which has come already */
	if (!bytes && op != IO_FLUSH && op != IO_OTHER) {
		if (key)
			slot_give(key, &s);
		return 0;
	}
	if (!disk)
		return 0;
	d = device_of(disk, op);
	if (!d) {
		if (tell)
			tell->state = IO_DONE_LOST;
		return 0;
	}
	seen = key ? slot_give(key, &s) : 0;
	if (bytes < left && seen) /* a part of it: the rest comes later, and is whose this is */
		slot_take(key, s.start_ns, s.cgroup_id, s.who);
	pid = s.who & WHO_PID;
	if (seen)
		by = s.who & WHO_KERNEL                               ? IO_BY_KERNEL
		     : VERDICT_OF_WHO(s.who) >= SKEP_VERDICT_EXCLUDED ? IO_BY_EXCLUDED
								      : IO_BY_PROCESS;
	else if (op == IO_FLUSH)
		by = IO_BY_KERNEL; /* of the block layer itself: one flush for all who have asked (block/blk-flush.c) */

	ADD(d->bytes, bytes);
	if (rq->part)
		ADD(d->counted[by & 3], bytes);
	if ((__u32)ctx[1])
		ADD(d->errors, 1);
	if (bytes < left)
		return 0;
	now = bpf_ktime_get_ns();
	skep_unattended_at(now, SKEP_KEPT_UNCOUNTED); /* the next one finds it asleep */
	begun = rq->start_time_ns;
	if (begun && begun < now)
		latency = now - begun;
	begun = rq->io_start_time_ns;
	if (begun && begun < now)
		service = now - begun;
	add_device(d, bytes, latency, service);

	if (by == IO_BY_PROCESS) {
		add_process(pid, s.start_ns, op, bytes, latency);
		add_cgroup(s.cgroup_id, IO_DIRECT, op, bytes, latency);
	} else if (by != IO_BY_EXCLUDED) {
		writer = writer_of(rq);
		add_cgroup(writer, writer ? IO_WRITEBACK : IO_UNKNOWN, op, bytes, latency);
	}
	if (!tell)
		return 0;
	tell->start_ns = s.start_ns;
	tell->cgroup_id = by == IO_BY_PROCESS ? s.cgroup_id : writer;
	tell->latency_ns = latency;
	tell->service_ns = service;
	tell->dev = (__u32)disk->major << 20 | (__u32)disk->first_minor;
	tell->op = op;
	tell->bytes = bytes;
	tell->pid = pid;
	tell->by = by;
	tell->verdict = VERDICT_OF_WHO(s.who);
	tell->error = ctx[1];
	tell->state = IO_DONE_WHOLE;
	return 0;
}

/* ---- reclaim ----------------------------------------------------------------- */

static __always_inline int reclaim_begins(void)
{
	__u64 id = bpf_get_current_pid_tgid(), now;
	__u32 tid = (__u32)id;
	struct who w = {};

	if (skep_asleep(IO_UNATTENDED_PROCESS))
		return 0;
	who_is_it(&w);
	if (w.flags & PF_KTHREAD || excluded(id >> 32))
		return 0;
	now = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&reclaiming, &tid, &now, BPF_ANY))
		COUNT(reclaims_full);
	return 0;
}

static __always_inline int reclaim_ends(__u32 kind)
{
	__u64 id = bpf_get_current_pid_tgid(), took, *since;
	struct io_process *p;
	__u32 tid = (__u32)id;
	struct who w = {};

	since = bpf_map_lookup_elem(&reclaiming, &tid);
	if (!since)
		return 0;
	took = bpf_ktime_get_ns() - *since;
	bpf_map_delete_elem(&reclaiming, &tid);
	who_is_it(&w);
	p = process_of(id >> 32, w.start_ns);
	if (p) {
		ADD(p->reclaims[kind], 1);
		ADD(p->reclaim_ns[kind], took);
	}
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int on_reclaim_begin(void *ctx)
{
	return reclaim_begins();
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int on_reclaim_end(void *ctx)
{
	return reclaim_ends(IO_RECLAIM_HOST);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int on_memcg_reclaim_begin(void *ctx)
{
	return reclaim_begins();
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int on_memcg_reclaim_end(void *ctx)
{
	return reclaim_ends(IO_RECLAIM_CGROUP);
}

/* ---- delays ------------------------------------------------------------------ */

static __always_inline int delays_of(struct task_struct *t, __u64 *ret)
{
	struct task_struct___delays *with = (void *)t;
	struct task_delay_info *d;

	if (!bpf_core_field_exists(with->delays))
		return 0;
	d = with->delays;
	if (!d) /* delay accounting was off when it was forked */
		return 0;
	ret[IO_DELAY_BLOCK] = d->blkio_delay;
	ret[IO_DELAY_SWAPIN] = d->swapin_delay;
	ret[IO_DELAY_RECLAIM] = d->freepages_delay;
	ret[IO_DELAY_THRASHING] = d->thrashing_delay;
	return ret[0] || ret[1] || ret[2] || ret[3];
}

/* Every thread's end: only loaded where the kernel keeps delays (kernel.task_delayacct). */
SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *t = (void *)ctx[0], *leader;
	__u64 delays[IO_DELAYS] = {};
	struct io_process *p;

	if (t->flags & PF_KTHREAD || excluded(t->tgid) || !delays_of(t, delays) ||
	    skep_unattended(IO_UNATTENDED_PROCESS))
		return 0;
	leader = t->group_leader;
	p = process_of(t->tgid, leader->start_boottime);
	if (!p)
		return 0;
#pragma unroll
	for (int i = 0; i < IO_DELAYS; i++)
		ADD(p->delay_ns[i], delays[i]);
	return 0;
}

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *t = ctx->task, *leader;
	struct io_delays rec = {};

	/* from PF_EXITING on it is on_exit's: never counted twice */
	if (!t || t->flags & (PF_KTHREAD | PF_EXITING) || excluded(t->tgid) || !delays_of(t, rec.delay_ns))
		return 0;
	leader = t->group_leader;
	rec.start_ns = leader->start_boottime;
	rec.pid = t->tgid;
	bpf_seq_write(ctx->meta->seq, &rec, sizeof(rec));
	return 0;
}
