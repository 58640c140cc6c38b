/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/values.h - values that every probe puts into its records.  Inline, as each is a line or two: nothing to link.
 * Any thread.
 */
#ifndef SKEP_VALUES_H
#define SKEP_VALUES_H

#include <skep/record.h>
#include <stdint.h>
#include <string.h>

/* Returns a string that borrows s: s must live until emit() returns. */
static inline struct skep_str skep_text(const char *s)
{
	uint32_t len = (uint32_t)strlen(s);
	struct skep_str text = { s, len, len };

	return text;
}

#endif
