/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/namespaces.h - checks whether this process is in the kernel's first namespace of a kind. In another one /proc
 * and the clocks show other names and times than the kernel reports to BPF programs.
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_NAMESPACES_H
#define SKEP_NAMESPACES_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum skep_namespace { SKEP_NAMESPACE_CGROUP, SKEP_NAMESPACE_TIME, SKEP_NAMESPACE_USER, SKEP_NAMESPACES };

/*
 * Is this process in the initial namespace of that kind?  Also true where the kernel has no namespaces of the kind.
 * Reads /proc once a kind: a caller that changes its namespace must do so before.  Any thread.
 */
bool skep_namespace_is_initial(enum skep_namespace);

#ifdef __cplusplus
}
#endif

#endif
