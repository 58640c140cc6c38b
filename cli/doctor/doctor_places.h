/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_places.h - the files and folders that skepd relies on: owners, writers, free
 * space.
 */
#ifndef SKEP_CLI_DOCTOR_PLACES_H
#define SKEP_CLI_DOCTOR_PLACES_H

#include <jansson.h>

/*
 * Appends a verdict on each file and folder to the list of doctor_judge().  root: "" or a folder that
 * stands for "/"; facts: of doctor_facts().  config_file, socket: NULL: the default paths.
 */
void doctor_places(json_t *judged, const char *root, const json_t *facts, const char *config_file, const char *socket);

struct ctl;
/*
 * The path of that skepd's configuration, for this process; the caller frees it.  NULL: this user may not ask skepd, or
 * no other process can read the file again, as /dev/stdin.
 */
char *doctor_config_of_daemon(struct ctl *);

#endif
