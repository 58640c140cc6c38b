// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * example.bpf.c - the kernel side: writes a record into a ring for each signal that one process sends to another.
 *
 * It is compiled without headers of a particular kernel.  skep/bpf/kernel.bpf.h, or this file, declares the members of
 * kernel types that the program reads, and libbpf fills in the running kernel's offsets.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/verdict.bpf.h>

#include "example.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* In .data, so that user space can change it while the program runs. */
volatile __u32 fatal_only = 1;

/* One counter per CPU, so that two CPUs cannot overwrite each other's increments. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 256 * 1024);
} events SEC(".maps");

/* Only the members that the program reads. */
struct kernel_siginfo {
	int si_code;
} __attribute__((preserve_access_index));

static __always_inline int is_fatal(int sig)
{
	switch (sig) {
	case 1:  /* HUP */
	case 2:  /* INT */
	case 3:  /* QUIT */
	case 6:  /* ABRT */
	case 9:  /* KILL */
	case 15: /* TERM */
		return 1;
	default:
		return 0;
	}
}

/*
 * The tracepoint of include/trace/events/signal.h, unchanged since 3.1.  It runs in the sender's context.  result: 0,
 * or why the kernel did not deliver the signal (ignored, already pending).
 */
SEC("tp_btf/signal_generate")
int BPF_PROG(signal_generate, int sig, struct kernel_siginfo *info, struct task_struct *task, int group, int result)
{
	struct example_event *e;
	struct task_struct *leader;
	__u32 zero = 0;
	__u64 *n;

	if (result != 0 || (fatal_only && !is_fatal(sig)))
		return 0;
	/* A process that the site's rules exclude costs no more than this look-up. */
	if (excluded(task->tgid))
		return 0;
	e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		n = bpf_map_lookup_elem(&lost, &zero);
		if (n)
			*n += 1;
		return 0;
	}
	leader = task->group_leader;
	e->time_ns = bpf_ktime_get_boot_ns();
	e->start_ns = leader->start_boottime;
	e->pid = task->tgid;
	e->signal = sig;
	/* SEND_SIG_NOINFO and SEND_SIG_PRIV are not pointers (include/linux/sched/signal.h). */
	e->code = 0;
	e->sender_pid = bpf_get_current_pid_tgid() >> 32;
	if ((unsigned long)info == 1)
		e->sender_pid = 0;
	else if ((unsigned long)info != 0)
		e->code = BPF_CORE_READ(info, si_code);
	if (e->code > 0) /* SI_KERNEL, a fault: the current process did not send the signal */
		e->sender_pid = 0;
	__builtin_memset(e->sender, 0, sizeof(e->sender));
	if (e->sender_pid)
		bpf_get_current_comm(e->sender, sizeof(e->sender));
	bpf_ringbuf_submit(e, 0);
	return 0;
}
