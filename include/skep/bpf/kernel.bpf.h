/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/bpf/kernel.bpf.h - the kernel's types, with only the fields that our BPF programs read.
 *
 * The fields may be in any order: preserve_access_index makes clang record each access by name, and libbpf puts in
 * the offsets of the running kernel (CO-RE).  Some kernels lack a field, or have it under another name or type.  Such
 * a field is in a type of its own (name___flavour), and a program calls bpf_core_field_exists() before it reads it.
 */
#ifndef SKEP_BPF_KERNEL_H
#define SKEP_BPF_KERNEL_H

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <skep/cast.h>

/*
 * The same pointer, to load pointers from: of type_, a struct that skep/cast.h knows.  At each load of a pointer from a
 * struct that the verifier trusts, Linux 6.2 to 6.18 search all types of the kernel (btf_nested_type_is_trusted): 0.6
 * ms a load, for each path on which the verifier meets it.  It does not search for a pointer that it does not trust.
 * Load numbers from the first pointer: the loads from this one check the address, which costs some instructions.
 *
 * Costs no instruction but a move.  Only in programs and their static __always_inline functions, of objects that
 * skep/object.h loads: elsewhere the kernel refuses the program ("invalid func unknown#1936392192").
 */
#define SKEP_UNTRUSTED(type_, pointer_) ((struct type_ *)skep_cast(pointer_, SKEP_CAST_##type_))
static void *(*const skep_cast)(const void *pointer, __u64 type) __attribute__((unused)) = (void *)SKEP_CAST;

/*
 * Makes clang load the pointer here, not where the program uses it: before the first branch the verifier meets the load
 * once.
 */
#define SKEP_LOAD_HERE(pointer_) asm volatile("" : "+r"(pointer_))

/*
 * Hides the value of a variable from the verifier, which otherwise follows the rest of the program once for each
 * constant that the branches before have left in it. any_: a number that the verifier does not know.
 */
#define SKEP_HIDE(variable_, any_)                         \
	do {                                               \
		(variable_) ^= (any_);                     \
		asm volatile("" : "+r"(variable_));        \
		(variable_) ^= (any_);                     \
	} while (0)

/*
 * Makes clang read values anew that the program has written to a map.  The verifier knows values in registers, and
 * follows the rest of the program once for each combination of the branches before; of a map's memory it knows none.
 */
#define SKEP_FROM_MEMORY() asm volatile("" ::: "memory")

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
#endif

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	long counter;
} atomic_long_t;

typedef struct {
	atomic_t refs;
} refcount_t;

typedef struct {
	__u32 val;
} kuid_t;

typedef struct {
	__u32 val;
} kgid_t;

struct ns_common {
	unsigned int inum;
};

struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

enum pid_type {
	PIDTYPE_PID,
	PIDTYPE_TGID,
	PIDTYPE_PGID,
	PIDTYPE_SID,
	PIDTYPE_MAX,
};

struct task_io_accounting {
	__u64 rchar;
	__u64 wchar;
	__u64 syscr;
	__u64 syscw;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 cancelled_write_bytes;
};

struct signal_struct {
	refcount_t sigcnt;
	atomic_t live;
	int nr_threads;
	int group_exit_code;
	unsigned int flags;
	struct pid *pids[PIDTYPE_MAX];
	struct tty_struct *tty; /* the controlling terminal of the session; NULL: none */
	__u64 utime;
	__u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long maxrss;
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
};
#define SIGNAL_GROUP_EXIT 0x00000004 /* include/linux/sched/signal.h, since 2.6 */

struct sched_entity {
	__u64 sum_exec_runtime;
};

struct sched_info {
	unsigned long pcount;
	unsigned long long run_delay;
};

struct user_namespace {
	struct user_namespace *parent;
	int level;
	kuid_t owner;
};

struct cred {
	kuid_t uid;
	kgid_t gid;
	struct user_namespace *user_ns;
};

