// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/io/filelat.bpf.c - how long calls on files take, by process and file.  Loaded while the
 * detail "filelat" is attached.
 *
 * Between the beginning and the end of a system call lies what the program waits for: page cache,
 * file system, network, disk.  That is measured here, on every kernel alike, for the calls that
 * name a file; what programs do through memory (mmap) or io_uring is no call.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/hist.bpf.h>
#include <skep/bpf/path.bpf.h>
#include <skep/bpf/scope.bpf.h>

#include <skep/bpf/files.bpf.h>

#include "filelat.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u64 wake_at; /* bytes in the ring before user space is woken */
const volatile __u8 calls_native[FILELAT_CALLS], calls_32[FILELAT_CALLS];

__u32 groups[SKEP_SCOPE_SLOTS]; /* number of the attachment that has the slot now */
__u32 newest;                   /* the highest of these numbers that there has been */
struct filelat_counters counters;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct skep_file_key);
	__type(value, struct filelat_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u64);
	__type(value, struct filelat_call);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} paths SEC(".maps");

struct work {
	struct skep_file_scratch s;
	struct skep_file_key others;   /* the row of all that have none of their own */
	__u64 slot, ns, bytes, failed; /* of the call */
	__u64 newest;                  /* attachment when it began */
	/* attachments; here, as the verifier of 5.10 would follow each of its 2^16 values in a register */
	__u64 mask;
	struct filelat_row fresh;      /* what a row begins as: too large for the stack */
};
/* Of the program at the beginning of calls, and of the one at their end: they can interrupt each other. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, struct work);
} work SEC(".maps");

static __always_inline struct work *my_work(__u32 which)
{
	return bpf_map_lookup_elem(&work, &which);
}

static __always_inline struct filelat_row *row_of(struct work *w)
{
	struct filelat_row *row = bpf_map_lookup_elem(&rows, &w->s.key);

	if (row)
		return row;
	w->fresh.head.id = (__u64)(bpf_get_smp_processor_id() + 1) << 44 | ++w->s.ids;
	w->fresh.head.first_ns = bpf_ktime_get_boot_ns();
	/* BPF_NOEXIST: another CPU may have been first */
	bpf_map_update_elem(&rows, &w->s.key, &w->fresh, BPF_NOEXIST);
	row = bpf_map_lookup_elem(&rows, &w->s.key);
	if (row)
		return row;
	/* full: this one has been there from the beginning */
	w->others.group = w->s.key.group;
	w->others.what = w->s.key.what;
	__sync_fetch_and_add(&counters.others, 1);
	return bpf_map_lookup_elem(&rows, &w->others);
}

/*
 * The call of my_work(1) into the row of the attachment in that slot.  Not static, so that the
 * verifier looks at it once and not at each call.
 */
__noinline int count(__u32 slot)
{
	struct work *w = my_work(1);
	struct filelat_row *row;
	__u64 at;

	if (!w)
		return 0;
	w->s.key.group = groups[slot & (SKEP_SCOPE_SLOTS - 1)];
	if (w->s.key.group > w->newest) /* another attachment has the slot now */
		return 0;
	row = row_of(w);
	if (!row) {
		__sync_fetch_and_add(&counters.lost, 1);
		return 0;
	}
	/* by way of memory, or the verifier would follow each slot */
	*(volatile __u64 *)&w->slot = skep_hist_slot(w->ns);
	at = *(volatile __u64 *)&w->slot;
	if (at >= SKEP_HIST_SLOTS)
		return 0;
	__sync_fetch_and_add(&row->slots[at], 1);
	__sync_fetch_and_add(&row->sum_ns, w->ns);
	__sync_fetch_and_add(&row->bytes, w->bytes);
	__sync_fetch_and_add(&row->errors, w->failed);
	if (!row->head.told) {
		__u64 flags = bpf_ringbuf_query(&paths, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP
										      : BPF_RB_NO_WAKEUP;

		if (!w->s.path || skep_file_tell(&paths, &w->s, &row->head, (void *)bpf_get_current_task(), flags))
			__sync_fetch_and_add(&counters.unsent, 1);
	}
	return 0;
}

/* ---- what a call is ---------------------------------------------------------------- */

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2u /* arch/x86/include/asm/thread_info.h: a call by the 32-bit way */

static __always_inline __u32 what_is(__u64 nr)
{
	struct task_struct___files *p;

	nr &= ~0x40000000ull; /* the x32 way: readv and its like have other numbers there, and are not seen */
	if (nr >= FILELAT_CALLS || !(calls_native[nr] | calls_32[nr]))
		return 0;
	p = (void *)bpf_get_current_task();
	return BPF_CORE_READ(p, thread_info.status) & TS_COMPAT ? calls_32[nr] | 0x100u : calls_native[nr];
}

static __always_inline __u32 fd_of(__u64 *ctx, __u32 what)
{
	struct pt_regs___x86 *regs = (void *)ctx[0];
	__u32 arg = FILELAT_FD(what & 0xff);

	if (what & 0x100)
		return arg == 0 ? regs->bx : arg == 1 ? regs->cx : regs->dx;
	return arg == 0 ? regs->di : arg == 1 ? regs->si : regs->dx;
}

static __always_inline __u64 number_of(__u64 *ctx)
{
	struct pt_regs___x86 *regs = (void *)ctx[0];

	return regs->orig_ax;
}
#elif defined(__TARGET_ARCH_arm64)
/* 32-bit programs apart, whose numbers are others: user space says so. */
static __always_inline __u32 what_is(__u64 nr)
{
	return nr < FILELAT_CALLS ? calls_native[nr] : 0;
}

static __always_inline __u32 fd_of(__u64 *ctx, __u32 what)
{
	struct pt_regs___arm64 *regs = (void *)ctx[0];
	__u32 arg = FILELAT_FD(what);

	return arg == 0 ? regs->orig_x0 : arg == 1 ? regs->regs[1] : regs->regs[2];
}

static __always_inline __u64 number_of(__u64 *ctx)
{
	struct pt_regs___arm64 *regs = (void *)ctx[0];

	return (__u32)regs->syscallno;
}
#else
/* never loaded: filelat_kernel.c */
static __always_inline __u32 what_is(__u64 nr)
{
	return 0;
}

static __always_inline __u32 fd_of(__u64 *ctx, __u32 what)
{
	return 0;
}

static __always_inline __u64 number_of(__u64 *ctx)
{
	return 0;
}
#endif

#define NUMBER(nr_) ((nr_) & (FILELAT_CALLS - 1)) /* the x32 way has another bit in it */

/* ---- the hooks --------------------------------------------------------------------- */

static __always_inline int call_begins(__u64 *ctx, __u32 what)
{
	struct task_struct *p = (void *)bpf_get_current_task();
	__u64 thread = bpf_get_current_pid_tgid();
	struct filelat_call c = { .newest = *(volatile __u32 *)&newest }; /* before the slots are looked at */
	struct file___open *file;
	struct inode___file *inode;
	struct skep_file_key key;
	struct work *w;
	__u32 fd;

	w = my_work(0);
	if (!w)
		return 0;
	c.mask = skep_slots_of_current(&w->s.matched);
	if (!c.mask)
		return 0;
	fd = fd_of(ctx, what);
	file = skep_file_of_fd(p, fd);
	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	if (!skep_file_is_data(inode))
		return 0;
	skep_file_key_of(&key, inode);
	c.file = (__u64)file;
	c.ino = key.ino;
	c.dev = key.dev;
	c.generation = key.generation;
	c.fd = fd;
	c.op = FILELAT_OP(what);
	c.nr = NUMBER(ctx[1]);
	c.thread_ns = BPF_CORE_READ(p, start_boottime);
	c.start_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&calls, &thread, &c, BPF_ANY))
		__sync_fetch_and_add(&counters.lost, 1);
	return 0;
}

