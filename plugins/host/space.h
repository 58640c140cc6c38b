/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/space.h - the state of host.filesystem: mounts, their last results, threads that hang.
 */
#ifndef SKEP_HOST_SPACE_H
#define SKEP_HOST_SPACE_H

#include "statvfs_thread.h"

#define STUCK_MOST 8u

struct space_answer {
	uint32_t major, minor;
	struct statvfs space;
	uint64_t answered_ns; /* 0: never */
	bool stale;
};

struct space {
	struct statvfs_thread *thread; /* NULL: the next round starts one */
	uint32_t asked;      /* requests of the round whose results are not reported yet; 0: none */
	uint64_t local_next_ns, network_next_ns;
	/*
	 * Abandoned threads, each with the file system on which it hangs. From STUCK_MOST - 1 of them on the probe
	 * leaves network file systems out.
	 */
	struct {
		struct statvfs_thread *thread;
		uint32_t major, minor;
	} stuck[STUCK_MOST];
	uint32_t n_stuck;
	bool too_many_said;
	struct mounts mounts; /* as read last */
	struct space_answer answer[MOUNT_MOST];
	uint32_t n_answers;
};

#endif
