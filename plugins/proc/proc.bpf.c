// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/proc/proc.bpf.c - the life of processes, and their final exact totals.
 *
 * Nothing here is on a hot path: fork, exec, exit and free of processes, and an
 * iterator that user space runs when it wants samples.  All hooks are tp_btf: classic
 * tracepoints share one per-CPU guard and are skipped when they interrupt another BPF
 * program.
 *
 * The totals are read when the kernel frees the task (sched_process_free): at exit the
 * scheduler has not booked the last slice yet, and a short process would read as zero.
 * By the leader's free, __exit_signal() has folded every thread into signal_struct; what
 * that leaves out is added up in a map as threads are freed (proc.h, struct proc_threads).
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/kept.bpf.h>
#include <skep/bpf/path.bpf.h>
#include <skep/bpf/rules.bpf.h>
#include <skep/bpf/verdict.bpf.h>

#include "proc.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u32 exit_has_group_dead;    /* sched_process_exit(task, group_dead): since 6.16 */
const volatile __u32 cgroup_v1_memory;       /* 1: take the cgroup of the v1 memory controller, 0: of cgroup v2 */
const volatile __u64 wake_at = 1 << 20;      /* bytes waiting in the ring before the consumer is woken */
const volatile __u32 page_shift = 12;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct proc_counters);
} counters SEC(".maps");

/* Says PROC_LAYOUT to a skepd of another make, by how many entries it has. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PROC_LAYOUT);
	__type(key, __u32);
	__type(value, __u32);
} layout SEC(".maps");

/* For the next skepd; no program uses it. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct proc_reported);
} reported SEC(".maps");

struct proc_others others; /* user space reads it by its mapping */

/*
 * Where an exec record is put together.  One a CPU by index and not a PERCPU_ARRAY: a
 * per-CPU value cannot pass 32 KiB (PCPU_MIN_UNIT_SIZE).  A program stays on its CPU and
 * never nests (bpf_prog.active), so an element has one user at a time: of the two programs
 * for that hook each has its own.
 */
#define HEAD_ROOM 16384u
#define ENVIRON_PART 4096u
struct environ_walk {
	__u64 at, end; /* in the process: what is not in `part` yet */
	__u32 pos, len; /* of `part` */
	__u32 found_len;
	__u32 fault;
	char part[ENVIRON_PART + PROC_ENVIRON_ENTRY + 8];
	char found[PROC_ENVIRON_MAX + PROC_ENVIRON_ENTRY];
};
struct buffer {
	struct skep_walk walk;
	struct rules_work rules;
	__u64 verdict; /* of judge_exec */
	struct environ_walk environ;
	struct proc_exec exec;
	char data[HEAD_ROOM + PROC_ARGV_MAX + PROC_ENVIRON_MAX];
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by user space: one a CPU */
	__type(key, __u32);
	__type(value, struct buffer);
} buffers SEC(".maps");

struct oom_buffer {
	struct skep_walk walk;
	struct proc_oom oom;
	char data[8192];
};
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct oom_buffer);
} oom_buffers SEC(".maps");

