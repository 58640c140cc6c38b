/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/opens.c - the detail "opens": the record of a row.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "state.h"

static const char *error_name(uint32_t error, char buf[32])
{
	static const struct {
		uint32_t error;
		const char *name;
	} names[] = {
		{ EPERM, "EPERM" },           { ENOENT, "ENOENT" },
		{ EINTR, "EINTR" },           { EIO, "EIO" },
		{ ENXIO, "ENXIO" },           { EBADF, "EBADF" },
		{ EAGAIN, "EAGAIN" },         { ENOMEM, "ENOMEM" },
		{ EACCES, "EACCES" },         { EFAULT, "EFAULT" },
		{ EBUSY, "EBUSY" },           { EEXIST, "EEXIST" },
		{ ENODEV, "ENODEV" },         { ENOTDIR, "ENOTDIR" },
		{ EISDIR, "EISDIR" },         { EINVAL, "EINVAL" },
		{ ENFILE, "ENFILE" },         { EMFILE, "EMFILE" },
		{ ETXTBSY, "ETXTBSY" },       { EFBIG, "EFBIG" },
		{ ENOSPC, "ENOSPC" },         { EROFS, "EROFS" },
		{ EXDEV, "EXDEV" },           { ENAMETOOLONG, "ENAMETOOLONG" },
		{ ELOOP, "ELOOP" },           { EOVERFLOW, "EOVERFLOW" },
		{ EOPNOTSUPP, "EOPNOTSUPP" }, { ETIMEDOUT, "ETIMEDOUT" },
		{ ESTALE, "ESTALE" },         { EDQUOT, "EDQUOT" },
		{ ENOMEDIUM, "ENOMEDIUM" },   { EREMOTEIO, "EREMOTEIO" },
	};

	if (error == 0)
		return "";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].error == error)
			return names[i].name;
	snprintf(buf, 32, "errno %u", error);
	return buf;
}

static bool opens_record(const struct skep_file_row *row, const void *value, struct files_record *ret)
{
	const struct opens_row *reported = (const struct opens_row *)row->reported, *now = value;
	const char *name = error_name(row->key.what, ret->error);
	uint32_t len = (uint32_t)strlen(name);

	ret->opens = (struct opens_record){
		.path = skep_file_row_path(row),
		.error = { .ptr = name, .len = len, .total = len },
		.opens = now->opens - reported->opens,
		.writes = now->writes - reported->writes,
		.created = now->created - reported->created,
		.failed = now->failed - reported->failed,
		.size = now->size,
		.first_ns = now->head.first_ns,
	};
	return ret->opens.opens || ret->opens.failed;
}

const struct files_kind opens_kind = {
	.name = "opens",
	.row_size = sizeof(struct opens_row),
	.load = opens_load,
	.unload = opens_unload,
	.misses = opens_misses,
	.signal = opens_signal,
	.record = opens_record,
};
