/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/confine.h - what the daemon gives away for good before any plugin runs: core dumps,
 * being looked into, privileges by exec, and every capability that nothing in it needs.  docs/inside/security.md
 * has what was measured.
 */
#ifndef SKEP_CORE_CONFINE_H
#define SKEP_CORE_CONFINE_H

#include <stddef.h>
#include <stdint.h>

/* No core file, no ptrace by others of our user: command lines of everybody and secrets are in memory. */
void confine_memory(void);
/*
 * keep: names of further capabilities for a site's plugins, NULL-terminated.  Also the
 * bounding set, where CAP_SETPCAP allows it.  0, with the capabilities that are left (bits), or -errno.
 */
int confine_capabilities(const char *const *keep, uint64_t *ret_left);
/*
 * As above, for the process that reads others' arguments (core/identify/reader.h): what reading needs, no more. 0 or
 * -errno.
 */
int confine_reader(void);

/* "CAP_BPF" or "cap_bpf": its number; -1: no such capability. */
int confine_capability(const char *name);
/* "CAP_BPF CAP_PERFMON", numbers where there is no name; never more than size bytes. */
void confine_text(uint64_t capabilities, char *ret, size_t size);

#endif