/* Totals that the ring could not take: drained later by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct proc_unsent_key);
	__type(value, struct proc_final);
} unsent SEC(".maps");

/* Ends that it could not take, likewise: for hosts that hide frees they are all that comes (exited()). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, struct proc_unsent_key);
	__type(value, struct proc_exit);
} unsent_exits SEC(".maps");

/* What threads that are gone used: see proc.h. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, struct proc_threads_key);
	__type(value, struct proc_threads);
} threads SEC(".maps");

/* Cgroups whose path user space has been told. Full: paths are sent more often than needed, nothing is lost. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, __u8);
} cgroups_sent SEC(".maps");

static __always_inline struct proc_counters *my_counters(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&counters, &cpu);
}

#define COUNT(field_)                                      \
	do {                                               \
		struct proc_counters *c_ = my_counters();  \
		if (c_)                                    \
			__sync_fetch_and_add(&c_->field_, 1); \
	} while (0)

/* Wake-ups cost more than everything else together: only when the ring fills up; else a timer drains it. */
static __always_inline __u64 wake_flag(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/*
 * Half of the ring waits for skepd, which is away or behind.  A user whose programs have 32 KiB of arguments fills 4
 * MiB with 130 of them; everybody's records have room for longer when such arguments are cut.
 */
static __always_inline int crowded(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= 2 * wake_at;
}

/* len of 64 bits: of one of 32 the verifier of 5.10 forgets the bound as it is widened. */
static __always_inline int send_long(void *rec, __u64 len, __u32 type)
{
	int err = bpf_ringbuf_output(&ring, rec, len, wake_flag());
	struct proc_counters *c = my_counters();

	if (c && type < PROC_TYPES)
		__sync_fetch_and_add(err ? &c->dropped[type] : &c->sent[type], 1);
	return err;
}

static __always_inline int send(void *rec, __u32 len, __u32 type)
{
	return send_long(rec, len, type);
}

static __always_inline void head(struct proc_head *h, __u32 type, struct task_struct *leader)
{
	h->type = type;
	h->pid = leader->tgid;
	h->start_ns = leader->start_boottime;
	h->time_ns = bpf_ktime_get_boot_ns();
}

static __always_inline struct kernfs_node *cgroup_node(struct task_struct *p)
{
	if (cgroup_v1_memory) {
		int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
		struct cgroup_subsys_state *css = NULL;
		struct css_set *set = BPF_CORE_READ(p, cgroups);

		bpf_core_read(&css, sizeof(css), &set->subsys[memory & 15]);
		return BPF_CORE_READ(css, cgroup, kn);
	}
	return BPF_CORE_READ(p, cgroups, dfl_cgrp, kn);
}

static __always_inline __u64 node_id(struct kernfs_node *kn)
{
	return BPF_CORE_READ(kn, id);
}

static __always_inline __u32 session_of(struct task_struct *p)
{
	struct signal_struct *sig = p->signal;
	struct pid *sid = NULL;

	bpf_core_read(&sid, sizeof(sid), &sig->pids[PIDTYPE_SID]);
	return BPF_CORE_READ(sid, numbers[0].nr);
}

static __always_inline __u32 ns_pid_of(struct task_struct *p)
{
	struct pid *pid = BPF_CORE_READ(p, thread_pid);
	unsigned int level = BPF_CORE_READ(pid, level);
	int nr = 0;

	/* numbers[] ends the struct and is as long as the namespaces are deep: at most 32 (MAX_PID_NS_LEVEL) */
	if (level > 32)
		return 0;
	bpf_core_read(&nr, sizeof(nr), &pid->numbers[level].nr);
	return nr;
}

/* What signal_struct holds of the dead; I/O, run delay and what their last slices took are in `threads`. */
static __always_inline void sums_of_dead(struct proc_sums *s, struct signal_struct *sig)
{
	__builtin_memset(s, 0, sizeof(*s));
	s->cpu_ns = sig->sum_sched_runtime;
	s->utime_ns = sig->utime;
	s->stime_ns = sig->stime;
	s->nvcsw = sig->nvcsw;
	s->nivcsw = sig->nivcsw;
	s->min_flt = sig->min_flt;
	s->maj_flt = sig->maj_flt;
}

static __always_inline void sums_add_io(struct proc_sums *s, struct task_struct *t)
{
	s->rchar += t->ioac.rchar;
	s->wchar += t->ioac.wchar;
	s->syscr += t->ioac.syscr;
	s->syscw += t->ioac.syscw;
	s->read_bytes += t->ioac.read_bytes;
	s->write_bytes += t->ioac.write_bytes;
	s->cancelled_write_bytes += t->ioac.cancelled_write_bytes;
}

static __always_inline void sums_add_own(struct proc_sums *s, struct task_struct *t)
{
	s->cpu_ns += t->se.sum_exec_runtime;
	s->utime_ns += t->utime;
	s->stime_ns += t->stime;
	s->run_delay_ns += t->sched_info.run_delay;
	s->run_count += t->sched_info.pcount;
	s->nvcsw += t->nvcsw;
	s->nivcsw += t->nivcsw;
	s->min_flt += t->min_flt;
	s->maj_flt += t->maj_flt;
	sums_add_io(s, t);
}

static __always_inline void sums_add_gone_threads(struct proc_sums *s, struct signal_struct *sig, __u32 pid)
{
	struct proc_threads_key key = { .signal = (__u64)sig, .pid = pid };
	struct proc_threads *t = bpf_map_lookup_elem(&threads, &key);

	if (t) {
		s->run_delay_ns += t->run_delay_ns;
		s->run_count += t->run_count;
		s->rchar += t->rchar;
		s->wchar += t->wchar;
		s->syscr += t->syscr;
		s->syscw += t->syscw;
		s->read_bytes += t->read_bytes;
		s->write_bytes += t->write_bytes;
		s->cancelled_write_bytes += t->cancelled_write_bytes;
	}
}

/* What wait4 gives for the process (kernel/exit.c, wait_task_zombie). */
static __always_inline __u32 wait_status(struct task_struct *leader, struct signal_struct *sig)
{
	return sig->flags & SIGNAL_GROUP_EXIT ? sig->group_exit_code : leader->exit_code;
}

/* ---- programs that were skipped ---------------------------------------------- */

/*
 * A kernel that calls programs with preemption on (load.c) may put another task on the CPU in
 * the middle of one, and skips it for everybody else there until it goes on: for as long as that
 * takes no fork, exec or exit would be seen.  There each of these hooks has a second program,
 * called after the first, which takes care of what the first has not seen.
 */
const volatile __u32 preempted; /* set by user space before the load */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096); /* an entry lives from the one program to the other */
	__type(key, __u64);
	__type(value, __u8);
} seen_events SEC(".maps");

static __always_inline __u64 event_of(struct task_struct *p, __u32 type)
{
	return (__u64)type << 32 | (__u32)p->pid;
}

static __always_inline void seen(struct task_struct *p, __u32 type)
{
	__u64 key = event_of(p, type);
	__u8 one = 1;

	if (preempted)
		bpf_map_update_elem(&seen_events, &key, &one, BPF_ANY);
}

static __always_inline int seen_by_first(struct task_struct *p, __u32 type)
{
	__u64 key = event_of(p, type);
	struct proc_counters *c;

	if (bpf_map_delete_elem(&seen_events, &key) == 0)
		return 1;
	c = my_counters();
	if (c && type < PROC_TYPES)
		__sync_fetch_and_add(&c->recovered[type], 1);
	return 0;
}

#include "pending_forks.bpf.h"

/* ---- fork ------------------------------------------------------------------ */

