/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/proc/signals.c - reports once, at the start, how this kernel provides each signal.
 */
#include <bpf/libbpf.h>

#include "proc.h"
#include "plugins/proc/proc.skel.h"
#include "state.h"

void proc_signals(struct skep_instance *inst, struct proc_state *st)
{
	const struct skep_host *host = st->host;
	const struct proc_bpf *bpf = st->bpf;

	host->signal(inst, "process.fork", SKEP_SIGNAL_OK, "tp_btf/sched_process_fork", NULL);
	host->signal(inst, "process.exec", SKEP_SIGNAL_OK, "tp_btf/sched_process_exec", NULL);
	host->signal(inst, "process.exit", SKEP_SIGNAL_OK, "tp_btf/sched_process_exit", NULL);
	host->signal(inst, "process.totals", SKEP_SIGNAL_OK,
		     "tp_btf/sched_process_free of each task: the kernel's own counts", NULL);
	host->signal(inst, "process.samples", SKEP_SIGNAL_OK, "iter/task", NULL);
	/* 6.16 moved sched_process_exit before exit_mm(), and added the argument group_dead */
	if (bpf->rodata->exit_has_group_dead)
		host->signal(inst, "process.rss_peak", SKEP_SIGNAL_OK, "mm at tp_btf/sched_process_exit", NULL);
	else
		host->signal(
			inst, "process.rss_peak", SKEP_SIGNAL_PARTIAL, "signal->maxrss, samples",
			"before 6.16 the kernel frees the memory before sched_process_exit: the peak of an image that stayed below "
			"an earlier one of its process is an upper bound (marked rss_peak)");
	if (bpf_program__autoload(bpf->progs.on_victim_task))
		host->signal(inst, "process.oom", SKEP_SIGNAL_OK, "tp_btf/mark_victim", NULL);
	else if (bpf_program__autoload(bpf->progs.on_victim_pid))
		host->signal(
			inst, "process.oom", SKEP_SIGNAL_PARTIAL, "tp_btf/mark_victim",
			"before 6.9 it names a pid only: "
			"skep finds no process for a victim thread that is not its leader");
	else
		host->signal(inst, "process.oom", SKEP_SIGNAL_MISSING, "", "the kernel has no tracepoint mark_victim");
	host->signal(inst, "ledger.kernel", SKEP_SIGNAL_OK, "iter/task, tp_btf/sched_process_free", NULL);
	if (host->verdict_fd >= 0)
		host->signal(inst, "ledger.excluded", SKEP_SIGNAL_OK, "iter/task, tp_btf/sched_process_free", NULL);
	else
		host->signal(inst, "ledger.excluded", SKEP_SIGNAL_OFF, "",
			     "no verdict map, so skep excludes no process");
}
