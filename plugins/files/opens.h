/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/proc/opens.h - what the detail "opens" has in its kernel side and in user space alike.
 */
#ifndef SKEP_PROC_OPENS_H
#define SKEP_PROC_OPENS_H

#include <skep/files.h>

/* Value of a row: opens of one file by one process, or one way to fail (key.what: errno). */
struct opens_row {
	struct skep_file_head head;
	__u64 opens;   /* that succeeded */
	__u64 writes;  /* of them for writing */
	__u64 created; /* of them: the file did not exist before */
	__u64 failed;
};

struct opens_counters {
	__u64 lost; /* opens that are in no row: no room for one, or the file had gone from the descriptor already */
	__u64 unsent; /* paths that the ring had no room for; tried again at the next open */
};

#endif