static __always_inline int forked(struct task_struct *parent, struct task_struct *child)
{
	struct task_struct *real_parent, *parent_leader;
	const struct cred *cred;
	struct proc_pending_fork pending = {};
	struct proc_fork *rec = &pending.fork;
	__u32 pid = child->pid;
	__u8 *v;

	if (pid != child->tgid || child->flags & PF_KTHREAD)
		return 0;
	v = verdicts();
	if (v) {
		__u32 from = parent->tgid;
		__u8 byte = from < verdict_pids ? v[from] : 0;

		/* also clears what an earlier owner of this pid left behind */
		if (pid < verdict_pids)
			v[pid] = byte;
		if (byte >= SKEP_VERDICT_EXCLUDED) {
			pending_fork_inherit(parent, child, byte);
			return 0;
		}
	}
	if (skep_unattended(PROC_FORK))
		return 0;
	real_parent = child->real_parent;
	parent_leader = real_parent->group_leader;
	cred = child->real_cred;
	head(&rec->h, PROC_FORK, child);
	rec->parent_pid = real_parent->tgid;
	rec->parent_start_ns = parent_leader->start_boottime;
	rec->cgroup_id = node_id(cgroup_node(child));
	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->session = session_of(child);
	rec->ns_pid = ns_pid_of(child);
	__builtin_memcpy(rec->comm, child->comm, sizeof(rec->comm));
	if (pending_forks_used) /* its own first: whoever has children is somebody's ancestor */
		pending_fork_send(rec->parent_pid);
	if (!pending_fork_hold(pid, &pending))
		send(rec, sizeof(*rec), PROC_FORK);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	seen(child, PROC_FORK);
	return forked(parent, child);
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork_missed, struct task_struct *parent, struct task_struct *child)
{
	if (seen_by_first(child, PROC_FORK))
		return 0;
	return forked(parent, child);
}

/* ---- exec ------------------------------------------------------------------ */

static __always_inline struct kernfs_node *node_parent(struct kernfs_node *kn)
{
	struct kernfs_node___rcu *after = (void *)kn;
	struct kernfs_node___parent *before = (void *)kn;

	if (bpf_core_field_exists(after->__parent))
		return BPF_CORE_READ(after, __parent);
	return BPF_CORE_READ(before, parent);
}

/* A cgroup's path below its hierarchy's root, the same way; `room` a power of two. */
static __noinline int cgroup_step(struct skep_walk *w, char *data, __u32 room)
{
	struct kernfs_node *kn = (void *)w->dentry, *up = node_parent(kn);
	__u32 off = w->off;
	long n;

	if (!up || off > room - PROC_NAME_MAX)
		return 1;
	n = bpf_probe_read_kernel_str(data + (off & (room - 1)), PROC_NAME_MAX, BPF_CORE_READ(kn, name));
	if (n <= 0)
		return 1;
	w->off = off + n;
	w->dentry = (__u64)up;
	return 0;
}

static __always_inline void put_cgroup(struct skep_walk *w, char *data, __u32 room, struct kernfs_node *kn)
{
	w->dentry = (__u64)kn;
	for (int i = 0; i < PROC_CGROUP_DEPTH; i++)
		if (cgroup_step(w, data, room))
			break;
}

/* The exec excludes it, which was collected before. */
static __always_inline int now_excluded(struct task_struct *p, struct signal_struct *sig, __u32 generation, __u32 byte)
{
	struct proc_excluded rec;

	if (pending_fork_exclude(p))
		return 0;
	__builtin_memset(&rec, 0, sizeof(rec));
	head(&rec.h, PROC_EXCLUDED, p);
	sums_of_dead(&rec.sums, sig);
	if (rec.sums.cpu_ns)
		sums_add_gone_threads(&rec.sums, sig, p->tgid);
	sums_add_own(&rec.sums, p);
	rec.maxrss_pages = sig->maxrss;
	rec.byte = byte;
	rec.generation = generation;
	send(&rec, sizeof(rec), PROC_EXCLUDED);
	return 0;
}

/* An excluded process, or a descendant of one, that is not to be judged. Not static: see judge_exec. */
__noinline int stays_excluded(__u32 byte)
{
	struct skep_rules_set *set;
	struct skep_rules *r;

	if (byte < SKEP_VERDICT_EXCLUDED)
		return 0;
	r = rules_now();
	set = r ? rules_set(r) : NULL;
	return !set || rules_settled(set, byte);
}

/*
 * The exec of one that was excluded until now: its parent in the record is the nearest ancestor that is not. Not
 * static: see judge_exec.
 */
__noinline int parent_of_excluded(__u32 buffer)
{
	struct proc_pending_fork *pending;
	struct buffer *b;
	__u32 pid;

	b = bpf_map_lookup_elem(&buffers, &buffer);
	if (!b)
		return 0;
	pid = b->exec.h.pid;
	pending = bpf_map_lookup_elem(&pending_forks, &pid);
	if (!pending || !pending->excluded)
		return 0;
	b->exec.parent_pid = pending->fork.parent_pid;
	b->exec.parent_start_ns = pending->fork.parent_start_ns;
	bpf_map_delete_elem(&pending_forks, &pid);
	return 1;
}

#define JUDGED_EXCLUDED (1u << 31)
#define JUDGED_DECIDED (1u << 30)
#define JUDGED_BYTE 0xffu
#define JUDGED_UNKNOWN_SHIFT 8

