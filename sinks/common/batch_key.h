/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/common/batch_key.h - what a batch's key says: "BOOT:START:ID", and "/0" or "/1" behind it for each time that it was halved.
 */
#ifndef SKEP_SINKS_BATCH_KEY_H
#define SKEP_SINKS_BATCH_KEY_H

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define BATCH_KEY_BOOT 36 /* bytes of a boot id */

/*
 * The id of the boot that its records are of, BATCH_KEY_BOOT bytes: their processes' ids are told apart by it, and a batch may have
 * waited in the spool for longer than the host did.  NULL: it says none.
 */
static inline const char *batch_key_boot(const char *key)
{
	size_t n = 0;

	while (key && n < BATCH_KEY_BOOT && (n == 8 || n == 13 || n == 18 || n == 23 ? key[n] == '-' : isxdigit((unsigned char)key[n])))
		n++;
	return n == BATCH_KEY_BOOT && key[n] == ':' ? key : NULL;
}

/* Is that batch, or one that it is a part of, called so? ("KEY/0" is a part of "KEY", "KEY/0/1" of both.) */
static inline bool batch_key_is_part(const char *key, const char *whole)
{
	size_t n = strlen(whole);

	return strncmp(key, whole, n) == 0 && (key[n] == '\0' || key[n] == '/');
}

#endif
