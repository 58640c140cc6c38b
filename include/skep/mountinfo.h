/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/mountinfo.h - reads /proc/PID/mountinfo (proc_pid_mountinfo(5)). Any thread.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_MOUNTINFO_H
#define SKEP_MOUNTINFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A mount. The texts lie in the line, and are never NULL. */
struct skep_mount {
	uint32_t major, minor;     /* of the super block */
	const char *root;          /* the folder of the file system that is mounted here */
	const char *path;          /* where */
	const char *type, *source; /* source "": it has none */
	const char *options;       /* of the mount, and of the super block: names between commas */
	const char *super_options;
};

/* Begins with skep_mountinfo_open(), or as zeros and a file. */
struct skep_mountinfo {
	FILE *file;
	char *line;
	size_t room;
	uint64_t bad; /* lines that describe no mount */
};

/* path: below the open folder `dir`, as in openat(). 0, or a negative errno. */
int skep_mountinfo_open(struct skep_mountinfo *ret, int dir, const char *path);
/* Reads the next mount, whose texts are valid until the next call. false: at the end, or an error of the file. */
bool skep_mountinfo_next(struct skep_mountinfo *m, struct skep_mount *ret);
/* Closes the file and frees the line. */
void skep_mountinfo_close(struct skep_mountinfo *m);

/* Cuts up a line, in place. 0, or -EBADMSG: it describes no mount, and ret is untouched. */
int skep_mountinfo_line(char *line, struct skep_mount *ret);
/* Turns the \040 and the like, which the kernel writes for blanks, tabs, newlines and backslashes, into the bytes. */
void skep_mountinfo_unescape(char *text);
/* The options have the name, without a value. */
bool skep_mount_has(const char *options, const char *name);
/*
 * The cgroup at the root of a mount of type cgroup or cgroup2, as the kernel's records name it: "" is the hierarchy's
 * root. at: the mount's path, where this process finds it. In a cgroup namespace mountinfo counts names from the
 * namespace's root, so "/" may be any cgroup: NULL then, and *ret_id is its id (else 0), which is also its inode number
 * (64-bit kernels since 5.5). The text is one of m's, or a constant.
 */
const char *skep_mount_cgroup(const struct skep_mount *m, const char *at, uint64_t *ret_id);

#ifdef __cplusplus
}
#endif

#endif
