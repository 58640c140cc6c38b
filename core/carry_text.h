/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/carry_text.h - who a process is, in a line of what is carried over (core/carry.h): paths and
 * arguments are bytes, JSON's strings are text, so what is not plain ASCII is %XX there.
 */
#ifndef SKEP_CORE_CARRY_TEXT_H
#define SKEP_CORE_CARRY_TEXT_H

#include <jansson.h>

#include "core/track.h"

/* Those bytes as a string of the line; NULL: no memory. */
json_t *carry_text(const char *bytes, size_t len);
/* The bytes behind that key, which the line has from then on in place of the string. NULL: no string, or no memory. */
const char *carry_text_read(json_t *line, const char *key);
/* Adds to the line; what is empty is left out. -ENOMEM. */
int carry_who_write(json_t *line, const struct proc *);
/* Into an entry that has nothing of it yet. false: the line does not say who it is. */
bool carry_who_read(struct track *, struct proc *, json_t *line);

#endif
