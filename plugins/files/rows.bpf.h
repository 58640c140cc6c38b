/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/files/rows.bpf.h - kernel side of both details: rows by process and file, their paths, arguments of system
 * calls.  An object defines FILES_ROW, the type of a row's value, before it includes this header.
 */
#ifndef SKEP_FILES_ROWS_BPF_H
#define SKEP_FILES_ROWS_BPF_H

#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/path.bpf.h>
#include <skep/bpf/scope.bpf.h>

#include <skep/bpf/files.bpf.h>

#include "rows.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct files_shared shared;

/* Preallocated: before 6.1 a program on these hooks must not use a hash that allocates (kmalloc in any context). */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by user space */
	__type(key, struct skep_file_key);
	__type(value, FILES_ROW);
} rows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FILES_RING_BYTES);
} paths SEC(".maps");

static __always_inline void files_lose(void)
{
	__sync_fetch_and_add(&shared.counters.lost, 1);
}

/* The row of s->key, which begins as *fresh with an id of its own.  NULL: the map is full. */
static __always_inline FILES_ROW *files_row(struct skep_file_scratch *s, FILES_ROW *fresh)
{
	FILES_ROW *row = bpf_map_lookup_elem(&rows, &s->key);

	if (row)
		return row;
	fresh->head.id = (__u64)(bpf_get_smp_processor_id() + 1) << 44 | ++s->ids;
	fresh->head.first_ns = bpf_ktime_get_boot_ns();
	/* BPF_NOEXIST: another CPU may have been first */
	bpf_map_update_elem(&rows, &s->key, fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&rows, &s->key);
}

/* Sends the path of a row once. known 0: the program cannot find the path now; the next open or call sends it. */
static __always_inline void files_send_path(struct skep_file_scratch *s, struct skep_file_head *row, int known)
{
	__u64 flags;

	if (row->sent)
		return;
	flags = bpf_ringbuf_query(&paths, BPF_RB_AVAIL_DATA) >= FILES_RING_BYTES / 4 ? BPF_RB_FORCE_WAKEUP
										     : BPF_RB_NO_WAKEUP;
	if (!known || skep_file_tell(&paths, s, row, (void *)bpf_get_current_task(), flags))
		__sync_fetch_and_add(&shared.counters.unsent, 1);
}

/* from 512 to ERESTART_RESTARTBLOCK, 516: the kernel restarts the call, or turns the error into EINTR */
#define ERESTARTSYS 512

static __always_inline int files_is_restart(__s64 ret)
{
	return ret <= -ERESTARTSYS && ret >= -516;
}

/* ---- system calls: the number, and an argument, from struct pt_regs ------------- */

#if defined(__TARGET_ARCH_x86)
#define TS_COMPAT 2u /* arch/x86/include/asm/thread_info.h: the call came through the 32-bit entry */

static __always_inline int files_call_is_32(void)
{
	struct task_struct___files *p = (void *)bpf_get_current_task();

	return BPF_CORE_READ(p, thread_info.status) & TS_COMPAT;
}

static __always_inline __u64 files_call_number(__u64 regs_)
{
	return ((struct pt_regs___x86 *)regs_)->orig_ax;
}

static __always_inline __u64 files_call_arg(__u64 regs_, int is_32, __u32 arg)
{
	struct pt_regs___x86 *regs = (void *)regs_;

	if (is_32)
		return (__u32)(arg == 0 ? regs->bx : arg == 1 ? regs->cx : regs->dx);
	return arg == 0 ? regs->di : arg == 1 ? regs->si : regs->dx;
}
#elif defined(__TARGET_ARCH_arm64)
/* 32-bit programs have other call numbers: the programs skip them, and user space reports it. */
static __always_inline int files_call_is_32(void)
{
	return 0;
}

static __always_inline __u64 files_call_number(__u64 regs_)
{
	return (__u32)((struct pt_regs___skep_arm64 *)regs_)->syscallno;
}

static __always_inline __u64 files_call_arg(__u64 regs_, int is_32, __u32 arg)
{
	struct pt_regs___skep_arm64 *regs = (void *)regs_;

	return arg == 0 ? regs->orig_x0 : arg == 1 ? regs->regs[1] : regs->regs[2];
}
#else
/* Never loaded: user space finds files_calls_known() false. */
static __always_inline int files_call_is_32(void)
{
	return 0;
}

static __always_inline __u64 files_call_number(__u64 regs_)
{
	return ~0u;
}

static __always_inline __u64 files_call_arg(__u64 regs_, int is_32, __u32 arg)
{
	return 0;
}
#endif

#endif
