/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/bundle_collect.c - reads files, runs programs and lists folders for a support bundle.
 */
#include "cli/doctor/bundle_collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FILE_MOST (1u << 20)
#define OUTPUT_MOST (4u << 20)
#define OUTPUT_SECONDS 60
#define LISTED_MOST 500u

extern char **environ;

void bundle_free(struct bundle *b)
{
	for (size_t i = 0; i < b->n; i++) {
		free(b->files[i].name);
		free(b->files[i].text);
	}
	free(b->files);
	*b = (struct bundle){ 0 };
}

void bundle_add(struct bundle *b, const char *name, char *text, size_t len)
{
	struct bundle_file *larger = reallocarray(b->files, b->n + 1, sizeof(*larger));
	char *copy = strdup(name);

	if (larger)
		b->files = larger;
	if (!larger || !copy || !text) {
		free(copy);
		free(text);
		b->failed = true;
		return;
	}
	b->files[b->n].name = copy;
	b->files[b->n].text = text;
	b->files[b->n++].len = len;
}

/* Adds a formatted text. */
__attribute__((format(printf, 3, 4))) static void add_words(struct bundle *b, const char *name, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	bundle_add(b, name, n < 0 ? NULL : text, n < 0 ? 0 : (size_t)n);
}

void bundle_add_file(struct bundle *b, const char *name, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *text;
	size_t len = 0;
	ssize_t n;

	if (fd < 0) {
		add_words(b, name, "%s: %s\n", path, strerror(errno));
		return;
	}
	text = malloc(FILE_MOST + 1);
	while (text && len < FILE_MOST &&
	       ((n = read(fd, text + len, FILE_MOST - len)) > 0 || (n < 0 && errno == EINTR)))
		len += n > 0 ? (size_t)n : 0;
	close(fd);
	if (text)
		text[len] = '\0';
	bundle_add(b, name, text, len);
}

static int64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Reads until the program closes its end. false: it took too long, or wrote too much. */
static bool read_output(int fd, char *text, size_t *len)
{
	int64_t until = now_ms() + OUTPUT_SECONDS * 1000;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until - now_ms();
		ssize_t n;

		if (left <= 0 || *len == OUTPUT_MOST || poll(&p, 1, (int)left) == 0)
			return false;
		n = read(fd, text + *len, OUTPUT_MOST - *len);
		if (n == 0)
			return true;
		if (n > 0)
			*len += (size_t)n;
		else if (errno != EINTR)
			return false;
	}
}

static int spawn(const char *const *argv, int out, pid_t *ret)
{
	posix_spawn_file_actions_t actions;
	int err = posix_spawn_file_actions_init(&actions);

	if (err)
		return err;
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDERR_FILENO);
	err = posix_spawnp(ret, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return err;
}

void bundle_add_output(struct bundle *b, const char *name, const char *const *argv)
{
	char *text = malloc(OUTPUT_MOST + 128);
	int fds[2], status = 0, err;
	size_t len = 0;
	pid_t pid;
	bool whole;

	if (!text || pipe2(fds, O_CLOEXEC) < 0) {
		free(text);
		b->failed = true;
		return;
	}
	err = spawn(argv, fds[1], &pid);
	close(fds[1]);
	if (err) {
		close(fds[0]);
		free(text);
		add_words(b, name, "%s: %s\n", argv[0], strerror(err));
		return;
	}
	whole = read_output(fds[0], text, &len);
	close(fds[0]);
	if (!whole)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!whole)
		len += (size_t)sprintf(text + len, "\n[cut: it took more than %d s, or printed more than %u bytes]\n",
				       OUTPUT_SECONDS, OUTPUT_MOST);
	else if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
		len += (size_t)sprintf(text + len, "\n[exit status %d]\n", WEXITSTATUS(status));
	else if (WIFSIGNALED(status))
		len += (size_t)sprintf(text + len, "\n[ended by signal %d]\n", WTERMSIG(status));
	text[len] = '\0';
	bundle_add(b, name, text, len);
}

static void list_folder(FILE *out, const char *folder)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	fprintf(out, "%s:\n", folder);
	if (!dir) {
		fprintf(out, "  %s\n\n", strerror(errno));
		return;
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct stat st;

		if (strcmp(entry->d_name, "..") == 0 ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (n++ < LISTED_MOST)
			fprintf(out, "  %06o %6u %6u %12lld %s\n", (unsigned)st.st_mode, (unsigned)st.st_uid,
				(unsigned)st.st_gid, (long long)st.st_size, entry->d_name);
	}
	if (n > LISTED_MOST)
		fprintf(out, "  and %u more\n", n - LISTED_MOST);
	fputc('\n', out);
	closedir(dir);
}

void bundle_add_listing(struct bundle *b, const char *name, const char *const *folders)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		b->failed = true;
		return;
	}
	for (; *folders; folders++)
		list_folder(out, *folders);
	if (fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	bundle_add(b, name, text, len);
}
