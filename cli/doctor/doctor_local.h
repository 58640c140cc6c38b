/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_local.h - tries the probes on this machine, without a daemon.
 */
#ifndef SKEP_CLI_DOCTOR_LOCAL_H
#define SKEP_CLI_DOCTOR_LOCAL_H

#include <jansson.h>

/*
 * Loads the probes of a configuration file (NULL: every probe in the plugin folders), starts
 * them, records their signals, stops them.  SKEP_EXIT_OK with an answer in the form of
 * "plugins"; or another exit status after a message on stderr.
 */
int doctor_local(const char *config_file, json_t **ret);

#endif
