/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/files.h - types that a probe's kernel side and its user space share about files: rows by process and file in a
 * BPF hash, and each row's path, which the kernel side sends once through a ring.
 * Kernel side: skep/bpf/files.bpf.h.  User space: skep/filetable.h.
 */
#ifndef SKEP_FILES_H
#define SKEP_FILES_H

#include <linux/types.h>

/* Key of a row; without padding. */
struct skep_file_key {
	__u64 start_ns; /* of the process */
	__u64 ino;      /* of the file; a keyed hash of its path after an open that failed */
	__u32 pid;      /* tgid */
	__u32 dev;      /* in the kernel's encoding; 0 with a hash */
	__u32 generation; /* of the inode: the file system reuses the number of a deleted file */
	__u32 group;    /* number of the attachment that owns the row */
	__u32 what;     /* the probe defines it: an operation, an error */
	__u32 reserved; /* 0 */
};

/* The first member of a row's value. */
struct skep_file_head {
	__u64 id;       /* of the record with the row's path; never 0, never reused */
	__u64 first_ns; /* boot time */
	__u32 sent;     /* 1: the kernel side has sent its path */
	__u32 reserved;
};

#define SKEP_FILE_CUT 1u   /* the path is longer than the walk of the kernel side: its beginning is missing */
#define SKEP_FILE_GIVEN 2u /* given_len bytes follow the components: the path as the program gave it, NUL included */

/*
 * A record of the ring.  path_len bytes of components, leaf first (skep/bpf/path.bpf.h), and then given_len bytes
 * follow the struct.
 */
struct skep_file_path {
	__u64 id;
	struct skep_file_key key;
	__u32 path_len;
	__u32 given_len;
	__u32 flags; /* SKEP_FILE_* */
	__u32 reserved;
};

#endif
