// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/cgroup/cgroup.bpf.c - reports when cgroups begin, fall empty and end. The kernel removes a cgroup's files
 * before a reader could open them, but keeps its structs: css_killed_work_fn() needs cgroup_mutex, which rmdir holds
 * around the tracepoint (kernel/cgroup/cgroup.c, the same from 5.10 to 7.2). So the program reads the last figures from
 * the structs. None of these hooks is on a hot path.
 */
#include <skep/bpf/kernel.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "cgroup.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct cgroup_root___cg {
	int hierarchy_id;
} __attribute__((preserve_access_index));

struct cgroup___cg {
	struct kernfs_node *kn;
	struct cgroup_root___cg *root;
	struct cgroup_subsys_state *subsys[16];
	int nr_descendants;
} __attribute__((preserve_access_index));

struct page_counter___cg {
	unsigned long failcnt;
} __attribute__((preserve_access_index));

struct mem_cgroup___cg {
	atomic_long_t memory_events[8];
} __attribute__((preserve_access_index));

struct cfs_bandwidth___cg {
	int nr_periods;
	int nr_throttled;
	__u64 throttled_time;
} __attribute__((preserve_access_index));

struct task_group___cg {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth___cg cfs_bandwidth;
} __attribute__((preserve_access_index));

enum cgroup_subsys_id___cg {
	cpu_cgrp_id = 1, /* the values differ by kernel configuration: read them with bpf_core_enum_value() */
};

enum memcg_memory_event {
	MEMCG_HIGH = 1,
	MEMCG_MAX,
	MEMCG_OOM,
	MEMCG_OOM_KILL,
};

const volatile __s32 hierarchy; /* the hierarchy of our cgroups: 0 is v2, else v1's of the memory controller */

/* Read by user space through the skeleton's memory. */
__u64 lost_events;  /* the ring was full */
__u64 lost_seen;    /* the map was full: skep reports the end of such a cgroup only if user space had sampled it */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} ring SEC(".maps");

/* Cgroups that have their own records, or that began while the probe watched. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct cgroup_seen);
} seen SEC(".maps");

struct buffer {
	struct cgroup_event event;
	char path[2 * CGROUP_PATH_ROOM]; /* half of it is used: the verifier of 5.10 sees only the mask */
};

/* One buffer for each type of event: a hook may interrupt another one, but never its own type. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CGROUP_GONE + 1);
	__type(key, __u32);
	__type(value, struct buffer);
} buffers SEC(".maps");

static __always_inline int is_ours(struct cgroup *cgrp)
{
	struct cgroup___cg *c = (void *)cgrp;

	return BPF_CORE_READ(c, root, hierarchy_id) == hierarchy;
}

static __always_inline __u64 id_of(struct cgroup *cgrp)
{
	return BPF_CORE_READ(cgrp, kn, id);
}

static __always_inline struct buffer *event_of(struct cgroup *cgrp, __u32 type)
{
	struct buffer *b = bpf_map_lookup_elem(&buffers, &type);

	if (!b)
		return NULL;
	__builtin_memset(&b->event, 0, sizeof(b->event));
	b->event.time_ns = bpf_ktime_get_boot_ns();
	b->event.id = id_of(cgrp);
	b->event.type = type;
	return b;
}

/* Wakes the reader at once: user space reads an empty cgroup before its maker removes it. */
static __always_inline void send(struct buffer *b, const char *path)
{
	long n = bpf_probe_read_kernel_str(b->path, CGROUP_PATH_ROOM, path);

	b->event.path_len = n > 0 && n <= CGROUP_PATH_ROOM ? n : 0;
	if (bpf_ringbuf_output(&ring, b, sizeof(b->event) + (b->event.path_len & (2 * CGROUP_PATH_ROOM - 1)), 0))
		__sync_fetch_and_add(&lost_events, 1);
}

static __always_inline void mark(__u64 id, __u64 flags)
{
	struct cgroup_seen *old = bpf_map_lookup_elem(&seen, &id), fresh = { .flags = flags };

	if (old)
		old->flags |= flags;
	else if (bpf_map_update_elem(&seen, &id, &fresh, BPF_ANY))
		__sync_fetch_and_add(&lost_seen, 1);
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_mkdir, struct cgroup *cgrp, const char *path)
{
	struct buffer *b;

	if (!is_ours(cgrp))
		return 0;
	b = event_of(cgrp, CGROUP_BEGUN);
	if (!b)
		return 0;
	b->event.flags = CGROUP_BORN;
	/* A cgroup that a run's process makes belongs to the run, also when processes start in it (clone3). */
	if (!excluded(bpf_get_current_pid_tgid() >> 32))
		b->event.flags |= CGROUP_WANTED;
	mark(b->event.id, b->event.flags);
	send(b, path);
	return 0;
}

SEC("tp_btf/cgroup_rename")
int BPF_PROG(on_rename, struct cgroup *cgrp, const char *path)
{
	struct buffer *b;

	if (!is_ours(cgrp))
		return 0;
	b = event_of(cgrp, CGROUP_RENAMED);
	if (b)
		send(b, path);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *cgrp, const char *path, struct task_struct *task)
{
	if (!is_ours(cgrp) || excluded(task->tgid))
		return 0;
	mark(id_of(cgrp), CGROUP_WANTED);
	return 0;
}

