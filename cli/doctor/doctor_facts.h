/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_facts.h - facts about this machine that a collector depends on: kernel, BTF, mounted file
 * systems, limits, capabilities.
 */
#ifndef SKEP_CLI_DOCTOR_FACTS_H
#define SKEP_CLI_DOCTOR_FACTS_H

#include <jansson.h>
#include <sys/types.h>

/*
 * root: in front of /proc and /sys, "" for the machine's own (a test has others).  pid: whose
 * capabilities; 0: ours.  A new reference; NULL when memory runs out.  Keys: docs/reference/control.md.
 */
json_t *doctor_facts(const char *root, pid_t pid);

/* Evaluates the facts: an array of { "fact", "state", "text" }, with the states of signals. */
json_t *doctor_judge(const json_t *facts);

#endif
