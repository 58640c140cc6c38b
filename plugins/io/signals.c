/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/signals.c - reports how the probe measures each signal on this kernel, or what the kernel lacks.
 */
#include "state.h"

struct says {
	struct skep_instance *inst;
	const struct skep_host *host;
};

static void say(const struct says *s, const char *name, enum skep_signal_state state, const char *how, const char *why)
{
	s->host->signal(s->inst, name, state, how, why);
}

static void requests(const struct says *s, const struct io_hooks *h)
{
	if (!h->complete) {
		say(s, "disk.io", SKEP_SIGNAL_MISSING, "tp_btf/block_rq_complete",
		    "the kernel has no tracepoint block_rq_complete (CONFIG_BLOCK): "
		    "only the devices' own counters are in the ledger");
		say(s, "io.issuer", SKEP_SIGNAL_MISSING, "raw_tp/block_io_start", "needs disk.io");
		return;
	}
	say(s, "disk.io", SKEP_SIGNAL_PARTIAL, "tp_btf/block_rq_complete",
	    "devices without requests (dm, md, zram, pmem, zfs) have only their own counters: queue depth, in flight");
	if (h->start)
		say(s, "io.issuer", SKEP_SIGNAL_OK, "raw_tp/block_io_start", NULL);
	else if (h->merge)
		say(s, "io.issuer", SKEP_SIGNAL_PARTIAL, "raw_tp/block_getrq, raw_tp/block_bio_frontmerge",
		    "before Linux 6.5 requests of dm multipath to its paths have no issuer, nor have later parts of a request that completes in parts");
	else
		say(s, "io.issuer", SKEP_SIGNAL_MISSING, "raw_tp/block_io_start or raw_tp/block_getrq",
		    "the kernel has neither tracepoint: all requests have an unknown issuer");
}

static void owners(const struct says *s, const struct io_hooks *h)
{
	if (h->blkcg_v2)
		say(s, "cgroup.io.writeback", SKEP_SIGNAL_PARTIAL, "request's bio's blkcg",
		    "only where the file system supports it (ext4, xfs, btrfs, f2fs) and the io controller is enabled for the cgroup");
	else
		say(s, "cgroup.io.writeback", SKEP_SIGNAL_MISSING, "request's bio's blkcg",
		    "the io controller is on cgroup v1 or not in the kernel: "
		    "requests that the kernel writes back have an unknown writer");
}

void io_signal_delay(struct skep_instance *inst, const struct io_probe *st)
{
	static const char how[] = "iter/task and tp_btf/sched_process_exit: task.delays";
	const struct says s = { inst, st->host };

	if (st->delayacct < 0)
		say(&s, "io.delay", SKEP_SIGNAL_MISSING, how,
		    "the kernel has no delay accounting (CONFIG_TASK_DELAY_ACCT)");
	else if (!st->opt_delays)
		say(&s, "io.delay", SKEP_SIGNAL_OFF, how, "option delays is false");
	else if (!st->delayacct)
		say(&s, "io.delay", SKEP_SIGNAL_OFF, how,
		    "the kernel does not account delays: "
		    "sysctl kernel.task_delayacct=1 (5.14 and later) or boot with delayacct, then restart this probe; "
		    "counts for processes that start after it");
	else if (!st->delays)
		say(&s, "io.delay", SKEP_SIGNAL_OFF, how,
		    "kernel.task_delayacct was switched on after this probe had started: restart it");
	else
		say(&s, "io.delay", SKEP_SIGNAL_OK, how, NULL);
}

static void memory(const struct says *s, const struct io_probe *st, const struct io_hooks *h)
{
	say(s, "io.reclaim", h->reclaim ? SKEP_SIGNAL_OK : SKEP_SIGNAL_MISSING,
	    "tp_btf/mm_vmscan_direct_reclaim_begin, _end", h->reclaim ? NULL : "the kernel has no such tracepoint");
	say(s, "io.cgroup_reclaim", h->memcg_reclaim ? SKEP_SIGNAL_OK : SKEP_SIGNAL_MISSING,
	    "tp_btf/mm_vmscan_memcg_reclaim_begin, _end",
	    h->memcg_reclaim ? NULL : "the kernel has no such tracepoint (CONFIG_MEMCG)");
	io_signal_delay(s->inst, st);
	say(s, "io.swap", SKEP_SIGNAL_PARTIAL, "/proc/vmstat pswpin, pswpout",
	    st->delays ? "of the host; of a process only the time it waited (swapin_delay_ns)" :
			 "of the host; of a process only with io.delay");
	if (st->vmstat)
		say(s, "host.paging", SKEP_SIGNAL_OK, "/proc/vmstat", NULL);
	else
		say(s, "host.paging", st->opt_paging ? SKEP_SIGNAL_MISSING : SKEP_SIGNAL_OFF, "/proc/vmstat",
		    st->opt_paging ? "skepd cannot open it" : "option paging is false");
}

void io_signals(struct skep_instance *inst, const struct io_probe *st, const struct io_hooks *h)
{
	const struct says s = { inst, st->host };

	requests(&s, h);
	owners(&s, h);
	memory(&s, st, h);
	say(&s, "disk.queue", SKEP_SIGNAL_OK, "/proc/diskstats", NULL);
	if (!st->opt_filesystems)
		say(&s, "fs.io", SKEP_SIGNAL_OFF, "/proc/self/mountinfo and the clients' own counters",
		    "option filesystems is false");
}
