/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/files/opens.h - what the kernel side of the detail "opens" and user space share.
 */
#ifndef SKEP_FILES_OPENS_H
#define SKEP_FILES_OPENS_H

#include <skep/files.h>

/* Value of a row: opens of one file by one process, or one way to fail (key.what: errno). */
struct opens_row {
	struct skep_file_head head;
	__u64 opens;   /* that succeeded */
	__u64 writes;  /* of these, for writing */
	__u64 created; /* of these, made the file */
	__u64 failed;
	__u64 size; /* bytes of the file at its last open */
};

#endif
