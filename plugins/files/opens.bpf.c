// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/proc/opens.bpf.c - which files are opened, by path and process: counted here, told at
 * intervals.  Loaded while the detail "opens" is attached.
 *
 * The place where every open passes, io_uring's and exec's included, is do_filp_open()
 * (do_file_open() in 7.2): its end has the file, or the error and the name as given, in kernel memory.  Where a
 * kernel refuses fexit programs, the end of each system call is looked at instead: that sees
 * what open, openat, openat2 and creat opened, and costs every call of the host.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/path.bpf.h>
#include <skep/bpf/scope.bpf.h>

#include <skep/bpf/files.bpf.h>

#include "opens.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set by user space before the load. */
const volatile __u32 any_kind;         /* 1: also directories, devices, pipes, files of /proc and /sys */
const volatile __u64 wake_at;          /* bytes in the ring before user space is woken */
const volatile __u64 name_key[2];      /* random: of the hash that tells names apart */
/* Numbers of system calls, native and of 32-bit programs; ~0: there is none. */
const volatile __u32 nr_open = ~0u, nr_creat = ~0u, nr_openat = ~0u, nr_openat2 = ~0u;
const volatile __u32 nr32_open = ~0u, nr32_creat = ~0u, nr32_openat = ~0u, nr32_openat2 = ~0u;

__u32 groups[SKEP_SCOPE_SLOTS]; /* number of the attachment that has the slot now */
struct opens_counters counters;

/* Not allocated as it fills: before 6.1 a program on this hook must not (htab, kmalloc in any context). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct skep_file_key);
	__type(value, struct opens_row);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096); /* set by user space */
} paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct skep_file_scratch);
} scratch SEC(".maps");

/* What has been opened. */
#define OPENED 0x80000000u /* in mode, so that it is never 0: of access mode 3 no low bit is set */
struct seen {
	struct task_struct *task;
	__u32 mask; /* attachments */
	__u32 mode; /* f_mode; 0: it failed */
};

static __always_inline void lose(void)
{
	__sync_fetch_and_add(&counters.lost, 1);
}

/*
 * One more in the row of s->key for the attachment in that slot.  Not static, so that the verifier
 * looks at it once and not at each call: the whole is 400,000 steps else.
 */
__noinline int count(__u32 slot, __u32 mode)
{
	struct skep_file_scratch *s;
	struct opens_row *row;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	s->key.group = groups[slot & (SKEP_SCOPE_SLOTS - 1)];
	row = bpf_map_lookup_elem(&rows, &s->key);
	if (!row) {
		struct opens_row new = {};

		new.head.first_ns = bpf_ktime_get_boot_ns();
		new.head.id = (__u64)(bpf_get_smp_processor_id() + 1) << 44 | ++s->ids;
		/* BPF_NOEXIST: another CPU may have been first */
		bpf_map_update_elem(&rows, &s->key, &new, BPF_NOEXIST);
		row = bpf_map_lookup_elem(&rows, &s->key);
		if (!row) {
			lose();
			return 0;
		}
	}
	if (mode) {
		__sync_fetch_and_add(&row->opens, 1);
		if (mode & SKEP_FMODE_WRITE)
			__sync_fetch_and_add(&row->writes, 1);
		if (mode & SKEP_FMODE_CREATED)
			__sync_fetch_and_add(&row->created, 1);
	} else {
		__sync_fetch_and_add(&row->failed, 1);
	}
	if (!row->head.told) {
		__u64 flags = bpf_ringbuf_query(&paths, BPF_RB_AVAIL_DATA) >= wake_at ? BPF_RB_FORCE_WAKEUP
										      : BPF_RB_NO_WAKEUP;

		if (skep_file_tell(&paths, s, &row->head, (void *)bpf_get_current_task(), flags))
			__sync_fetch_and_add(&counters.unsent, 1);
	}
	return 0;
}

