/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_archive.h - a tar.gz of texts in memory: ustar, in gzip's stored blocks (RFC
 * 1951 3.2.4): the file is small, so skep needs no library for compression.
 */
#ifndef SKEP_CLI_BUNDLE_ARCHIVE_H
#define SKEP_CLI_BUNDLE_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct bundle_file {
	char *name; /* below the archive's folder; at most 60 bytes */
	char *text;
	size_t len;
};

/* Writes FOLDER/NAME for each. 0 or -errno. */
int bundle_archive_write(int fd, const char *folder, const struct bundle_file *files, size_t n, time_t time);

#endif
