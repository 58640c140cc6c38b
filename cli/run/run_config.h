/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_config.h - what `skep run` collects with where no skepd does.
 */
#ifndef SKEP_CLI_RUN_CONFIG_H
#define SKEP_CLI_RUN_CONFIG_H

#include "cli/run/run_options.h"
#include "core/config/config.h"

/* SKEP_EXIT_OK, or another exit status after saying why. */
int run_config(const struct run_options *, const char *lake, struct config **ret);

#endif
