/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/mounts.h - which of the mounts in mountinfo have space of their own.
 */
#ifndef SKEP_HOST_MOUNTS_H
#define SKEP_HOST_MOUNTS_H

#include <skep/mountinfo.h>

#define MOUNT_MOST 256u
#define MOUNT_PATH 512u

struct mount {
	char path[MOUNT_PATH]; /* without the option root */
	char device[MOUNT_PATH];
	char type[32];
	uint32_t major, minor;
	bool readonly;
	bool network; /* statvfs() asks a server: may take long, or hang for ever */
};

enum mount_kind { MOUNT_PSEUDO, MOUNT_REAL, MOUNT_TOO_LONG };

/* ret is whole only where the mount is MOUNT_REAL. */
enum mount_kind mount_kind_of(const struct skep_mount *, struct mount *ret);

struct mounts {
	uint32_t n;
	uint64_t bad, left_out;
	struct mount mount[MOUNT_MOST];
};
/* Each file system once, by the first of its mounts. */
void mounts_read(struct skep_mountinfo *, struct mounts *);
/* Takes from another process's mountinfo which of these mounts are read-only. A mount that it lacks stays as it is. */
void mounts_read_modes(struct skep_mountinfo *, struct mounts *);

#endif
