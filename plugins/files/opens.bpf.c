// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * plugins/files/opens.bpf.c - counts the files that processes open, by path and process.  skepd loads it while the
 * detail "opens" is attached.
 *
 * Every open passes do_filp_open() (do_file_open() in 7.2), also an open by io_uring or exec.  At its end the file, or
 * the error and the given name, are in kernel memory.  Where a kernel refuses fexit programs, a program at the end of
 * each system call sees the files that open, openat, openat2 and creat opened; it costs time in every call of the host.
 */
#include <skep/bpf/kernel.bpf.h>

#include "opens.h"

#define FILES_ROW struct opens_row
#include "rows.bpf.h"

/* Set by user space before the load. */
const volatile __u32 any_kind;         /* 1: also directories, devices, pipes, files of /proc and /sys */
const volatile __u64 name_key[2];      /* random key of the hash of names */
/* Numbers of system calls, native and of 32-bit programs; ~0: there is none. */
const volatile __u32 nr_open = ~0u, nr_creat = ~0u, nr_openat = ~0u, nr_openat2 = ~0u;
const volatile __u32 nr32_open = ~0u, nr32_creat = ~0u, nr32_openat = ~0u, nr32_openat2 = ~0u;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct skep_file_scratch);
} scratch SEC(".maps");

#define OPENED 0x80000000u /* set in `mode` of each open that succeeded: f_mode of access mode 3 has no low bit */
/* An open. */
struct seen {
	struct task_struct *task;
	__u32 mask; /* attachments */
	__u32 mode; /* f_mode; 0: the open failed */
	__u64 size;
};

struct inode___size {
	__s64 i_size;
} __attribute__((preserve_access_index));

/*
 * Counts an open in the row of s->key of the attachment in that slot.  Not static, so that the verifier checks the
 * function once and not at each call, which takes 400,000 steps.
 */
__noinline int count(__u32 slot, __u32 mode, __u64 size)
{
	struct opens_row fresh = {};
	struct skep_file_scratch *s;
	struct opens_row *row;
	__u32 zero = 0;

	s = bpf_map_lookup_elem(&scratch, &zero);
	if (!s)
		return 0;
	s->key.group = shared.groups[slot & (SKEP_SCOPE_SLOTS - 1)];
	row = files_row(s, &fresh);
	if (!row) {
		files_lose();
		return 0;
	}
	if (mode) {
		__sync_fetch_and_add(&row->opens, 1);
		row->size = size;
		if (mode & SKEP_FMODE_WRITE)
			__sync_fetch_and_add(&row->writes, 1);
		if (mode & SKEP_FMODE_CREATED)
			__sync_fetch_and_add(&row->created, 1);
	} else {
		__sync_fetch_and_add(&row->failed, 1);
	}
	files_send_path(s, &row->head, 1);
	return 0;
}

/* The mask is in memory: in a register the verifier of 5.10 follows each of its 2^16 values. */
static __always_inline void count_all(struct skep_file_scratch *s, const struct seen *o)
{
	s->matched = o->mask;
#pragma unroll
	for (__u32 slot = 0; slot < SKEP_SCOPE_SLOTS; slot++)
		if (*(volatile __u64 *)&s->matched & 1u << slot)
			count(slot, o->mode, o->size);
}

/* Fills in the process and its attachments.  NULL: none. */
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
	o->size = (__u64)BPF_CORE_READ((struct inode___size *)inode, i_size);
	skep_file_key_of(&s->key, inode);
	s->path = (__u64)__builtin_preserve_access_index(&((struct file *)file)->f_path);
	s->given = 0;
	count_all(s, o);
}

/* The kernel reuses the address of a dentry: the number and generation of its inode distinguish the next one. */
static __always_inline void put_place(struct skep_file_scratch *s, struct path *path)
{
	struct dentry *dentry = BPF_CORE_READ(path, dentry);
	struct inode___file *inode = BPF_CORE_READ((struct dentry___open *)dentry, d_inode);

	s->place[0] = (__u64)dentry;
	s->place[1] = (__u64)BPF_CORE_READ(path, mnt);
	s->place[2] = BPF_CORE_READ(inode, i_ino);
	s->place[3] = BPF_CORE_READ(inode, i_generation);
}

/* given: the name, in memory of the process (user) or of the kernel. */
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
	/* EFAULT: the row has no name */
	s->given = n > 0 ? given : 0;
	s->given_user = user;
	s->key.dev = 0;
	s->key.generation = 0;
	s->key.ino = skep_file_name_hash(s, n > 0 ? n : 0, name_key[0], name_key[1]);
	s->key.what = error;
	count_all(s, o);
}

#define MAX_ERRNO 4095
/* struct file *do_filp_open(int dfd, struct filename *name, const struct open_flags *op); do_file_open after 6.18 */
SEC("fexit/do_filp_open")
int on_open(__u64 *ctx)
{
	struct filename *name = (void *)ctx[1];
	struct skep_file_scratch *s;
	struct seen o = {};
	__s64 ret = 0;

	/* reads the result as a number: the verifier allows neither a sign nor half of a pointer */
	if (bpf_probe_read_kernel(&ret, sizeof(ret), &ctx[3]) || files_is_restart(ret))
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

static __always_inline int open_call(__u64 *ctx, struct call *c)
{
	/* bit 30: x32, whose numbers of these calls are the same */
	__u32 nr = files_call_number(ctx[0]) & ~0x40000000ull;
	int native = nr == nr_open || nr == nr_creat || nr == nr_openat || nr == nr_openat2;
	int compat = nr == nr32_open || nr == nr32_creat || nr == nr32_openat || nr == nr32_openat2;
	int is_32, at;

	if (nr == ~0u || (!native && !compat))
		return 0;
	is_32 = files_call_is_32();
	if (is_32 ? !compat : !native)
		return 0;
	at = is_32 ? nr == nr32_openat || nr == nr32_openat2 : nr == nr_openat || nr == nr_openat2;
	c->dfd = at ? (int)files_call_arg(ctx[0], is_32, 0) : SKEP_AT_FDCWD;
	c->name = at ? files_call_arg(ctx[0], is_32, 1) : files_call_arg(ctx[0], is_32, 0);
	return 1;
}

/* sys_exit(struct pt_regs *regs, long ret) */
SEC("tp_btf/sys_exit")
int on_call(__u64 *ctx)
{
	__s64 ret = (__s64)ctx[1];
	struct skep_file_scratch *s;
	struct seen o = {};
	struct call c = {};
	void *file;

	if (!open_call(ctx, &c) || files_is_restart(ret))
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
		files_lose(); /* another thread closed the file before this program ran */
	return 0;
}
