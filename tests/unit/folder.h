/* SPDX-License-Identifier: Apache-2.0 */
/* tests/unit/folder.h - removes a folder of a test with everything in it. */
#ifndef SKEP_TESTS_UNIT_FOLDER_H
#define SKEP_TESTS_UNIT_FOLDER_H

#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static inline int folder_remove(const char *path)
{
	return nftw(path, folder_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