/*
 * By the rules: the current task, whose program's path begins that buffer.  Returns the
 * verdict's byte, JUDGED_*, and the dimensions that user space is to tell of.  What the rules do
 * not ask for is not read: an excluded process has no other use of it.  Not static: so
 * it is verified once, by itself, and its ways do not multiply with the caller's (231,693 steps
 * where these are some thousand); up to 5.12 such a function takes numbers only.
 */
__noinline int judge_exec(__u32 buffer, __u32 byte)
{
	struct skep_rules *r = rules_now();
	struct skep_rules_set *set = r ? rules_set(r) : NULL;
	struct buffer *b = bpf_map_lookup_elem(&buffers, &buffer);
	struct task_struct *p = (void *)bpf_get_current_task();
	__u32 pid, exe_len, verdict_byte, hit, judged = 0;
	struct rules_work *w;
	__u8 *v = verdicts();

	if (!set || !b || !v || rules_settled(set, byte))
		return byte & JUDGED_BYTE;
	w = &b->rules;
	pid = b->exec.h.pid;
	if (pid >= verdict_pids)
		return byte & JUDGED_BYTE;
	__builtin_memset(&w->program, 0, sizeof(w->program));
	__builtin_memcpy(w->program.comm, b->exec.comm, sizeof(w->program.comm));
	exe_len = b->exec.exe_len;
	if (exe_len <= SKEP_RULES_PATH && !b->walk.cut) {
		w->program.len = exe_len;
		exe_len &= 255; /* changes nothing, but that the verifier (5.10) sees a bound */
		asm volatile("" : "+r"(exe_len));
		bpf_probe_read_kernel(w->program.path, exe_len & 255, b->data);
	}
	if (set->dimensions & 1u << SKEP_RULES_USER) {
		w->uid = BPF_CORE_READ(p, real_cred, uid.val);
		w->gid = BPF_CORE_READ(p, real_cred, gid.val);
	}
	if (set->dimensions & 1u << SKEP_RULES_CGROUP)
		w->cgroup_id = node_id(cgroup_node(p));
	if (set->dimensions & 1u << SKEP_RULES_NAMESPACES) {
		w->mount_ns = BPF_CORE_READ(p, nsproxy, mnt_ns, ns.inum);
		w->pid_ns = BPF_CORE_READ(p, nsproxy, pid_ns_for_children, ns.inum);
	}
	rules_judge(w, set, pid, b->exec.h.start_ns);
	if (w->decision.ask) {
		__sync_fetch_and_add(&r->asked, 1);
		verdict_byte = 0;
	} else {
		verdict_byte = w->decision.byte & JUDGED_BYTE;
		hit = w->decision.clause;
		if (hit > SKEP_RULES_CLAUSES)
			hit = SKEP_RULES_CLAUSES;
		__sync_fetch_and_add(&set->hits[hit], 1);
		judged = JUDGED_DECIDED;
	}
	b->rules.generation = set->generation;
	/* A group is the run's, which the process is in whatever it runs. */
	if (verdict_byte < SKEP_VERDICT_EXCLUDED && byte < SKEP_VERDICT_KEEP)
		verdict_byte |= byte;
	v[pid] = verdict_byte;
	if (verdict_byte >= SKEP_VERDICT_EXCLUDED)
		judged |= JUDGED_EXCLUDED;
	return verdict_byte | (w->decision.unknown & 255) << JUDGED_UNKNOWN_SHIFT | judged;
}

#include "environ.bpf.h"