/*
 * When the last process leaves a cgroup, the kernel also reports each ancestor that becomes empty by that. The figures
 * of an ancestor repeat those of the cgroups below it, which have records of their own.
 */
static __always_inline int has_children(struct cgroup *cgrp)
{
	struct cgroup___cg *c = (void *)cgrp;

	return BPF_CORE_READ(c, nr_descendants) > 0;
}

SEC("tp_btf/cgroup_notify_populated")
int BPF_PROG(on_populated, struct cgroup *cgrp, const char *path, int populated)
{
	struct cgroup_seen *s;
	struct buffer *b;
	__u64 id, now;

	if (populated || !is_ours(cgrp) || has_children(cgrp))
		return 0;
	id = id_of(cgrp);
	s = bpf_map_lookup_elem(&seen, &id);
	if (!s || !(s->flags & CGROUP_WANTED))
		return 0;
	now = bpf_ktime_get_boot_ns();
	if (now - s->empty_ns < CGROUP_EMPTY_EVERY_NS)
		return 0;
	s->empty_ns = now;
	b = event_of(cgrp, CGROUP_EMPTY);
	if (!b)
		return 0;
	b->event.flags = (__u32)s->flags;
	send(b, path);
	return 0;
}

static __always_inline struct cgroup_subsys_state *css_of(struct cgroup *cgrp, int subsys)
{
	struct cgroup___cg *c = (void *)cgrp;
	struct cgroup_subsys_state *css = NULL;

	bpf_core_read(&css, sizeof(css), &c->subsys[subsys & 15]);
	return css;
}

static __always_inline __u64 memory_event(struct mem_cgroup *memcg, int event)
{
	struct mem_cgroup___cg *m = (void *)memcg;
	long n = 0;

	bpf_core_read(&n, sizeof(n), &m->memory_events[event & 7].counter);
	return n;
}

static __always_inline void put_memory(struct cgroup_event *e, struct cgroup *cgrp)
{
	struct cgroup_subsys_state *css;
	struct page_counter___cg *old;
	struct page_counter *pc;
	struct mem_cgroup *memcg;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
		return;
	css = css_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id));
	if (!css)
		return;
	memcg = (void *)css - bpf_core_field_offset(struct mem_cgroup, css);
	pc = (void *)memcg + bpf_core_field_offset(struct mem_cgroup, memory);
	e->usage_pages = BPF_CORE_READ(pc, usage.counter);
	e->peak_pages = BPF_CORE_READ(pc, watermark);
	e->limit_pages = BPF_CORE_READ(pc, max);
	e->high_events = memory_event(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_HIGH));
	e->max_events = memory_event(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_MAX));
	e->oom_events = memory_event(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM));
	e->oom_kills = memory_event(memcg, bpf_core_enum_value(enum memcg_memory_event, MEMCG_OOM_KILL));
	old = (void *)pc;
	if (hierarchy && bpf_core_field_exists(old->failcnt)) /* the same figure as memory.failcnt of v1 */
		e->max_events = BPF_CORE_READ(old, failcnt);
	e->flags |= CGROUP_MEMORY;
}

/* Only v2 has the cpu controller in the same hierarchy. */
static __always_inline void put_throttling(struct cgroup_event *e, struct cgroup *cgrp)
{
	struct cgroup_subsys_state *css;
	struct task_group___cg *tg;

	if (!bpf_core_enum_value_exists(enum cgroup_subsys_id___cg, cpu_cgrp_id))
		return;
	css = css_of(cgrp, bpf_core_enum_value(enum cgroup_subsys_id___cg, cpu_cgrp_id));
	if (!css)
		return;
	tg = (void *)css - bpf_core_field_offset(struct task_group___cg, css);
	if (!bpf_core_field_exists(tg->cfs_bandwidth)) /* CONFIG_CFS_BANDWIDTH=n leaves it empty */
		return;
	e->periods = (__u32)BPF_CORE_READ(tg, cfs_bandwidth.nr_periods);
	e->throttled_periods = (__u32)BPF_CORE_READ(tg, cfs_bandwidth.nr_throttled);
	e->throttled_ns = BPF_CORE_READ(tg, cfs_bandwidth.throttled_time);
	e->flags |= CGROUP_CPU;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_rmdir, struct cgroup *cgrp, const char *path)
{
	struct cgroup_seen *s;
	struct buffer *b;
	__u64 id;

	if (!is_ours(cgrp))
		return 0;
	b = event_of(cgrp, CGROUP_GONE);
	if (!b)
		return 0;
	id = b->event.id;
	s = bpf_map_lookup_elem(&seen, &id);
	if (s) {
		b->event.flags = (__u32)s->flags;
		bpf_map_delete_elem(&seen, &id);
	}
	put_memory(&b->event, cgrp);
	put_throttling(&b->event, cgrp);
	send(b, path);
	return 0;
}
