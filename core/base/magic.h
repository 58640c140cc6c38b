/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/base/magic.h - checks an object that comes back as a void pointer.
 *
 * An object that libuv, a thread or a plugin hands back to us begins with the number of its type. The callback checks
 * the number before it uses the object, so a stale or foreign pointer ends skepd where the mistake is made, and not
 * somewhere else later. Each type has its number beside it: #define MAGIC_collector 0x...
 */
#ifndef SKEP_CORE_MAGIC_H
#define SKEP_CORE_MAGIC_H

#include <stdint.h>

/* Logs the type and the pointer, then aborts. */
_Noreturn void magic_fail(const char *type, const void *object);

static inline void *magic_check(void *object, uint32_t magic, const char *type)
{
	if (__builtin_expect(!object || *(const uint32_t *)object != magic, 0))
		magic_fail(type, object);
	return object;
}

/* The pointer as a struct of that type, whose first member is `uint32_t magic`. */
#define MAGIC_OBJECT(type, pointer) ((struct type *)magic_check((pointer), MAGIC_##type, #type))

#endif
