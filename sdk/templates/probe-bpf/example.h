/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * example.h - what the kernel side and the user side share.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <linux/types.h>

/* One signal that was sent, as it stands in the ring. */
struct example_event {
	__u64 time_ns;  /* CLOCK_BOOTTIME */
	__u64 start_ns; /* identity of who it is for: start time and pid */
	__u32 pid;
	__u32 sender_pid; /* 0: the kernel itself (a fault, a timer, a key) */
	__s32 signal;
	__s32 code;       /* si_code: how it was sent */
	char sender[16];  /* the sender's comm */
};

#endif