/* sys_enter(struct pt_regs *regs, long id) */
SEC("tp_btf/sys_enter")
int on_enter(__u64 *ctx)
{
	__u32 what = what_is(ctx[1]);

	if (what)
		call_begins(ctx, what);
	return 0;
}

#define ERESTARTSYS 512 /* to ERESTART_RESTARTBLOCK 516: the call begins again, or its error is made EINTR */

/*
 * The kernel skips a program that is running already on that CPU; when it skips the end of a call, the entry stays.
 * Is it of the call that ends now?  Only one whose beginning was skipped, too, on the same file, passes for it.
 */
static __always_inline int is_of(const struct filelat_call *c, __u64 *ctx, __u32 what, struct task_struct *p,
				 void *file)
{
	if (c->nr != NUMBER(number_of(ctx)) || c->fd != fd_of(ctx, what) ||
	    c->thread_ns != BPF_CORE_READ(p, start_boottime))
		return 0;
	/* another thread may have put another file there, or the call began on what is no file */
	return !file || (__u64)file == c->file || skep_file_is_data(BPF_CORE_READ((struct file___open *)file, f_inode));
}

static __always_inline void fill(struct work *w, const struct filelat_call *c, struct task_struct *p, __u64 thread,
				 __u64 now, struct file *file)
{
	w->s.key.start_ns = BPF_CORE_READ(p, group_leader, start_boottime);
	w->s.key.ino = c->ino;
	w->s.key.pid = thread >> 32;
	w->s.key.dev = c->dev;
	w->s.key.generation = c->generation;
	w->s.key.what = c->op;
	w->s.key.reserved = 0;
	/* another thread may have closed it, and opened another: then its path comes with the next call */
	w->s.path = (__u64)file == c->file ? (__u64)__builtin_preserve_access_index(&file->f_path) : 0;
	w->s.given = 0;
	w->ns = now > c->start_ns ? now - c->start_ns : 0;
}

static __always_inline int call_ends(__u64 *ctx, __u32 what)
{
	struct task_struct *p = (void *)bpf_get_current_task();
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	__s64 ret = (__s64)ctx[1];
	struct filelat_call *c;
	struct file *file;
	struct work *w;
	__u32 op;

	c = bpf_map_lookup_elem(&calls, &thread);
	if (!c)
		return 0;
	w = my_work(1);
	if (!w)
		return 0;
	file = skep_file_of_fd(p, c->fd);
	if (!is_of(c, ctx, what, p, file)) {
		bpf_map_delete_elem(&calls, &thread);
		return 0;
	}
	fill(w, c, p, thread, now, file);
	w->mask = c->mask & scopes.of_kind[0]; /* without those that have ended meanwhile */
	w->newest = c->newest;
	op = c->op;
	bpf_map_delete_elem(&calls, &thread);
	if (ret <= -ERESTARTSYS && ret >= -516)
		return 0;
	w->failed = ret < 0;
	w->bytes = ret > 0 && op != FILELAT_SYNC ? ret : 0;
#pragma unroll
	for (__u32 slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		if (*(volatile __u64 *)&w->mask & 1u << slot)
			count(slot);
	return 0;
}

/* sys_exit(struct pt_regs *regs, long ret) */
SEC("tp_btf/sys_exit")
int on_exit(__u64 *ctx)
{
	__u32 what = what_is(number_of(ctx));

	if (what)
		call_ends(ctx, what);
	return 0;
}
