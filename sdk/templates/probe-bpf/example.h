/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * example.h - the event that the kernel side writes and the user side reads.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <linux/types.h>

/* One signal, as the ring holds it. */
struct example_event {
	__u64 time_ns;  /* bpf_ktime_get_boot_ns() */
	__u64 start_ns; /* start time and pid identify the receiving process */
	__u32 pid;
	__u32 sender_pid; /* 0: the kernel itself (a fault, a timer, a key) */
	__s32 signal;
	__s32 code;       /* si_code: how it was sent */
	char sender[16];  /* the sender's comm */
};

#endif
