/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/moment.h - a time as users give it to --since and --until.
 */
#ifndef SKEP_CLI_MOMENT_H
#define SKEP_CLI_MOMENT_H

#include <stdint.h>

/* Reads "2026-11-21T03:48:15.5+01:00", or a time ago: "3d". ns since 1970. 0 or -EINVAL. */
int moment(const char *text, uint64_t *ret_ns);
/* The value of an option such as --at; NULL: *ret_ns stays. SKEP_EXIT_OK, or SKEP_EXIT_USAGE after a message. */
int moment_option(const char *command, const char *option, const char *text, uint64_t *ret_ns);
/*
 * The values of --since and --until: by default up to now (now_ns, and never later), from default_ns before the end.
 * As moment_option(); a span without time in it is an error.
 */
int moment_span(const char *command, const char *since, const char *until, uint64_t default_ns, uint64_t now_ns,
		uint64_t *ret_since_ns, uint64_t *ret_until_ns);

#endif