static __always_inline int executed(struct task_struct *p, int old_pid, struct linux_binprm *bprm, __u32 which)
{
	__u32 buffer = bpf_get_smp_processor_id() * PROC_BUFFERS + which, pid = p->tgid, off, next, flags = 0;
	struct task_struct *real_parent, *parent_leader;
	unsigned long arg_start, arg_end;
	__u32 byte = verdict_of(pid), verdict;
	struct signal_struct *sig;
	struct kernfs_node *node;
	const struct cred *cred;
	struct proc_exec *rec;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct buffer *b;
	__u64 cgroup_id, size;
	long n;

	if (stays_excluded(byte) || skep_unattended(PROC_EXEC))
		return 0;
	b = bpf_map_lookup_elem(&buffers, &buffer);
	if (!b) {
		COUNT(no_buffer);
		return 0;
	}
	rec = &b->exec;
	sig = p->signal;
	mm = p->mm;
	fs = p->fs;
	cred = p->real_cred;

	head(&rec->h, PROC_EXEC, p);
	__builtin_memcpy(rec->comm, p->comm, sizeof(rec->comm));
	b->walk.off = 0;
	skep_path_put(&b->walk, b->data, HEAD_ROOM, __builtin_preserve_access_index(&mm->exe_file->f_path),
		      __builtin_preserve_access_index(&fs->root));
	rec->exe_len = b->walk.off;
	flags |= b->walk.cut ? PROC_EXEC_EXE_CUT : 0;
	b->verdict = verdict = judge_exec(buffer, byte);
	if (verdict & JUDGED_EXCLUDED)
		return byte < SKEP_VERDICT_EXCLUDED ? now_excluded(p, sig, b->rules.generation, verdict & JUDGED_BYTE)
						    : 0;
	if (pending_forks_used && byte < SKEP_VERDICT_EXCLUDED)
		pending_fork_end(pid);

	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->mount_ns = BPF_CORE_READ(p, nsproxy, mnt_ns, ns.inum);
	rec->pid_ns = BPF_CORE_READ(p, nsproxy, pid_ns_for_children, ns.inum);
	node = cgroup_node(p);
	cgroup_id = node_id(node);
	rec->cgroup_id = cgroup_id;

	off = b->walk.off & (HEAD_ROOM - 1);
	n = bpf_probe_read_kernel_str(b->data + off, PROC_PATH_MAX, BPF_CORE_READ(bprm, filename));
	rec->filename_len = n > 0 ? n : 0;
	off += rec->filename_len;
	b->walk.off = off;

	real_parent = p->real_parent;
	parent_leader = real_parent->group_leader;
	rec->parent_pid = real_parent->tgid;
	rec->parent_start_ns = parent_leader->start_boottime;
	if (byte >= SKEP_VERDICT_EXCLUDED)
		parent_of_excluded(buffer);
	sums_of_dead(&rec->sums, sig);
	if (rec->sums.cpu_ns) /* some thread has died in it */
		sums_add_gone_threads(&rec->sums, sig, pid);
	sums_add_own(&rec->sums, p);
	rec->maxrss_pages = sig->maxrss;
	rec->session = session_of(p);
	rec->tid = old_pid;
	rec->ns_pid = ns_pid_of(p);

	skep_path_put(&b->walk, b->data, HEAD_ROOM, __builtin_preserve_access_index(&fs->pwd),
		      __builtin_preserve_access_index(&fs->root));
	rec->cwd_len = b->walk.off - off;
	flags |= b->walk.cut ? PROC_EXEC_CWD_CUT : 0;
	off = b->walk.off;

	rec->cgroup_len = 0;
	if (!bpf_map_lookup_elem(&cgroups_sent, &cgroup_id)) {
		put_cgroup(&b->walk, b->data, HEAD_ROOM, node);
		rec->cgroup_len = b->walk.off - off;
		off = b->walk.off;
	}

	/* resident: exec has just written them; after swap-out a page may be missing */
	arg_start = mm->arg_start;
	arg_end = mm->arg_end;
	next = 0;
	rec->argv_total = 0;
	if (arg_end > arg_start) {
		__u64 total = arg_end - arg_start;

		rec->argv_total = total > 0xffffffffu ? 0xffffffffu : total;
		next = total > PROC_ARGV_MAX ? PROC_ARGV_MAX : total;
		if (next > PROC_ARGV_SPARE && crowded()) {
			next = PROC_ARGV_SPARE;
			COUNT(argv_spared);
		}
		off &= HEAD_ROOM - 1;
		/* the verifier wants the bound where it is used */
		asm volatile("" : "+r"(next));
		if (next > PROC_ARGV_MAX)
			next = PROC_ARGV_MAX;
		if (bpf_probe_read_user(b->data + off, next, (void *)arg_start)) {
			next = 0;
			flags |= PROC_EXEC_ARGV_FAULT;
			COUNT(argv_faults);
		}
	}
	rec->argv_len = next;
	off = (off & (HEAD_ROOM - 1)) + next;
	rec->environ_len = 0;
	if (environ_names && read_environ(&b->environ, buffer, mm->env_start, mm->env_end) > 0) {
		/* of 64 bits: for fewer clang compares another register than it uses */
		__u64 len = b->environ.found_len, at = off;

		asm volatile("" : "+r"(len), "+r"(at));
		if (len > PROC_ENVIRON_MAX)
			len = PROC_ENVIRON_MAX;
		if (at > HEAD_ROOM + PROC_ARGV_MAX)
			at = HEAD_ROOM + PROC_ARGV_MAX;
		bpf_probe_read_kernel(b->data + at, len, b->environ.found);
		rec->environ_len = len;
		off = at + len;
	}
	if (environ_names && b->environ.fault) {
		flags |= PROC_EXEC_ENVIRON_FAULT;
		COUNT(environ_faults);
	}
	verdict = b->verdict;
	flags |= verdict & JUDGED_DECIDED ? PROC_EXEC_JUDGED : 0;
	flags |= byte >= SKEP_VERDICT_EXCLUDED ? PROC_EXEC_WAS_EXCLUDED : 0;
	rec->flags = flags | (verdict >> JUDGED_UNKNOWN_SHIFT & 255) << PROC_EXEC_UNKNOWN_SHIFT;
	size = off + sizeof(*rec);
	asm volatile("" : "+r"(size));
	if (size > sizeof(*rec) + sizeof(b->data))
		size = sizeof(*rec) + sizeof(b->data);
	if (!send_long(rec, size, PROC_EXEC) && rec->cgroup_len) {
		__u8 one = 1;

		bpf_map_update_elem(&cgroups_sent, &cgroup_id, &one, BPF_ANY);
	}
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	seen(p, PROC_EXEC);
	return executed(p, old_pid, bprm, 0);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec_missed, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	if (seen_by_first(p, PROC_EXEC))
		return 0;
	return executed(p, old_pid, bprm, 1);
}

/* ---- exit ------------------------------------------------------------------ */

