/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/files/filelat.h - what the kernel side of the detail "filelat" and user space share.
 * Include skep/bpf/hist.bpf.h or skep/record.h before it: both say how many slots a histogram has.
 */
#ifndef SKEP_FILES_FILELAT_H
#define SKEP_FILES_FILELAT_H

#include <skep/files.h>

enum filelat_op {
	FILELAT_NONE = 0,
	FILELAT_READ,
	FILELAT_WRITE,
	FILELAT_SYNC,
	FILELAT_OPS,
};

/* A system call, in tables by its number: the operation, and which argument is the file. */
#define FILELAT_CALLS 512u
#define FILELAT_OP(what_) ((what_) & 15u)
#define FILELAT_FD(what_) ((what_) >> 4)
#define FILELAT_WHAT(op_, fd_) ((__u8)((op_) | (fd_) << 4))

/* Value of a row: calls of one process on one file by one operation (key.what). */
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
	__u64 thread_ns; /* when the thread began: the kernel reuses its number */
	__u64 file; /* address, an identity only */
	__u64 ino;
	__u32 dev, generation;
	__u32 mask; /* attachments */
	__u32 fd;
	__u16 op;
	__u16 nr;
	__u32 newest; /* highest number of an attachment when the call began */
};


#endif
