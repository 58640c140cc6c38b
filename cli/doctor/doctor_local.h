/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_local.h - the probes tried here and now, without a daemon.
 */
#ifndef SKEP_CLI_DOCTOR_LOCAL_H
#define SKEP_CLI_DOCTOR_LOCAL_H

#include <jansson.h>

/*
 * Loads the probes of a configuration file (NULL: every probe in the plugin folders), starts
 * them, writes down their signals, stops them.  SKEP_EXIT_OK with an answer like that to
 * "plugins"; or another exit status after a message on stderr.
 */
int doctor_local(const char *config_file, json_t **ret);

#endif
