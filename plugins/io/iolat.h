/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/iolat.h - what the kernel side of the detail iolat and user space share.
 */
#ifndef SKEP_IO_IOLAT_H
#define SKEP_IO_IOLAT_H

#include "io.h"

enum iolat_time {
	IOLAT_DURATION = 0, /* from made to done */
	IOLAT_QUEUE,        /* from made to the driver */
	IOLAT_SERVICE,      /* from the driver to done */
	IOLAT_TIMES,
};

/* A row of an attachment. */
struct iolat_key {
	__u32 dev;  /* as in io_device_key */
	__u16 op;   /* enum io_op */
	__u16 slot; /* of the attachment */
};

struct iolat_row {
	io_count operations; /* with and without a time */
	io_count bytes;
	io_count errors;
	io_count sum_ns[IOLAT_TIMES];
	io_count times[IOLAT_TIMES][IO_LATENCY_SLOTS];
};

/* One a CPU: working memory, and counters. */
struct iolat_cpu {
	struct io_done done;        /* a copy */
	io_count busy;              /* 1: in use; a request that interrupts is lost */
	io_count matched;           /* slots found by process or cgroup */
	io_count at[IOLAT_TIMES];   /* slots of histograms */
	io_count ns[IOLAT_TIMES];
	/* requests that the programs did not see whole, or whose issuer is unknown while an attachment needs it */
	io_count lost;
	io_count full;              /* no room for a row */
};

#endif
