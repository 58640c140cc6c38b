/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/path.h - turns the components that skep/bpf/path.bpf.h collects, leaf first, into a path.  Link libskep-probe
 * (pkg-config skep-probe).
 */
#ifndef SKEP_PATH_H
#define SKEP_PATH_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Turns "leaf\0dir\0" into "/dir/leaf"; cut: "..." leads.  Returns the length, or 0 when it does not fit or is not such
 * a list.  Any thread.
 */
size_t skep_path_join(const char *components, size_t len, bool cut, char *ret, size_t room);

#ifdef __cplusplus
}
#endif

#endif
