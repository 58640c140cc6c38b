/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/plugin_new.c - `skep plugin new`: a copy of a template, in which the word "example" has become
 * the plugin's name, in texts and in names of files.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/plugin.h"
#include "cli/skep.h"

#define TEMPLATE_WORD "example"
#define TEMPLATE_FILE_MAX (1u << 20)

struct copy {
	char lower[64], upper[64];
	unsigned files;
};

/* text with its words replaced; to be freed; NULL: no memory. */
static char *replaced(const struct copy *c, const char *text, size_t len, size_t *ret_len)
{
	static const char lower[] = TEMPLATE_WORD, upper[] = "EXAMPLE";
	const size_t word = sizeof(lower) - 1;
	char *out = NULL;
	FILE *f = open_memstream(&out, ret_len);

	if (!f)
		return NULL;
	for (size_t i = 0; i < len;) {
		if (len - i >= word && memcmp(text + i, lower, word) == 0) {
			fputs(c->lower, f);
			i += word;
		} else if (len - i >= word && memcmp(text + i, upper, word) == 0) {
			fputs(c->upper, f);
			i += word;
		} else {
			fputc(text[i++], f);
		}
	}
	if (fclose(f) != 0) {
		free(out);
		return NULL;
	}
	return out;
}

/* from_fd is a regular file. 0 or a negative errno. */
static int copy_file(struct copy *c, int from_fd, const struct stat *st, int to_dir, const char *to)
{
	char *text = NULL, *with = NULL;
	size_t n, len = 0;
	FILE *in, *out = NULL;
	int fd, err = 0;

	if (st->st_size > TEMPLATE_FILE_MAX) {
		close(from_fd);
		return -EFBIG;
	}
	in = fdopen(from_fd, "r");
	if (!in) {
		err = -errno;
		close(from_fd);
		return err;
	}
	text = malloc((size_t)st->st_size + 1);
	if (!text) {
		err = -ENOMEM;
		goto out;
	}
	n = fread(text, 1, (size_t)st->st_size, in);
	with = replaced(c, text, n, &len);
	fd = with ? openat(to_dir, to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, st->st_mode & 0111 ? 0755 : 0644) : -1;
	if (fd < 0) {
		err = with ? -errno : -ENOMEM;
		goto out;
	}
	out = fdopen(fd, "w");
	if (!out) {
		err = -errno;
		close(fd);
		goto out;
	}
	if (fwrite(with, 1, len, out) != len)
		err = -EIO;
	if (fclose(out) != 0 && !err)
		err = -errno;
	c->files++;
out:
	fclose(in);
	free(with);
	free(text);
	return err;
}

/* The folder from_fd (taken) into the folder to_fd. 0 or a negative errno, with the file's name told. */
static int copy_folder(struct copy *c, int from_fd, int to_fd)
{
	DIR *dir = fdopendir(from_fd);
	struct dirent *e;
	int err = 0;

	if (!dir) {
		err = -errno;
		close(from_fd);
		return err;
	}
	while (!err && (e = readdir(dir))) {
		struct stat st;
		size_t len;
		char *name;
		int fd, sub;

		if (e->d_name[0] == '.')
			continue;
		name = replaced(c, e->d_name, strlen(e->d_name), &len);
		fd = name ? openat(from_fd, e->d_name, O_RDONLY | O_CLOEXEC) : -1;
		if (fd < 0 || fstat(fd, &st) < 0) {
			err = name ? -errno : -ENOMEM;
			if (fd >= 0)
				close(fd);
		} else if (S_ISDIR(st.st_mode)) {
			sub = mkdirat(to_fd, name, 0755) < 0 ? -1 : openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
			if (sub < 0) {
				err = -errno;
				close(fd);
			} else {
				err = copy_folder(c, fd, sub);
				close(sub);
			}
		} else {
			err = copy_file(c, fd, &st, to_fd, name);
		}
		if (err)
			skep_say("plugin", "%s: %s", e->d_name, strerror(-err));
		free(name);
	}
	closedir(dir);
	return err;
}

static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 31 && name[0] >= 'a' && name[0] <= 'z' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
}

static int make(const char *templates, const char *kind, const char *name, const char *to)
{
	struct copy c = { .files = 0 };
	int from_fd = -1, to_fd = -1, err;
	char *from = NULL;

	snprintf(c.lower, sizeof(c.lower), "%s", name);
	for (size_t i = 0; i < sizeof(c.upper) - 1 && name[i]; i++)
		c.upper[i] = (char)toupper((unsigned char)name[i]);
	if (asprintf(&from, "%s/%s", templates, kind) < 0)
		return skep_fail("plugin", SKEP_EXIT_RUNTIME, "out of memory");
	if (!strchr(kind, '/') && kind[0] != '.')
		from_fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from_fd < 0) {
		err = skep_usage("plugin", "there is no template '%s' in %s; it has probe-proc, probe-bpf, sink, recognizer when skep-dev is installed", kind, templates);
	} else if (mkdir(to, 0755) < 0) {
		err = skep_fail("plugin", SKEP_EXIT_RUNTIME, "%s: %s; a new folder is made, nothing is written into one that is there", to, strerror(errno));
		close(from_fd);
	} else if ((to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		err = skep_fail("plugin", SKEP_EXIT_RUNTIME, "%s: %s", to, strerror(errno));
		close(from_fd);
	} else if (copy_folder(&c, from_fd, to_fd) < 0) {
		err = skep_fail("plugin", SKEP_EXIT_RUNTIME, "%s is not complete", to);
	} else {
		printf("%s: %u files of the template %s; next: cd %s && make check\n", to, c.files, kind, to);
		err = SKEP_EXIT_OK;
	}
	if (to_fd >= 0)
		close(to_fd);
	free(from);
	return err;
}

int plugin_new(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "templates", required_argument, NULL, 't' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *templates = SKEP_DATA_DIR "/templates";
	int c;

	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, ":h", longs, NULL)) >= 0) {
		switch (c) {
		case 't':
			templates = optarg;
			break;
		case 'h':
			return skep_help("plugin");
		default:
			return skep_usage_option("plugin", c, argv, longs);
		}
	}
	if (argc - optind < 2 || argc - optind > 3)
		return skep_usage("plugin", "new takes KIND NAME [DIR]");
	if (!name_ok(argv[optind + 1]))
		return skep_usage("plugin", "'%s': a name is up to 31 small letters, digits and _, and begins with a letter: it will be part of names in C", argv[optind + 1]);
	return make(templates, argv[optind], argv[optind + 1], argc - optind == 3 ? argv[optind + 2] : argv[optind + 1]);
}
