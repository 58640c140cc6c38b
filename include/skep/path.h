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
 * Turns "leaf\0dir\0" into "/dir/leaf"; with cut, "..." comes first.  Returns the length, or 0 when the path does not
 * fit or the components are not a list of strings.  Any thread.
 */
size_t skep_path_join(const char *components, size_t len, bool cut, char *ret, size_t room);

#ifdef __cplusplus
}
#endif

#endif
