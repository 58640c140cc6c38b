/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/moved.c - the table of options that another probe reads now.
 */
#include "core/config/moved.h"

#include <string.h>

static const struct moved table[] = {
	{ .from = "host", .option = "cloud", .to = "identity" },
	{ .from = "host", .option = "cloud_endpoint", .to = "identity" },
	{ .from = "io", .option = "filelat_rows", .to = "files", .detail = "filelat" },
	{ .from = "proc", .option = "opens_all", .to = "files" },
	{ .from = "proc", .option = "opens_rows", .to = "files", .detail = "opens" },
};

const struct moved *moved_get(size_t i)
{
	return i < sizeof(table) / sizeof(table[0]) ? &table[i] : NULL;
}

const char *moved_detail(const char *detail)
{
	const struct moved *m;

	for (size_t i = 0; (m = moved_get(i)); i++)
		if (m->detail && strcmp(m->detail, detail) == 0)
			return m->to;
	return NULL;
}
