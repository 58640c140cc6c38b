/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/why.h - says why a process is in its run, and in its task or in none, by the rules R1 to R7 of
 * docs/reference/recognizers.md.
 */
#ifndef SKEP_CORE_WHY_H
#define SKEP_CORE_WHY_H

#include "core/process/proctab.h"

#define WHY_TEXT_SIZE 256u

struct why {
	const char *rule; /* "R1" to "R7"; "": none of them */
	char text[WHY_TEXT_SIZE];
};

void why_run(const struct proc *, struct why *ret);
void why_task(const struct proc *, struct why *ret);

#endif
