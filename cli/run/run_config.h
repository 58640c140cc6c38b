/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run_config.h - the configuration of the collector inside `skep run`, when no skepd collects.
 */
#ifndef SKEP_CLI_RUN_CONFIG_H
#define SKEP_CLI_RUN_CONFIG_H

#include "cli/run/run_options.h"
#include "core/config/config.h"

/* Makes the configuration. SKEP_EXIT_OK, or another exit status after a message. */
int run_config(const struct run_options *, const char *lake, struct config **ret);

#endif
