// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/files/filelat.bpf.c - measures how long calls on files take, by process and file.  skepd loads it while the
 * detail "filelat" is attached.
 *
 * Between the begin and the end of a system call a process waits for page cache, file system, network and disk.  Two
 * programs see the calls that name a file, on every kernel alike.  I/O through memory (mmap) or io_uring is no call.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/hist.bpf.h>

#include "filelat.h"

#define FILES_ROW struct filelat_row
#include "rows.bpf.h"

/* Set by user space before the load. */
const volatile __u8 calls_native[FILELAT_CALLS], calls_32[FILELAT_CALLS];

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, __u64);
	__type(value, struct filelat_call);
} calls SEC(".maps");

struct work {
	struct skep_file_scratch s;
	struct skep_file_key others;   /* of the row "other" */
	__u64 slot, ns, bytes, failed; /* slot of the call's time; its time, bytes, and 1 if it failed */
	__u64 newest;                  /* highest number of an attachment when the call began */
	/* attachments; not in a register, where the verifier of 5.10 follows each of its 2^16 values */
	__u64 mask;
	struct filelat_row fresh;      /* a new row: too large for the stack */
};
/* Two elements: for the program at the begin of calls, and for the one at their end. One can interrupt the other. */
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
	struct filelat_row *row = files_row(&w->s, &w->fresh);

	if (row)
		return row;
	/* the map is full; the attachment began with the row "other" */
	w->others.group = w->s.key.group;
	w->others.what = w->s.key.what;
	__sync_fetch_and_add(&shared.counters.others, 1);
	return bpf_map_lookup_elem(&rows, &w->others);
}

/*
 * Counts the call of my_work(1) in the row of the attachment in that slot.  Not static: the verifier then checks the
 * function once and not at each call.
 */
__noinline int count(__u32 slot)
{
	struct work *w = my_work(1);
	struct filelat_row *row;
	__u64 at;

	if (!w)
		return 0;
	w->s.key.group = shared.groups[slot & (SKEP_SCOPE_SLOTS - 1)];
	if (w->s.key.group > w->newest) /* another attachment uses the slot now */
		return 0;
	row = row_of(w);
	if (!row) {
		files_lose();
		return 0;
	}
	/* through memory: in a register the verifier follows each slot */
	*(volatile __u64 *)&w->slot = skep_hist_slot(w->ns);
	at = *(volatile __u64 *)&w->slot;
	if (at >= SKEP_HIST_SLOTS)
		return 0;
	__sync_fetch_and_add(&row->slots[at], 1);
	__sync_fetch_and_add(&row->sum_ns, w->ns);
	__sync_fetch_and_add(&row->bytes, w->bytes);
	__sync_fetch_and_add(&row->errors, w->failed);
	files_send_path(&w->s, &row->head, w->s.path != 0);
	return 0;
}

/* ---- system calls ------------------------------------------------------------------ */

/* FILELAT_WHAT() of the call, with 0x100 for a 32-bit program; 0: the call has no file. */
static __always_inline __u32 what_is(__u64 nr)
{
	nr &= ~0x40000000ull; /* x32 has other numbers for readv and similar calls: skep does not count these */
	if (nr >= FILELAT_CALLS || !(calls_native[nr] | calls_32[nr]))
		return 0;
	return files_call_is_32() ? calls_32[nr] | 0x100u : calls_native[nr];
}

static __always_inline __u32 fd_of(__u64 *ctx, __u32 what)
{
	return files_call_arg(ctx[0], what & 0x100, FILELAT_FD(what & 0xff));
}

#define NUMBER(nr_) ((nr_) & (FILELAT_CALLS - 1)) /* without the bit of x32 */

/* ---- the hooks --------------------------------------------------------------------- */

static __always_inline int call_begins(__u64 *ctx, __u32 what)
{
	struct task_struct *p = (void *)bpf_get_current_task();
	__u64 thread = bpf_get_current_pid_tgid();
	struct filelat_call c = { .newest = *(volatile __u32 *)&shared.newest }; /* read before the slots */
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
		files_lose();
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

/*
 * Does the entry belong to the call that ends now?  The kernel skips a program that already runs on that CPU: when it
 * skips the end of a call, the entry stays.  The program takes another call for it only when the kernel also skipped
 * that call's begin, and both calls are on the same file.
 */
static __always_inline int is_of(const struct filelat_call *c, __u64 *ctx, __u32 what, struct task_struct *p,
				 void *file)
{
	if (c->nr != NUMBER(files_call_number(ctx[0])) || c->fd != fd_of(ctx, what) ||
	    c->thread_ns != BPF_CORE_READ(p, start_boottime))
		return 0;
	/* another thread may have put a file in place of the pipe or socket on which the call began */
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
	/* another thread may have closed the file and opened another file: then the next call sends the path */
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
	w->mask = c->mask & scopes.of_kind[0]; /* without attachments that ended during the call */
	w->newest = c->newest;
	op = c->op;
	bpf_map_delete_elem(&calls, &thread);
	if (files_is_restart(ret))
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
	__u32 what = what_is(files_call_number(ctx[0]));

	if (what)
		call_ends(ctx, what);
	return 0;
}
