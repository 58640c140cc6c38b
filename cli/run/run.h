/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run.h - functions of `skep run` that other commands use.
 */
#ifndef SKEP_CLI_RUN_H
#define SKEP_CLI_RUN_H

#include <stdbool.h>

/* Does `skep run` refuse to start without this plugin? */
bool run_needs(const char *plugin);
/* The function of `skep run`. */
int run_command(int argc, char **argv);

#endif
