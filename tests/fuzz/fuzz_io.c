/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_io.c - the texts that the probe "io" reads: the first byte chooses. The parsers read nothing beyond
 * the input, and each found name lies within the line.
 */
#include <stdint.h>
#include <stdlib.h>

#include "plugins/io/state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void lines(char *text, void (*each)(char *line))
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		each(line);
}

static void diskstats(char *line)
{
	struct diskstats d;

	if (diskstats_parse(line, &d) == 0 &&
	    (d.name < line || d.name + d.name_len > line + strlen(line) || !d.name_len))
		abort();
}

static void mountinfo(char *line)
{
	const char *end = line + strlen(line);
	struct skep_mount m;

	if (skep_mountinfo_line(line, &m))
		return;
	for (size_t i = 0; i < 6; i++) {
		const char *text = (const char *[]){ m.root, m.path, m.options, m.type, m.source, m.super_options }[i];

		if (text < line || text + strlen(text) > end)
			abort();
	}
	if (m.path[0] != '/' || (skep_mount_has(m.options, "ro") && !strstr(m.options, "ro")))
		abort();
}

/* A table with one mount of each kind, and a client's file. */
static void client(unsigned which, FILE *f)
{
	static const char mounts[] =
		"1 1 0:1 / /nfs rw - nfs4 server:/export rw\n1 1 0:2 / /share rw - cifs //files/home rw\n"
		"1 1 0:3 / /lustre rw - lustre a@tcp:/scratch rw\n1 1 0:4 / /ceph rw - ceph a:/ rw\n";
	struct filesystems t = { 0 };

	t.mounts.file = fmemopen((void *)(uintptr_t)mounts, sizeof(mounts) - 1, "r");
	if (!t.mounts.file || filesystems_pass(&t, "/nonexistent") || t.n != 4)
		abort();
	switch (which) {
	case 0:
		fs_read_nfs(&t, f);
		break;
	case 1:
		fs_read_cifs(&t, f);
		break;
	case 2:
		fs_read_lustre(&t.at[2], f);
		break;
	default:
		fs_read_ceph(&t.at[3], f);
	}
	filesystems_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy;
	FILE *f;

	if (size < 2)
		return 0;
	copy = malloc(size);
	if (!copy)
		abort();
	memcpy(copy, data + 1, size - 1);
	copy[size - 1] = '\0';
	f = fmemopen(copy, size - 1, "r");
	if (!f)
		abort();
	if (data[0] % 7 == 4) {
		struct vm vm;

		vmstat_read(f, 4096, &vm);
	} else if (data[0] % 7 < 4) {
		client(data[0] % 7, f);
	}
	fclose(f);
	if (data[0] % 7 == 5)
		lines(copy, diskstats);
	else if (data[0] % 7 == 6)
		lines(copy, mountinfo);
	free(copy);
	return 0;
}