struct qstr {
	__u64 hash_len;
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

/* the text of a short name: d_iname, since 6.14 d_shortname.string */
struct dentry___inline {
	unsigned char d_iname[1];
};
struct dentry___short {
	union {
		unsigned long words;
	} d_shortname;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct mm_struct {
	unsigned long hiwater_rss;
	unsigned long arg_start;
	unsigned long arg_end;
	unsigned long env_start;
	unsigned long env_end;
	struct file *exe_file;
};

/* before 6.2: three atomics; from 6.2: per-CPU counters, of which `count` is the shared part */
struct mm_rss_stat___atomic {
	atomic_long_t count[4];
};
struct mm_struct___atomic {
	struct mm_rss_stat___atomic rss_stat;
};
struct percpu_counter {
	__s64 count;
};
struct mm_struct___percpu {
	struct percpu_counter rss_stat[4];
};

struct kernfs_node {
	const char *name;
	__u64 id;
};
/* kernfs_node.parent became __parent (RCU) in 6.15 */
struct kernfs_node___parent {
	struct kernfs_node *parent;
};
struct kernfs_node___rcu {
	struct kernfs_node *__parent;
};

struct cgroup {
	struct kernfs_node *kn;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

enum cgroup_subsys_id {
	memory_cgrp_id = 3, /* the value differs by kernel configuration: read it with bpf_core_enum_value() */
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct page_counter {
	atomic_long_t usage;
	unsigned long max;
	unsigned long watermark;
	struct page_counter *parent;
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct pid_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
	struct pid_namespace *pid_ns_for_children;
};

struct list_head {
	struct list_head *next, *prev;
};

struct task_struct {
	unsigned int flags;
	int exit_state;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct list_head children, sibling; /* children: of this task, not of the process */
	struct pid *thread_pid;
	struct sched_entity se;
	struct sched_info sched_info;
	__u64 utime;
	__u64 stime;
	unsigned long nvcsw;
	unsigned long nivcsw;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	const struct cred *real_cred;
	char comm[16];
	struct fs_struct *fs;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct mm_struct *mm;
	struct css_set *cgroups;
	struct task_io_accounting ioac;
};
#define PF_KTHREAD 0x00200000 /* include/linux/sched.h, since 2.6.27 */

/* task_struct.state became __state in 5.14 */
struct task_struct___old_state {
	long state;
};
struct task_struct___new_state {
	unsigned int __state;
};

struct linux_binprm {
	struct file *file;
	const char *filename;
	const char *interp;
	int argc;
};

struct seq_file;
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id;
	__u64 seq_num;
};
struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};
struct bpf_map;
struct bpf_iter__bpf_map_elem {
	struct bpf_iter_meta *meta;
	struct bpf_map *map;
	void *key;
	void *value;
};

/* ---- net ------------------------------------------------------------------- */

struct inode {
	unsigned short i_mode;
};

/* the members of struct file that identify a socket */
struct file___net {
	struct inode *f_inode;
	void *private_data;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	unsigned long skc_flags;
};

/* with CONFIG_IPV6 only */
struct sock_common___v6 {
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct net_device {
	unsigned int flags;
};

struct dst_entry {
	struct net_device *dev;
};

typedef struct {
	int owned;
} socket_lock_t;

struct sock {
	struct sock_common __sk_common;
	socket_lock_t sk_lock;
	struct dst_entry *sk_dst_cache;
	struct socket *sk_socket; /* NULL once no process holds it */
	int sk_err;
	int sk_write_pending;
	__u16 sk_protocol; /* a bit field of 8 before 5.6 */
	__u16 sk_type;
	__u8 sk_shutdown;
	unsigned int sk_kern_sock : 1;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct inet_sock {
	__u16 inet_sport; /* keeps its value after the socket has released the port */
};

struct tcp_sock {
	__u16 tcp_header_len;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 snd_una;
	__u32 write_seq;
	__u32 segs_in;
	__u32 segs_out;
	__u32 srtt_us;
	__u32 total_retrans;
	__u64 bytes_received;
	__u64 bytes_acked;
	__u64 bytes_retrans;
};

/* CONFIG_MPTCP, since 5.6 */
struct tcp_sock___mptcp {
	unsigned char is_mptcp; /* bool */
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	unsigned int fd;
	struct file *file;
};

/* ---- files ----------------------------------------------------------------- */

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
};

struct inode___file {
	unsigned short i_mode;
	unsigned long i_ino; /* __u64 in 7.2 */
	__u32 i_generation;
	__s64 i_size;
	struct super_block *i_sb;
};
/* the time of the last change of the contents: i_mtime, from 6.7 __i_mtime, from 6.11 two members */
struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};
struct inode___mtime {
	struct timespec64 i_mtime;
};
struct inode___private {
	struct timespec64 __i_mtime;
};
struct inode___split {
	__s64 i_mtime_sec;
	__u32 i_mtime_nsec;
};

struct dentry___open {
	struct inode___file *d_inode;
};

struct file___open {
	unsigned int f_mode;
	struct inode___file *f_inode;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct thread_info {
	__u32 status; /* x86 */
};

struct task_struct___files {
	struct thread_info thread_info;
	struct files_struct *files;
};

struct filename {
	const char *name;
};

struct pt_regs___x86 {
	unsigned long r10, bx, cx, dx, si, di, orig_ax;
};

struct pt_regs___skep_arm64 {
	__u64 regs[31];
	__u64 orig_x0;
	int syscallno;
};

#ifndef BPF_NO_PRESERVE_ACCESS_INDEX
#pragma clang attribute pop
#endif

#endif
