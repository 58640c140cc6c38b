/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/replay.c - main() of a fuzz target where it is not built with libFuzzer:
 * it runs the corpus once, so that each input that was ever of interest is a test in
 * every build, with every compiler.
 *
 * fuzz_x [FILE|FOLDER]...; with no argument $abs_srcdir/tests/fuzz/corpus/fuzz_x, where
 * an empty or missing corpus is a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv) __attribute__((weak));

static int replay_file(const char *path)
{
	uint8_t *data = NULL;
	struct stat st;
	FILE *file;
	int err = 0;

	file = fopen(path, "rbe");
	if (!file)
		return -errno;
	if (fstat(fileno(file), &st) < 0) {
		err = -errno;
		goto out;
	}
	/* The exact size, on the heap: the sanitizer then finds a read one byte too far. */
	data = malloc(st.st_size ? (size_t)st.st_size : 1);
	if (!data) {
		err = -ENOMEM;
		goto out;
	}
	if (fread(data, 1, (size_t)st.st_size, file) != (size_t)st.st_size) {
		err = -EIO;
		goto out;
	}
	LLVMFuzzerTestOneInput(data, (size_t)st.st_size);
out:
	free(data);
	fclose(file);
	return err;
}

static int replay(const char *path, unsigned *count)
{
	struct dirent *entry;
	struct stat st;
	DIR *dir;
	int err = 0;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISDIR(st.st_mode)) {
		(*count)++;
		return replay_file(path);
	}
	dir = opendir(path);
	if (!dir)
		return -errno;
	while (!err && (entry = readdir(dir))) {
		char *child;

		if (entry->d_name[0] == '.')
			continue;
		if (asprintf(&child, "%s/%s", path, entry->d_name) < 0) {
			err = -ENOMEM;
			break;
		}
		err = replay(child, count);
		free(child);
	}
	closedir(dir);
	return err;
}

static int replay_say(const char *path, unsigned *count)
{
	int err = replay(path, count);

	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	return err;
}

int main(int argc, char **argv)
{
	const char *srcdir = getenv("abs_srcdir");
	const char *name = strrchr(argv[0], '/');
	unsigned count = 0;
	char *path = NULL;
	int i, rc = EXIT_SUCCESS;

	name = name ? name + 1 : argv[0];
	if (LLVMFuzzerInitialize)
		LLVMFuzzerInitialize(&argc, &argv);
	for (i = 1; i < argc; i++) {
		if (replay_say(argv[i], &count))
			rc = EXIT_FAILURE;
	}
	if (argc < 2) {
		if (asprintf(&path, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", name) < 0)
			return EXIT_FAILURE;
		if (replay_say(path, &count))
			rc = EXIT_FAILURE;
	}
	printf("%s: %u inputs\n", name, count);
	if (!count)
		rc = EXIT_FAILURE;
	free(path);
	return rc;
}
