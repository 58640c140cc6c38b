// SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0
/*
 * example.bpf.c - the kernel side: a record in a ring for each signal that one process sends another.
 *
 * Compiled against no kernel.  skep/bpf/kernel.bpf.h, or this file, declares the members of kernel types that it reads,
 * and libbpf fills in the running kernel's offsets.
 */
#include <skep/bpf/kernel.bpf.h>

#include <skep/bpf/verdict.bpf.h>

#include "example.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* In .data: user space changes it while the program runs. */
volatile __u32 fatal_only = 1;

/* One count per CPU, so that no increment of a lost record is lost itself. */
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

/* As far as it is read. */
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
 * include/trace/events/signal.h, the same since 3.1.  It runs where the sender is.  result: 0, or why
 * nothing came of it (ignored, already pending).
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
	/* What the site's rules leave out costs no more than this. */
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
	if (e->code > 0) /* SI_KERNEL, a fault: by whom the kernel worked for at that time is no sender */
		e->sender_pid = 0;
	__builtin_memset(e->sender, 0, sizeof(e->sender));
	if (e->sender_pid)
		bpf_get_current_comm(e->sender, sizeof(e->sender));
	bpf_ringbuf_submit(e, 0);
	return 0;
}