/* By way of memory: in a register the verifier of 5.10 would follow each of the 2^16 values. */
static __always_inline void count_all(struct skep_file_scratch *s, const struct seen *o)
{
	s->matched = o->mask;
#pragma unroll
	for (__u32 slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		if (*(volatile __u64 *)&s->matched & 1u << slot)
			count(slot, o->mode);
}

/* Whose it is. NULL: nobody asked. */
static __always_inline struct skep_file_scratch *begin(struct seen *o)
{
	struct task_struct *p = (void *)bpf_get_current_task();
	struct skep_file_scratch *s;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return NULL;
	o->mask = skep_slots_of_current(&s->matched);
	if (!o->mask || BPF_CORE_READ(p, flags) & PF_KTHREAD)
		return NULL;
	o->task = p;
	s->key.start_ns = BPF_CORE_READ(p, group_leader, start_boottime);
	s->key.pid = bpf_get_current_pid_tgid() >> 32;
	s->key.what = 0;
	s->key.reserved = 0;
	return s;
}

static __always_inline void opened(struct skep_file_scratch *s, struct seen *o, void *file)
{
	struct inode___file *inode = BPF_CORE_READ((struct file___open *)file, f_inode);

	o->mode = BPF_CORE_READ((struct file___open *)file, f_mode);
	if (o->mode & SKEP_FMODE_PATH || (!any_kind && !skep_file_is_data(inode)))
		return;
	o->mode |= OPENED;
	skep_file_key_of(&s->key, inode);
	s->path = (__u64)__builtin_preserve_access_index(&((struct file *)file)->f_path);
	s->given = 0;
	count_all(s, o);
}

/* The kernel reuses the address of a dentry; its inode's number and generation tell the next one apart. */
static __always_inline void put_place(struct skep_file_scratch *s, struct path *path)
{
	struct dentry *dentry = BPF_CORE_READ(path, dentry);
	struct inode___file *inode = BPF_CORE_READ((struct dentry___open *)dentry, d_inode);

	s->place[0] = (__u64)dentry;
	s->place[1] = (__u64)BPF_CORE_READ(path, mnt);
	s->place[2] = BPF_CORE_READ(inode, i_ino);
	s->place[3] = BPF_CORE_READ(inode, i_generation);
}

/* given: the name, in user's memory or the kernel's. */
static __always_inline void failed(struct skep_file_scratch *s, struct seen *o, int dfd, __u64 given, int user,
				   __u32 error)
{
	long n;

	o->mode = 0;
	s->place[0] = s->place[1] = s->place[2] = s->place[3] = 0;
	n = user ? bpf_probe_read_user_str(s->data, SKEP_PATH_MAX, (void *)given) :
		   bpf_probe_read_kernel_str(s->data, SKEP_PATH_MAX, (void *)given);
	s->path = 0;
	if (n > 0 && s->data[0] != '/') {
		struct task_struct *p = o->task;
		struct fs_struct *fs = BPF_CORE_READ(p, fs);
		struct path *path = NULL;
		struct file *dir;

		if (dfd == SKEP_AT_FDCWD) {
			path = __builtin_preserve_access_index(&fs->pwd);
		} else {
			dir = skep_file_of_fd(p, dfd);
			if (dir)
				path = __builtin_preserve_access_index(&dir->f_path);
		}
		s->path = (__u64)path;
		if (path)
			put_place(s, path);
	}
	/* a name that cannot be read (EFAULT) is a row without one */
	s->given = n > 0 ? given : 0;
	s->given_user = user;
	s->key.dev = 0;
	s->key.generation = 0;
	s->key.ino = skep_file_name_hash(s, n > 0 ? n : 0, name_key[0], name_key[1]);
	s->key.what = error;
	count_all(s, o);
}

#define MAX_ERRNO 4095
#define ERESTARTSYS 512 /* to ERESTART_RESTARTBLOCK 516: the call begins again, or its error is made EINTR */

static __always_inline int is_restart(__s64 ret)
{
	return ret <= -ERESTARTSYS && ret >= -516;
}

/*
 * struct file *do_filp_open(int dfd, struct filename *name, const struct open_flags *op), up to 6.18; do_file_open
 * since
 */
SEC("fexit/do_filp_open")
int on_open(__u64 *ctx)
{
	struct filename *name = (void *)ctx[1];
	struct skep_file_scratch *s;
	struct seen o = {};
	__s64 ret = 0;

	/* read as a number: of a pointer the verifier allows neither a sign nor a half */
	if (bpf_probe_read_kernel(&ret, sizeof(ret), &ctx[3]) || is_restart(ret))
		return 0;
	s = begin(&o);
	if (!s)
		return 0;
	if (ret < 0 && ret >= -MAX_ERRNO)
		failed(s, &o, (int)ctx[0], (__u64)BPF_CORE_READ(name, name), 0, (__u32)-ret);
	else if (ret)
		opened(s, &o, (void *)ret);
	return 0;
}

/* ---- system calls -------------------------------------------------------------- */

struct call {
	__u64 name;
	int dfd;
};

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2u /* arch/x86/include/asm/thread_info.h: a call by the 32-bit way */

static __always_inline int open_call(__u64 *ctx, struct call *c)
{
	struct pt_regs___x86 *regs = (void *)ctx[0];
	/* bit 30: the x32 way, with the same numbers here */
	__u32 nr = regs->orig_ax & ~0x40000000ull;
	struct task_struct___files *p;
	int native, compat;

	native = nr == nr_open || nr == nr_creat || nr == nr_openat || nr == nr_openat2;
	compat = nr == nr32_open || nr == nr32_creat || nr == nr32_openat || nr == nr32_openat2;
	if (!native && !compat)
		return 0;
	p = (void *)bpf_get_current_task();
	if (BPF_CORE_READ(p, thread_info.status) & TS_COMPAT) {
		if (!compat)
			return 0;
		c->dfd = nr == nr32_openat || nr == nr32_openat2 ? (int)regs->bx : SKEP_AT_FDCWD;
		c->name = (__u32)(nr == nr32_openat || nr == nr32_openat2 ? regs->cx : regs->bx);
		return 1;
	}
	if (!native)
		return 0;
	c->dfd = nr == nr_openat || nr == nr_openat2 ? (int)regs->di : SKEP_AT_FDCWD;
	c->name = nr == nr_openat || nr == nr_openat2 ? regs->si : regs->di;
	return 1;
}
#elif defined(__TARGET_ARCH_arm64)
/* 32-bit programs apart, whose numbers are others: user space says so. */
static __always_inline int open_call(__u64 *ctx, struct call *c)
{
	struct pt_regs___arm64 *regs = (void *)ctx[0];
	__u32 nr = regs->syscallno;

	if (nr != nr_openat && nr != nr_openat2)
		return 0;
	c->dfd = (int)regs->orig_x0;
	c->name = regs->regs[1];
	return 1;
}
#else
static __always_inline int open_call(__u64 *ctx, struct call *c)
{
	return 0; /* never loaded: opens_kernel.c */
}
#endif

/* sys_exit(struct pt_regs *regs, long ret) */
SEC("tp_btf/sys_exit")
int on_call(__u64 *ctx)
{
	__s64 ret = (__s64)ctx[1];
	struct skep_file_scratch *s;
	struct seen o = {};
	struct call c = {};
	void *file;

	if (!open_call(ctx, &c) || is_restart(ret))
		return 0;
	s = begin(&o);
	if (!s)
		return 0;
	if (ret < 0) {
		failed(s, &o, c.dfd, c.name, 1, (__u32)-ret);
		return 0;
	}
	file = skep_file_of_fd(o.task, (__u32)ret);
	if (file)
		opened(s, &o, file);
	else
		lose(); /* another thread has closed it meanwhile */
	return 0;
}
