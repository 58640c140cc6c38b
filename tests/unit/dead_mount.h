/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/dead_mount.h - a FUSE mount without a server. A call that looks at the mount waits and can be killed, as
 * on a hard NFS mount whose server is gone. The kernel holds such calls back until the server has answered FUSE_INIT
 * (fuse_block_alloc, fs/fuse/dev.c of 6.18).
 */
#ifndef SKEP_TESTS_UNIT_DEAD_MOUNT_H
#define SKEP_TESTS_UNIT_DEAD_MOUNT_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * Makes the folder and mounts there. The mount is in a mount namespace of this thread and of the threads that it
 * starts: df of other users must not wait. Returns a descriptor for dead_mount_end(), or -1 when this process may not
 * mount FUSE.
 */
static inline int dead_mount(const char *folder)
{
	int fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	char options[64];

	if (fd < 0)
		return -1;
	mkdir(folder, 0755);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", fd);
	if (unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    mount("dead", folder, "fuse.dead", MS_NOSUID | MS_NODEV, options) == 0)
		return fd;
	close(fd);
	return -1;
}

/* The calls that wait there fail with ENOTCONN; the folder below the mount is visible again. */
static inline void dead_mount_end(int fd, const char *folder)
{
	umount2(folder, MNT_DETACH);
	close(fd);
}

#endif
