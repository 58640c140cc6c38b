/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/question.h - what every question to the lake begins with: which lake, opened, or
 * said why not.
 */
#ifndef SKEP_CLI_QUESTION_H
#define SKEP_CLI_QUESTION_H

#include "lake/lake.h"

/*
 * path: as given by --lake, NULL: the default.  SKEP_EXIT_OK, or another exit status
 * after saying on stderr why and what to do.
 */
int question_open(const char *command, const char *path, struct lake **ret);
/* "10": 0 and the number, or -EINVAL; min and max included. */
int question_number(const char *text, unsigned long min, unsigned long max, unsigned long *ret);

#endif
