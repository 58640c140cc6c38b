/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * plugins/io/block.bpf.h - the types of the block layer that the BPF programs read (include/skep/bpf/kernel.bpf.h
 * explains how), with the differences between kernels.
 */
#ifndef SKEP_IO_BLOCK_BPF_H
#define SKEP_IO_BLOCK_BPF_H

#include <skep/bpf/kernel.bpf.h>

#define CORE __attribute__((preserve_access_index))

struct gendisk {
	int major;
	int first_minor;
} CORE;

struct request_queue {
	struct gendisk *disk; /* since 5.15 */
} CORE;

struct blkcg {
	struct cgroup_subsys_state css;
} CORE;

struct blkcg_gq {
	struct blkcg *blkcg;
} CORE;

struct bio {
	struct blkcg_gq *bi_blkg; /* with CONFIG_BLK_CGROUP */
} CORE;

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	struct bio *bio;
	/*
	 * The device whose counters (/proc/diskstats) include this request.  NULL: none do, because iostats is off for
	 * the queue, or the request is pass-through.  struct hd_struct up to 5.10, struct block_device after.
	 */
	void *part;
	__u64 start_time_ns;    /* time of its creation (CLOCK_MONOTONIC); 0 from 6.12 where iostats is off */
	__u64 io_start_time_ns; /* when the driver got it; 0 where the queue has no statistics (QUEUE_FLAG_STATS) */
} CORE;

/* before 5.17 */
struct request___rq_disk {
	struct gendisk *rq_disk;
} CORE;

struct cgroup___level {
	int level; /* 0: the root */
} CORE;

/* CONFIG_TASK_DELAY_ACCT */
struct task_delay_info {
	__u64 blkio_delay;
	__u64 swapin_delay;
	__u64 freepages_delay;
	__u64 thrashing_delay;
} CORE;

struct task_struct___delays {
	struct task_delay_info *delays;
} CORE;

#define PF_EXITING 0x00000004 /* include/linux/sched.h, since 2.6 */

/* include/linux/blk_types.h, all since 4.10 */
#define REQ_OP_MASK 0xffu
#define REQ_OP_READ 0u
#define REQ_OP_FLUSH 2u
#define REQ_OP_DISCARD 3u
#define REQ_OP_FIRST_PRIVATE 32u /* SCSI_IN up to 5.12, DRV_IN: pass-through */

static __always_inline struct gendisk *disk_of(struct request *rq)
{
	struct request___rq_disk *before = (void *)rq;
	struct request_queue *q = rq->q;

	if (bpf_core_field_exists(before->rq_disk))
		return before->rq_disk;
	return q->disk;
}

#endif
