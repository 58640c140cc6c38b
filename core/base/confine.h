/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/confine.h - the rights that skepd drops for good before any plugin runs: core dumps, ptrace by other
 * processes, privileges by exec, and every capability that it does not need.  docs/inside/security.md has the
 * measurements.
 */
#ifndef SKEP_CORE_CONFINE_H
#define SKEP_CORE_CONFINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Forbids core files, and ptrace by other processes of this user: memory holds secrets and the command lines of all
 * users.
 */
void confine_memory(void);
/*
 * Drops all other capabilities, also from the bounding set where CAP_SETPCAP allows that.  keep: names of further
 * capabilities for a site's plugins, NULL-terminated.  0, with the capabilities that are left (bits), or -errno.
 */
int confine_capabilities(const char *const *keep, uint64_t *ret_left);
/*
 * The same for the process that reads other processes' arguments (core/identify/reader.h): keeps only the capabilities
 * for reading.  0 or -errno.
 */
int confine_reader(void);
/*
 * The same for the process that reads engines' files (core/identify/engine_file.h): keeps only the capabilities for
 * becoming another user.
 */
int confine_file_reader(void);

/* The same for a process that needs none. */
int confine_all(void);

/* The number of "CAP_BPF" or "cap_bpf"; -1: no such capability. */
int confine_capability(const char *name);
/* Writes "CAP_BPF CAP_PERFMON", with numbers for unknown names; never more than size bytes. */
void confine_text(uint64_t capabilities, char *ret, size_t size);

#endif
