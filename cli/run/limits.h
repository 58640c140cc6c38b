/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/limits.h - the resource limits of `skep run`: CMD gets those of skep's caller, and skep raises its own.
 */
#ifndef SKEP_CLI_LIMITS_H
#define SKEP_CLI_LIMITS_H

#include <sys/resource.h>

struct limits {
	struct rlimit at[RLIM_NLIMITS];
};

/* Reads the limits of the caller. */
void limits_inherit(struct limits *ret);
/* Raises the limits that skep needs for itself, as far as the kernel lets it. */
void limits_raise(const struct limits *inherited);
/* Restores the limits of the caller in the child of fork(), before exec. Async-signal-safe. */
void limits_give_back(const struct limits *);

/*
 * Does one of skep's own limits leave too little to record a run?  Its text for the user; NULL: no.
 */
const char *limits_short(void);

#endif
