/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/mock/process.c - watches the state that belongs to the process and not to a plugin: signals, locale, umask,
 * working directory, limits.  It also tracks the fds and threads that a plugin has opened and must release.
 *
 * The mock looks at both around each callback, so that it does not blame the plugin for what the test does in between.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "sdk/mock/priv.h"

/* A plugin that leaks a descriptor per call leaks many: the mock reports only this many. */
#define FDS_TOLD 3u

void mock_set_add(struct mock_set *set, int n)
{
	if (set->n == set->room) {
		set->room = set->room ? 2 * set->room : 32;
		set->at = mock_need(realloc(set->at, set->room * sizeof(*set->at)));
	}
	set->at[set->n++] = n;
}

bool mock_set_has(const struct mock_set *set, int n)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->at[i] == n)
			return true;
	return false;
}

void mock_set_remove(struct mock_set *set, int n)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->at[i] == n) {
			set->at[i] = set->at[--set->n];
			return;
		}
}

/* Reads the numbers in a folder of /proc/self; none without /proc. */
static void mock_list(const char *folder, struct mock_set *ret)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	ret->n = 0;
	while (dir && (e = readdir(dir))) {
		char *end;
		long n = strtol(e->d_name, &end, 10);

		if (end != e->d_name && !*end && n != dirfd(dir))
			mock_set_add(ret, (int)n);
	}
	if (dir)
		closedir(dir);
}

/* Adds the numbers in `now` that `before` lacks to the plugin's set, and removes the numbers that `now` lacks. */
static void mock_difference(const struct mock_set *before, const struct mock_set *now, struct mock_set *owned)
{
	for (size_t i = 0; i < now->n; i++)
		if (!mock_set_has(before, now->at[i]) && !mock_set_has(owned, now->at[i]))
			mock_set_add(owned, now->at[i]);
	for (size_t i = owned->n; i-- > 0;)
		if (!mock_set_has(now, owned->at[i]))
			mock_set_remove(owned, owned->at[i]);
}

static char *mock_describe(const char *what)
{
	char text[4096] = "", line[256];
	sigset_t mask;
	size_t n = 0;
	FILE *f;

	if (strcmp(what, "working directory") == 0) {
		if (!getcwd(text, sizeof(text)))
			snprintf(text, sizeof(text), "none");
	} else if (strcmp(what, "locale") == 0) {
		const char *locale = setlocale(LC_ALL, NULL);

		snprintf(text, sizeof(text), "%s", locale ? locale : "");
	} else if (strcmp(what, "time zone") == 0) {
		const char *zone = getenv("TZ");

		snprintf(text, sizeof(text), "%s", zone ? zone : "not set");
	} else if (strcmp(what, "umask") == 0) {
		/*
		 * The kernel shows the umask since 4.7.  umask() itself would have to change it, while other threads
		 * create files.
		 */
		f = fopen("/proc/self/status", "re");
		while (f && fgets(line, sizeof(line), f))
			if (strncmp(line, "Umask:", 6) == 0)
				snprintf(text, sizeof(text), "%.*s", (int)strcspn(line + 7, "\n"), line + 7);
		if (f)
			fclose(f);
	} else if (strcmp(what, "blocked signals") == 0) {
		pthread_sigmask(SIG_BLOCK, NULL, &mask);
		for (int s = 1; s < NSIG; s++)
			if (sigismember(&mask, s) == 1)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%d ", s);
	} else if (strcmp(what, "signal handlers") == 0) {
		for (int s = 1; s < NSIG; s++) {
			struct sigaction sa;

			if (sigaction(s, NULL, &sa) == 0 && sa.sa_handler != SIG_DFL)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%d:%" PRIxPTR " ", s,
						      (uintptr_t)sa.sa_handler);
		}
	} else {
		for (int r = 0; r < (int)RLIM_NLIMITS; r++) {
			struct rlimit limit;

			if (getrlimit((unsigned)r, &limit) == 0)
				n += (size_t)snprintf(text + n, sizeof(text) - n, "%llx/%llx ",
						      (unsigned long long)limit.rlim_cur,
						      (unsigned long long)limit.rlim_max);
		}
	}
	return mock_need(strdup(text));
}

static const char *const mock_kinds[MOCK_PROCESS_LINES] = {
	"working directory", "locale", "time zone", "umask", "blocked signals", "signal handlers", "limits", NULL,
};

void mock_process_before(struct skep_mock *m)
{
	struct skep_mock_priv *p = m->priv;

	for (int i = 0; mock_kinds[i]; i++) {
		free(p->process_before[i]);
		p->process_before[i] = mock_describe(mock_kinds[i]);
	}
	mock_list("/proc/self/fd", &p->fds_before);
	mock_list("/proc/self/task", &p->threads_before);
	/* A thread of work() belongs to the mock. */
}

void mock_process_after(struct skep_mock *m)
{
	struct skep_mock_priv *p = m->priv;
	struct mock_set now = { 0 };

	for (int i = 0; mock_kinds[i]; i++) {
		char *text = mock_describe(mock_kinds[i]);

		if (strcmp(text, p->process_before[i]) != 0)
			mock_defect(m, "%s() changed the process's %s, which are the host's", p->callback,
				    mock_kinds[i]);
		free(text);
	}
	mock_list("/proc/self/fd", &now);
	mock_difference(&p->fds_before, &now, &p->fds);
	mock_list("/proc/self/task", &now);
	mock_difference(&p->threads_before, &now, &p->threads);
	free(now.at);
}

void mock_process_threads_left(struct skep_mock *m)
{
	struct skep_mock_priv *p = m->priv;
	struct mock_set now = { 0 };
	unsigned left = 0;

	/* A joined thread may stay in /proc for a moment: pthread_join waits for the thread's memory, not for /proc. */
	for (int tries = 0; tries < 1000; tries++) {
		const struct timespec ms = { 0, 1000000 };

		left = 0;
		mock_list("/proc/self/task", &now);
		for (size_t i = 0; i < p->threads.n; i++)
			left += mock_set_has(&now, p->threads.at[i]);
		if (left == 0)
			break;
		nanosleep(&ms, NULL);
	}
	free(now.at);
	if (left > 0)
		mock_defect(m, "%u thread%s left running; join them in stop()", left, left == 1 ? " was" : "s were");
	p->threads.n = 0;
}

void mock_process_fds_left(struct skep_mock *m)
{
	struct skep_mock_priv *p = m->priv;
	unsigned told = 0;

	for (size_t i = 0; i < p->fds.n; i++) {
		char link[64], path[256] = "";
		ssize_t n;

		if (fcntl(p->fds.at[i], F_GETFD) < 0)
			continue;
		if (told++ == FDS_TOLD) {
			mock_defect(m, "more than %u fds were left open", FDS_TOLD);
			break;
		}
		snprintf(link, sizeof(link), "/proc/self/fd/%d", p->fds.at[i]);
		n = readlink(link, path, sizeof(path) - 1);
		mock_defect(m, "fd %d was left open (%.*s); close it in stop() or close()", p->fds.at[i],
			    n > 0 ? (int)n : 1, n > 0 ? path : "?");
	}
	p->fds.n = 0;
}

void mock_process_free(struct skep_mock_priv *p)
{
	for (int i = 0; mock_kinds[i]; i++)
		free(p->process_before[i]);
	free(p->fds_before.at);
	free(p->fds.at);
	free(p->threads_before.at);
	free(p->threads.at);
}