static __always_inline __u64 rss_pages(struct mm_struct *mm)
{
	struct mm_struct___percpu *after = (void *)mm;
	struct mm_struct___atomic *before = (void *)mm;
	__s64 sum = 0, file = 0, anon = 0, shmem = 0;

	/* MM_FILEPAGES 0, MM_ANONPAGES 1, MM_SHMEMPAGES 3 (include/linux/mm_types_task.h, since 4.5) */
	/*
	 * By field and not by type: for a type that the kernel lacks libbpf 1.1 looks through the
	 * modules' BTF, which needs CAP_SYS_ADMIN (BPF_BTF_GET_NEXT_ID).
	 */
	if (bpf_core_field_exists(before->rss_stat.count)) {
		file = BPF_CORE_READ(before, rss_stat.count[0].counter);
		anon = BPF_CORE_READ(before, rss_stat.count[1].counter);
		shmem = BPF_CORE_READ(before, rss_stat.count[3].counter);
	} else if (bpf_core_field_exists(after->rss_stat)) {
		file = BPF_CORE_READ(after, rss_stat[0].count);
		anon = BPF_CORE_READ(after, rss_stat[1].count);
		shmem = BPF_CORE_READ(after, rss_stat[3].count);
	}
	sum += file > 0 ? file : 0;
	sum += anon > 0 ? anon : 0;
	sum += shmem > 0 ? shmem : 0;
	return sum;
}

