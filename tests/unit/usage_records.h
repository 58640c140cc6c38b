/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/usage_records.h - records of what a host, its GPUs and its containers use in an interval, as the core and
 * the probes host, gpu and cgroup make them.
 */
#ifndef SKEP_TESTS_USAGE_RECORDS_H
#define SKEP_TESTS_USAGE_RECORDS_H

#include "tests/unit/lake_records.h"

struct usage_of_host {
	uint64_t end_ns, interval_ns; /* boot time */
	double cpus, cores;           /* busy cores of its processes */
	uint64_t rx_bytes, tx_bytes;
	uint64_t memory_bytes, memory_limit_bytes;
};

/* Seven records: the ledger's accounts cpu, net.rx, net.tx, and host.memory. */
void usage_add_host(struct skep_mock_batch *, const struct usage_of_host *);
/* run "": outside of any. */
void usage_add_sample(struct skep_mock_batch *, uint64_t end_ns, uint64_t interval_ns, const char *run,
		      const char *tool, double cores, uint64_t processes, uint64_t rss_bytes);
/* busy: share of the time; held: a process has a context on it. */
void usage_add_gpu(struct skep_mock_batch *, uint64_t end_ns, uint64_t interval_ns, const char *id, double busy,
		   bool held);
/* A cgroup of the container. */
void usage_add_container(struct skep_mock_batch *, uint64_t end_ns, uint64_t interval_ns, const char *id, double cores,
			 uint64_t memory_bytes);
/* The last record of a removed cgroup. */
void usage_add_gone(struct skep_mock_batch *, uint64_t end_ns, uint64_t interval_ns, const char *id,
		    uint64_t memory_bytes);
/* A sample of a process that holds a GPU. */
void usage_add_holder(struct skep_mock_batch *, uint64_t end_ns, uint32_t pid, const char *run, const char *tool,
		      uint64_t held_ns, uint64_t busy_ns);

#endif
