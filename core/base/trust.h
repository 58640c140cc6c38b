/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/trust.h - decides whose files may choose the code that this process runs.
 */
#ifndef SKEP_CORE_TRUST_H
#define SKEP_CORE_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/*
 * Whether the kernel gave this process more rights than its caller has (AT_SECURE): its file has capabilities or is
 * set-uid.  The caller then chooses no code, no configuration and no environment.
 */
bool privileged_start(void);

/* Whether the owner is root, or this user; after a privileged start only root. */
bool trust_uid(uid_t uid);

/*
 * Checks every folder above `real` (absolute, without symlinks): a user who may rename one of them chooses the
 * file that `real` names. 0, or -EPERM with the folder and the reason in why, or another negative errno.
 */
int trust_folders(const char *real, char *why, size_t why_size);

#endif