static __always_inline int exited(__u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct proc_unsent_key key = {};
	struct proc_exit rec = {};
	struct signal_struct *sig;
	struct task_struct *leader;
	struct mm_struct *mm;

	if (p->flags & PF_KTHREAD)
		return 0;
	sig = p->signal;
	/*
	 * The group ends with its last thread, which need not be the leader.  Before 6.16
	 * two threads that exit together can both read 0: user space takes the first.
	 */
	if (exit_has_group_dead) {
		if (!(ctx[1] & 1))
			return 0;
	} else if (sig->live.counter) {
		return 0;
	}
	if (excluded(p->tgid) || skep_unattended(PROC_EXIT))
		return 0;
	if (pending_forks_used) {
		pending_fork_end(p->tgid);
		pending_forks_of_children();
	}
	leader = p->group_leader;
	head(&rec.h, PROC_EXIT, leader);
	/*
	 * For the case that the final record does not come.  RCU frees a task in whatever
	 * context its softirq interrupts, and a hardened kernel may keep BPF out of some task's
	 * context: on a 6.18 of that kind every free that ran in one protected daemon's context
	 * was unseen by BPF (and seen by ftrace), 1 to 15 of 1,000.  This hook runs in the dying
	 * task's own.
	 */
	sums_of_dead(&rec.sums, sig);
	if (rec.sums.cpu_ns)
		sums_add_gone_threads(&rec.sums, sig, p->tgid);
	sums_add_own(&rec.sums, p);
	rec.status = wait_status(leader, sig);
	rec.maxrss_pages = sig->maxrss;
	rec.cgroup_id = node_id(cgroup_node(p));
	mm = p->mm;
	if (mm) {
		__u64 peak = mm->hiwater_rss, now = rss_pages(mm);

		rec.rss_peak_pages = peak > now ? peak : now;
	}
	if (!send(&rec, sizeof(rec), PROC_EXIT))
		return 0;
	key.start_ns = rec.h.start_ns;
	key.pid = rec.h.pid;
	if (bpf_map_update_elem(&unsent_exits, &key, &rec, BPF_ANY))
		COUNT(exits_full);
	else
		COUNT(exits_delayed);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int on_exit(__u64 *ctx)
{
	seen((struct task_struct *)ctx[0], PROC_EXIT);
	return exited(ctx);
}

SEC("tp_btf/sched_process_exit")
int on_exit_missed(__u64 *ctx)
{
	if (seen_by_first((struct task_struct *)ctx[0], PROC_EXIT))
		return 0;
	return exited(ctx);
}

/* ---- free: the truth ------------------------------------------------------- */

static __always_inline void thread_free(struct task_struct *t, __u32 pid)
{
	struct proc_threads_key key = { .signal = (__u64)t->signal, .pid = pid };
	struct proc_threads zero = {}, *sum = bpf_map_lookup_elem(&threads, &key);

	if (!sum) {
		if (bpf_map_update_elem(&threads, &key, &zero, BPF_NOEXIST) < 0) {
			/* full, or another CPU was first */
		}
		sum = bpf_map_lookup_elem(&threads, &key);
		if (!sum) {
			COUNT(threads_full);
			return;
		}
	}
	__sync_fetch_and_add(&sum->n, 1);
	__sync_fetch_and_add(&sum->cpu_ns, t->se.sum_exec_runtime);
	__sync_fetch_and_add(&sum->run_delay_ns, t->sched_info.run_delay);
	__sync_fetch_and_add(&sum->run_count, t->sched_info.pcount);
	__sync_fetch_and_add(&sum->switches, t->nvcsw + t->nivcsw);
	__sync_fetch_and_add(&sum->faults, t->min_flt + t->maj_flt);
	if (t->ioac.syscr + t->ioac.syscw + t->ioac.read_bytes + t->ioac.write_bytes) {
		__sync_fetch_and_add(&sum->rchar, t->ioac.rchar);
		__sync_fetch_and_add(&sum->wchar, t->ioac.wchar);
		__sync_fetch_and_add(&sum->syscr, t->ioac.syscr);
		__sync_fetch_and_add(&sum->syscw, t->ioac.syscw);
		__sync_fetch_and_add(&sum->read_bytes, t->ioac.read_bytes);
		__sync_fetch_and_add(&sum->write_bytes, t->ioac.write_bytes);
		__sync_fetch_and_add(&sum->cancelled_write_bytes, t->ioac.cancelled_write_bytes);
	}
}

static __always_inline void kernel_gone(struct task_struct *t)
{
	__sync_fetch_and_add(&others.kernel_gone_ns, t->se.sum_exec_runtime);
}

static __always_inline void excluded_gone(struct task_struct *t, __u8 byte)
{
	struct skep_rules *r = rules_now();
	__u32 pid = t->tgid;

	if (!r)
		return;
	__sync_fetch_and_add(&r->excluded_ns[byte & 127], t->se.sum_exec_runtime);
	if ((__u32)t->pid != pid)
		return;
	__sync_fetch_and_add(&r->excluded[byte & 127], 1);
	if (byte != SKEP_VERDICT_NOBODY)
		pending_fork_gone(t);
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *p)
{
	struct proc_unsent_key key = {};
	struct proc_final rec = {};
	struct signal_struct *sig;
	__u32 pid = p->tgid;
	__u8 byte;

	if (p->flags & PF_KTHREAD) {
		kernel_gone(p);
		return 0;
	}
	byte = verdict_of(pid);
	if (byte >= SKEP_VERDICT_EXCLUDED) {
		excluded_gone(p, byte);
		return 0;
	}
	if (skep_unattended(p->pid == pid ? PROC_FINAL : SKEP_KEPT_UNCOUNTED))
		return 0;
	if (p->pid != pid) {
		thread_free(p, pid);
		return 0;
	}
	pending_fork_gone(p); /* its exit was missed */
	sig = p->signal;
	head(&rec.h, PROC_FINAL, p);
	sums_of_dead(&rec.sums, sig);
	rec.signal_cpu_ns = rec.sums.cpu_ns;
	rec.sums.cpu_ns = p->se.sum_exec_runtime;
	rec.sums.run_delay_ns = p->sched_info.run_delay;
	rec.sums.run_count = p->sched_info.pcount;
	sums_add_io(&rec.sums, p);
	rec.switches = rec.sums.nvcsw + rec.sums.nivcsw - p->nvcsw - p->nivcsw;
	rec.faults = rec.sums.min_flt + rec.sums.maj_flt - p->min_flt - p->maj_flt;
	/*
	 * Threads' frees come by RCU in any order.  The ones so far are in the map; each
	 * task_struct holds a reference on signal_struct, so a count over 1 (ours) tells
	 * that others may still be on their way.
	 */
	if (rec.signal_cpu_ns > rec.sums.cpu_ns || (__s64)rec.switches > 0 || sig->sigcnt.refs.counter > 1)
		rec.flags |= PROC_FINAL_THREADS;
	rec.maxrss_pages = sig->maxrss;
	rec.cgroup_id = node_id(cgroup_node(p));
	rec.signal = (__u64)sig;
	rec.status = wait_status(p, sig);
	if (!send(&rec, sizeof(rec), PROC_FINAL))
		return 0;
	rec.flags |= PROC_FINAL_DELAYED;
	key.start_ns = rec.h.start_ns;
	key.pid = pid;
	if (bpf_map_update_elem(&unsent, &key, &rec, BPF_ANY))
		COUNT(unsent_full);
	else
		COUNT(delayed);
	return 0;
}

/* ---- out of memory --------------------------------------------------------- */

/*
 * Which limit was hit: the first level on the way up that is full.  The victim's own
 * memory cgroup is below it (mm/memcontrol.c, mem_cgroup_oom_synchronize), so the walk
 * from the victim passes it.
 */
static __always_inline void oom(struct task_struct *task, __u32 pid, __u64 start_ns)
{
	int memory = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
	struct cgroup_subsys_state *css = NULL;
	struct page_counter *pc;
	struct oom_buffer *b;
	struct css_set *set;
	__u32 zero = 0, len;

	b = bpf_map_lookup_elem(&oom_buffers, &zero);
	if (!b) {
		COUNT(no_buffer);
		return;
	}
	__builtin_memset(&b->oom, 0, sizeof(b->oom));
	b->oom.h.type = PROC_OOM;
	b->oom.h.pid = pid;
	b->oom.h.start_ns = start_ns;
	b->oom.h.time_ns = bpf_ktime_get_boot_ns();

	set = BPF_CORE_READ(task, cgroups);
	bpf_core_read(&css, sizeof(css), &set->subsys[memory & 15]);
	pc = css ? (void *)css - bpf_core_field_offset(struct mem_cgroup, css) +
			     bpf_core_field_offset(struct mem_cgroup, memory)
		 : NULL;
	for (int i = 0; i < 24 && pc; i++) {
		unsigned long max = BPF_CORE_READ(pc, max);
		long usage = BPF_CORE_READ(pc, usage.counter);

		/*
		 * charges come in batches of up to 64 pages (MEMCG_CHARGE_BATCH), so full means "less than that is
		 * left"
		 */
		if (max < (~0ul >> 1) >> page_shift && usage + 64 >= (long)max) {
			struct mem_cgroup *memcg = (void *)pc - bpf_core_field_offset(struct mem_cgroup, memory);
			struct kernfs_node *kn = BPF_CORE_READ(memcg, css.cgroup, kn);

			b->oom.limit_pages = max;
			b->oom.usage_pages = usage;
			b->oom.peak_pages = BPF_CORE_READ(pc, watermark);
			b->oom.cgroup_id = node_id(kn);
			b->walk.off = 0;
			put_cgroup(&b->walk, b->data, 4096, kn);
			b->oom.cgroup_len = b->walk.off;
			break;
		}
		pc = BPF_CORE_READ(pc, parent);
	}
	len = b->oom.cgroup_len;
	if (len > sizeof(b->data))
		len = sizeof(b->data);
	send(&b->oom, sizeof(b->oom) + len, PROC_OOM);
}

/* mark_victim(task, uid): since 6.9 */
SEC("tp_btf/mark_victim")
int BPF_PROG(on_victim_task, struct task_struct *task)
{
	struct task_struct *leader = task->group_leader;

	if (excluded(task->tgid))
		return 0;
	pending_fork_send(task->tgid);
	oom(task, task->tgid, leader->start_boottime);
	return 0;
}

/*
 * mark_victim(int pid): before 6.9.  The pid may be a thread's; user space finds the
 * process.  The cgroup is taken from the allocating task: it is below the same limit.
 */
SEC("tp_btf/mark_victim")
int on_victim_pid(__u64 *ctx)
{
	pending_fork_send((__u32)ctx[0]);
	oom((void *)bpf_get_current_task(), (__u32)ctx[0], 0);
	return 0;
}

/* ---- live processes -------------------------------------------------------- */

static __always_inline __u32 live_flags(struct task_struct *t)
{
	struct task_struct___new_state *after = (void *)t;
	struct task_struct___old_state *before = (void *)t;
	unsigned int state;

	if (t->exit_state)
		return PROC_LIVE_ZOMBIE;
	if (bpf_core_field_exists(after->__state))
		state = BPF_CORE_READ(after, __state);
	else
		state = BPF_CORE_READ(before, state);
	if (state == 0)
		return PROC_LIVE_RUNNING;
	/* TASK_UNINTERRUPTIBLE without TASK_NOLOAD (idle) */
	return (state & 0x402) == 2 ? PROC_LIVE_BLOCKED : 0;
}

static __always_inline void other_seen(struct task_struct *t)
{
	/* passes do not overlap: no other writer */
	if (t->flags & PF_KTHREAD)
		others.kernel_seen_ns += t->se.sum_exec_runtime;
	else
		others.excluded_seen_ns += t->se.sum_exec_runtime;
}

/* Not on the stack, which has 512 bytes; passes do not overlap, so it has one user. */
static struct proc_leader leader_record;

SEC("iter/task")
int on_task(struct bpf_iter__task *ctx)
{
	struct task_struct *p = ctx->task, *real_parent, *leader;
	struct seq_file *seq = ctx->meta->seq;
	struct proc_leader *rec = &leader_record;
	struct signal_struct *sig;
	const struct cred *cred;
	struct mm_struct *mm;
	__u32 pid;

	if (!p)
		return 0;
	pid = p->tgid;
	if (p->flags & PF_KTHREAD || excluded(pid)) {
		other_seen(p);
		return 0;
	}
	if (p->pid != pid) {
		struct proc_thread t = {};

		if (p->exit_state) /* already in signal_struct, or about to be: its leader was read before */
			return 0;
		t.h.type = PROC_THREAD;
		t.h.pid = pid;
		t.h.start_ns = p->start_boottime;
		t.flags = live_flags(p);
		sums_add_own(&t.sums, p);
		bpf_seq_write(seq, &t, sizeof(t));
		return 0;
	}
	if (pending_forks_used) /* it lives on without an exec */
		pending_fork_send(pid);
	sig = p->signal;
	cred = p->real_cred;
	real_parent = p->real_parent;
	leader = real_parent->group_leader;
	__builtin_memset(rec, 0, sizeof(*rec));
	head(&rec->h, PROC_LEADER, p);
	sums_of_dead(&rec->sums, sig);
	if (rec->sums.cpu_ns)
		sums_add_gone_threads(&rec->sums, sig, pid);
	sums_add_own(&rec->sums, p);
	rec->parent_pid = real_parent->tgid;
	rec->parent_start_ns = leader->start_boottime;
	rec->cgroup_id = node_id(cgroup_node(p));
	rec->maxrss_pages = sig->maxrss;
	rec->uid = cred->uid.val;
	rec->gid = cred->gid.val;
	rec->session = session_of(p);
	rec->ns_pid = ns_pid_of(p);
	rec->threads = sig->nr_threads;
	rec->flags = live_flags(p);
	/* a dead leader whose threads live on is no zombie to be reaped */
	if (rec->flags & PROC_LIVE_ZOMBIE && sig->live.counter > 0)
		rec->flags &= ~PROC_LIVE_ZOMBIE;
	mm = p->mm;
	if (mm) {
		rec->rss_pages = rss_pages(mm);
		rec->rss_peak_pages = mm->hiwater_rss;
		if (rec->rss_peak_pages < rec->rss_pages)
			rec->rss_peak_pages = rec->rss_pages;
	}
	__builtin_memcpy(rec->comm, p->comm, sizeof(rec->comm));
	bpf_seq_write(seq, rec, sizeof(*rec));
	return 0;
}
