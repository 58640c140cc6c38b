/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/files/rows.h - what the kernel sides of both details and user space share.
 */
#ifndef SKEP_FILES_ROWS_H
#define SKEP_FILES_ROWS_H

#include <skep/files.h>
#include <skep/scope.h>

#define FILES_RING_BYTES (1u << 20) /* ring of paths; the kernel wakes user space when a quarter is full */

struct files_counters {
	__u64 lost;   /* opens or calls that are in no row */
	__u64 others; /* calls in the row "other", because no row of their own was free */
	__u64 unsent; /* paths that the ring had no room for: sent again with the next open or call */
};

/* The globals of a BPF object; user space numbers the attachments. */
struct files_shared {
	__u32 groups[SKEP_SCOPE_SLOTS]; /* number of the attachment that uses the slot now */
	__u32 newest;                   /* highest number so far */
	__u32 reserved;
	struct files_counters counters;
};

#endif
