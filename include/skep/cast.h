/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/cast.h - the call by which a BPF program gives up the kernel's trust in a pointer (SKEP_UNTRUSTED in
 * skep/bpf/kernel.bpf.h), as numbers that skep_object_ready() replaces (skep/object.h).
 */
#ifndef SKEP_CAST_H
#define SKEP_CAST_H

/* The number of a helper that no kernel has. */
#define SKEP_CAST 0x736b0000

/* Its second argument: the type of the pointer. */
#define SKEP_CAST_task_struct 0x736b0001
#define SKEP_CAST_request 0x736b0002

#endif
