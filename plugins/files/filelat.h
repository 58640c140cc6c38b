/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/filelat.h - what the detail "filelat" has in its kernel side and in user space alike.
 * Include skep/bpf/hist.bpf.h or skep/record.h before it: both say how many slots a histogram has.
 */
#ifndef SKEP_IO_FILELAT_H
#define SKEP_IO_FILELAT_H

#include <skep/files.h>

enum filelat_op {
	FILELAT_NONE = 0,
	FILELAT_READ,
	FILELAT_WRITE,
	FILELAT_SYNC,
	FILELAT_OPS,
};

/* What a system call is: an operation, and which argument is the file. By number, for those that there are. */
#define FILELAT_CALLS 512u
#define FILELAT_OP(what_) ((what_) & 15u)
#define FILELAT_FD(what_) ((what_) >> 4)
#define FILELAT_WHAT(op_, fd_) ((__u8)((op_) | (fd_) << 4))

/* Value of a row: calls of one process on one file, by operation (key.what). */
struct filelat_row {
	struct skep_file_head head;
	__u64 bytes;
	__u64 errors; /* calls that failed */
	__u64 sum_ns;
	__u64 slots[SKEP_HIST_SLOTS]; /* calls by duration */
};

/* A call under way, by thread. */
struct filelat_call {
	__u64 start_ns;
	__u64 thread_ns; /* when the thread began: its number may be another's later */
	__u64 file; /* its address, an identity only */
	__u64 ino;
	__u32 dev, generation;
	__u32 mask; /* attachments */
	__u32 fd;
	__u16 op;
	__u16 nr;
	__u32 newest; /* the newest attachment then */
};

struct filelat_counters {
	__u64 lost;   /* calls that are in no row */
	__u64 others; /* calls that are in the row of all others: no room for one of their own */
	__u64 unsent; /* paths that could not be sent; tried again at the next call */
};

#endif
