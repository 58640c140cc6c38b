/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/batch_key.h - which batch a key is part of. A half of a batch has its key and "/0" or "/1" behind it.
 */
#ifndef SKEP_SINK_BATCH_KEY_H
#define SKEP_SINK_BATCH_KEY_H

#include <stdbool.h>
#include <string.h>

/* Is that batch, or one that it is a part of, called so? ("KEY/0" is a part of "KEY", "KEY/0/1" of both.) */
static inline bool skep_batch_key_is_part(const char *key, const char *whole)
{
	size_t n = strlen(whole);

	return strncmp(key, whole, n) == 0 && (key[n] == '\0' || key[n] == '/');
}

#endif
