/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_tables.h - the tables of recognizers and containers that skepd reads: files, entries, tests.
 */
#ifndef SKEP_CLI_DOCTOR_TABLES_H
#define SKEP_CLI_DOCTOR_TABLES_H

#include <jansson.h>

#include "core/config/config.h"

/*
 * Appends a verdict on each file to the list of doctor_judge(), with the numbers "entries" and "tests" beside the text.
 * Runs the tests of all recognizers. config: NULL: the built-in tables alone.
 */
void doctor_tables(json_t *judged, const struct config *config);

#endif
