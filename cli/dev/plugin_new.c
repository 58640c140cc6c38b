/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_new.c - `skep-dev new`: copies a template and replaces the word "example" by the plugin's name, in
 * texts and in names of files.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/skep.h"

#define TEMPLATE_WORD "example"
#define TEMPLATE_FILE_MAX (1u << 20)

struct new_options {
	const char *templates;
};

static const struct command_option options[] = {
	{ "templates", .value = "PATH", .help = "the folder of the templates (default: the installed ones)",
	  COMMAND_AT(struct new_options, templates) },
	{ 0 },
};

static int run_new(int argc, char **argv);

const struct command cmd_new = {
	.name = "new",
	.operands = "KIND NAME [DIR]",
	.summary = "begin a plugin: copy a template under a name of your own",
	.about =
		"KIND is probe-proc, probe-bpf, sink or recognizer. skep-dev makes the folder DIR (default: ./NAME).\n",
	.options = options,
	.most = 3,
	.run = run_new,
};

struct copy {
	char lower[64], upper[64];
	unsigned files;
};

/* Returns text with its words replaced; the caller frees it; NULL: no memory. */
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

/*
 * Copies the folder from_fd, which it closes, into the folder to_fd. 0 or -errno after a message that names the file.
 */
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
			sub = mkdirat(to_fd, name, 0755) < 0 ? -1
							     : openat(to_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
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
			skep_say("new", "%s: %s", e->d_name, strerror(-err));
		free(name);
	}
	closedir(dir);
	return err;
}

static bool name_ok(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= 31 && name[0] >= 'a' && name[0] <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == len;
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
		return skep_fail("new", SKEP_EXIT_RUNTIME, "out of memory");
	if (!strchr(kind, '/') && kind[0] != '.')
		from_fd = open(from, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from_fd < 0) {
		err = skep_usage(
			"new",
			"no template '%s' in %s; "
			"it has probe-proc, probe-bpf, sink, recognizer when skep-dev is installed",
			kind, templates);
	} else if (mkdir(to, 0755) < 0) {
		err = skep_fail("new", SKEP_EXIT_RUNTIME,
				"%s: %s; name a folder that does not exist: skep-dev writes into no existing one", to,
				strerror(errno));
		close(from_fd);
	} else if ((to_fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0) {
		err = skep_fail("new", SKEP_EXIT_RUNTIME, "%s: %s", to, strerror(errno));
		close(from_fd);
	} else if (copy_folder(&c, from_fd, to_fd) < 0) {
		err = skep_fail("new", SKEP_EXIT_RUNTIME, "%s is not complete", to);
	} else {
		printf("%s: %u files of the template %s; next: cd %s && make check\n", to, c.files, kind, to);
		err = SKEP_EXIT_OK;
	}
	if (to_fd >= 0)
		close(to_fd);
	free(from);
	return err;
}

static int run_new(int argc, char **argv)
{
	struct new_options o = { .templates = SKEP_DATA_DIR "/templates" };
	int status = command_parse(&cmd_new, argc, argv, &o);

	if (status >= 0)
		return status;
	if (argc - optind < 2)
		return skep_usage("new", "expected: KIND NAME [DIR]");
	if (!name_ok(argv[optind + 1]))
		return skep_usage(
			"new",
			"'%s': a name is up to 31 small letters, digits and _, and begins with a letter: "
			"it will be part of names in C",
			argv[optind + 1]);
	return make(o.templates, argv[optind], argv[optind + 1],
		    argc - optind == 3 ? argv[optind + 2] : argv[optind + 1]);
}
