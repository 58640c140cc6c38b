/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_archive.c - writes a tar archive in gzip.
 *
 * With libarchive this file would have 40 lines. But on Debian 12 libarchive13 brings libxml2, ICU, nettle, acl, bz2,
 * lz4 and lzma, 40 MB installed, to every host and into the relocatable tarball. One command needs it, for a handful of
 * text files of half a megabyte. So this file writes ustar headers and does not compress. In
 * tests/docs/support_bundle.sh tar(1) and gzip(1) read an archive.
 */
#include "cli/doctor/bundle_archive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512u
#define STORED_MOST 65535u

/* ustar, POSIX.1-1988: octal numbers, NUL-terminated. */
struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100], magic[6],
		version[2], user[32], group[32], device[16], prefix[155], pad[12];
};
_Static_assert(sizeof(struct header) == BLOCK, "a tar header is a block");

struct gzip {
	int fd, err;
	uint32_t crc, size;
	unsigned char buffer[STORED_MOST];
	size_t used;
};

static void write_all(struct gzip *gz, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0 && gz->err == 0) {
		ssize_t n = write(gz->fd, p, len);

		if (n >= 0) {
			p += n;
			len -= (size_t)n;
		} else if (errno != EINTR) {
			gz->err = -errno;
		}
	}
}

/* CRC-32 of RFC 1952, bit by bit: fast enough for at most half a megabyte. */
static uint32_t crc_of(uint32_t crc, const unsigned char *p, size_t len)
{
	for (; len > 0; len--, p++) {
		crc ^= *p;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
	}
	return crc;
}

static void stored(struct gzip *gz, bool last)
{
	unsigned char head[5] = { last, (unsigned char)gz->used, (unsigned char)(gz->used >> 8),
				  (unsigned char)~gz->used, (unsigned char)(~gz->used >> 8) };

	write_all(gz, head, sizeof(head));
	write_all(gz, gz->buffer, gz->used);
	gz->used = 0;
}

static void put(struct gzip *gz, const void *data, size_t len)
{
	const unsigned char *p = data;

	gz->crc = crc_of(gz->crc, p, len);
	gz->size += (uint32_t)len;
	while (len > 0) {
		size_t n = STORED_MOST - gz->used < len ? STORED_MOST - gz->used : len;

		memcpy(gz->buffer + gz->used, p, n);
		gz->used += n;
		p += n;
		len -= n;
		if (gz->used == STORED_MOST)
			stored(gz, false);
	}
}

static void little(unsigned char *to, uint32_t n)
{
	for (int i = 0; i < 4; i++)
		to[i] = (unsigned char)(n >> (8 * i));
}

static void put_file(struct gzip *gz, const char *folder, const struct bundle_file *file, time_t time)
{
	static const char zeros[BLOCK] = { 0 };
	struct header h = { .type = '0',
			    .magic = "ustar",
			    .version = { '0', '0' },
			    .user = "root",
			    .group = "root",
			    .mode = "0000600",
			    .uid = "0000000",
			    .gid = "0000000" };
	unsigned sum = 0;

	if ((size_t)snprintf(h.name, sizeof(h.name), "%s/%s", folder, file->name) >= sizeof(h.name)) {
		gz->err = -ENAMETOOLONG;
		return;
	}
	snprintf(h.size, sizeof(h.size), "%011llo", (unsigned long long)file->len);
	snprintf(h.mtime, sizeof(h.mtime), "%011llo", (unsigned long long)time);
	memset(h.checksum, ' ', sizeof(h.checksum));
	for (size_t i = 0; i < sizeof(h); i++)
		sum += ((const unsigned char *)&h)[i];
	snprintf(h.checksum, sizeof(h.checksum), "%06o", sum & 0777777u);
	put(gz, &h, sizeof(h));
	put(gz, file->text, file->len);
	put(gz, zeros, (BLOCK - file->len % BLOCK) % BLOCK);
}

int bundle_archive_write(int fd, const char *folder, const struct bundle_file *files, size_t n, time_t time)
{
	static const char end[2 * BLOCK] = { 0 };
	unsigned char head[10] = { 0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3 }, tail[8];
	struct gzip gz = { .fd = fd, .crc = 0xffffffffu };

	little(head + 4, (uint32_t)time);
	write_all(&gz, head, sizeof(head));
	for (size_t i = 0; i < n && gz.err == 0; i++)
		put_file(&gz, folder, &files[i], time);
	put(&gz, end, sizeof(end));
	stored(&gz, true);
	little(tail, gz.crc ^ 0xffffffffu);
	little(tail + 4, gz.size);
	write_all(&gz, tail, sizeof(tail));
	return gz.err;
}
