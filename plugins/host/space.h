/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/space.h - the mounts, what they answered last, and who does not answer.
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
	struct statvfs_thread *thread; /* NULL: to be made */
	uint32_t asked;      /* questions of the round under way; 0: its answers are taken */
	uint64_t local_next_ns, network_next_ns;
	/*
	 * Threads that hang, and on what. With STUCK_MOST of them network file systems are asked no more until one
	 * comes back.
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
