/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/magic.h"

#include <stdlib.h>

#include "core/base/log.h"

void magic_fail(const char *type, const void *object)
{
	log_error("internal error: %p is no %s: a callback was given an object that has been freed, or another one", object, type);
	abort();
}
