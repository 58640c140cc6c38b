/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run.h - what others need to know of `skep run`.
 */
#ifndef SKEP_CLI_RUN_H
#define SKEP_CLI_RUN_H

#include <stdbool.h>

/* Is that plugin one without which `skep run` does not start? */
bool run_needs(const char *plugin);
/* The function of `skep run`. */
int run_command(int argc, char **argv);

#endif
