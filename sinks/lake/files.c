/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names, lists and removes the files of a lake.
 */
#include "sinks/lake/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *files_path(const char *folder, unsigned number)
{
	unsigned month = number / FILES_PARTS, part = number % FILES_PARTS;
	char *path;
	int n;

	if (part)
		n = asprintf(&path, "%s/lake-%04u-%02u.%u.db", folder, month / 12, month % 12 + 1, part);
	else
		n = asprintf(&path, "%s/lake-%04u-%02u.db", folder, month / 12, month % 12 + 1);
	return n < 0 ? NULL : path;
}

/*
 * True for the suffixes that SQLite and skep add to a file's name.  Any other file, such as FILE.gz or FILE.bak, is a
 * user's.
 */
static bool is_ours(const char *suffix)
{
	return !*suffix || strcmp(suffix, "-wal") == 0 || strcmp(suffix, "-shm") == 0 ||
	       strcmp(suffix, "-journal") == 0 || strncmp(suffix, ".corrupt-", 9) == 0;
}

/* Returns the suffix behind ".db" in a lake file's name, and the file's number; NULL: not a lake file. */
static const char *parse(const char *name, unsigned *ret_number)
{
	unsigned year, month, part = 0;
	int end = 0, more = 0;

	if (sscanf(name, "lake-%4u-%2u%n", &year, &month, &end) != 2 || !end || !month || month > 12)
		return NULL;
	if (sscanf(name + end, ".%3u%n", &part, &more) == 1 && !part)
		return NULL;
	name += end + more;
	if (strncmp(name, ".db", 3) != 0 || !is_ours(name + 3))
		return NULL;
	*ret_number = (year * 12 + month - 1) * FILES_PARTS + part;
	return name + 3;
}

static int newest_first(const void *a, const void *b)
{
	const struct files_one *x = a, *y = b;

	return x->number < y->number ? 1 : x->number > y->number ? -1 : 0;
}

static struct files_one *one_of(struct files *f, unsigned number)
{
	struct files_one *grown;

	for (size_t i = 0; i < f->n; i++)
		if (f->one[i].number == number)
			return &f->one[i];
	grown = realloc(f->one, (f->n + 1) * sizeof(*grown));
	if (!grown)
		return NULL;
	f->one = grown;
	f->one[f->n] = (struct files_one){ .number = number };
	return &f->one[f->n++];
}

int files_list(const char *folder, struct files *ret)
{
	struct files f = { 0 };
	struct files_one *one;
	struct dirent *e;
	struct stat st;
	int err = 0;
	DIR *d;

	d = opendir(folder);
	if (!d)
		return -errno;
	while (!err && (e = readdir(d))) {
		unsigned number;
		const char *rest = parse(e->d_name, &number);
		int64_t write_ns;

		if (!rest || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		one = one_of(&f, number);
		if (!one) {
			err = -ENOMEM;
			break;
		}
		one->is_there |= !*rest;
		one->bytes += (uint64_t)st.st_size;
		write_ns = st.st_mtim.tv_sec * INT64_C(1000000000) + st.st_mtim.tv_nsec;
		/* ignore -shm and an empty -wal: a reader writes those */
		if (strncmp(rest, ".corrupt-", 9) != 0 && strcmp(rest, "-shm") != 0 && st.st_size &&
		    write_ns > one->write_ns)
			one->write_ns = write_ns;
	}
	closedir(d);
	if (err) {
		files_free(&f);
		return err;
	}
	if (f.n)
		qsort(f.one, f.n, sizeof(*f.one), newest_first);
	*ret = f;
	return 0;
}

void files_free(struct files *f)
{
	free(f->one);
	*f = (struct files){ 0 };
}

int files_remove(const char *folder, unsigned number)
{
	struct dirent *e;
	int err = 0;
	DIR *d;

	d = opendir(folder);
	if (!d)
		return -errno;
	/*
	 * The file itself first: when a crash leaves a -wal behind, SQLite finds an empty new file and deletes the
	 * -wal.
	 */
	for (int pass = 0; !err && pass < 2; pass++) {
		rewinddir(d);
		while (!err && (e = readdir(d))) {
			unsigned other;
			const char *rest = parse(e->d_name, &other);

			if (rest && other == number && !*rest == !pass && unlinkat(dirfd(d), e->d_name, 0) != 0 &&
			    errno != ENOENT)
				err = -errno;
		}
	}
	closedir(d);
	return err;
}
