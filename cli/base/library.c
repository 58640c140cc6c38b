/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/library.c - see cli/base/library.h.
 */
#include "cli/base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

int library_load(const char *const *names, const char *package, const struct library_symbol *symbols, char *why,
		 size_t room)
{
	void *library = NULL;

	for (size_t i = 0; names[i] && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		snprintf(why, room, "%s cannot be loaded (%s); remedy: apt-get install -y %s", names[0], dlerror(), package);
		return -ENOENT;
	}
	for (; symbols->name; symbols++) {
		void *found = dlsym(library, symbols->name);

		if (!found) {
			snprintf(why, room, "%s has no %s; remedy: install a newer %s", names[0], symbols->name, package);
			return -ENOENT;
		}
		memcpy(symbols->to, &found, sizeof(found));
	}
	return 0;
}
