/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/magic.h"

#include <stdlib.h>

#include "core/base/log.h"

void magic_fail(const char *type, const void *object)
{
	log_error("internal error: %p is not a %s: a callback received a freed or wrong object; report this "
		"bug", object, type);
	abort();
}
