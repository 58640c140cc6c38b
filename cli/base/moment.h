/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/moment.h - a time as users give it to --since and --until.
 */
#ifndef SKEP_CLI_MOMENT_H
#define SKEP_CLI_MOMENT_H

#include <stdint.h>

/* Reads "2026-11-21T03:48:15.5+01:00", or a time ago: "3d". ns since 1970. 0 or -EINVAL. */
int moment(const char *text, uint64_t *ret_ns);

#endif
