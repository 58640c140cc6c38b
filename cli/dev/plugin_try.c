/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/dev/plugin_try.c - loads a plugin and calls its callbacks under the mock host, in a child process.  A crash or
 * hang ends only that process and becomes a finding.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <skep/mock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/base/human.h"
#include "cli/base/skep.h"
#include "cli/dev/plugin_check.h"
#include "core/config/option_table.h"
#include "core/plugin/note.h"
#include "core/plugin/plugin.h"

#define TRY_SECONDS 60

/* Writes to the parent which callback the child calls: after a crash, the last such line names the callback. */
static void phase(const struct findings *f, const char *what)
{
	dprintf(f->fd, "P\t%s\n", what);
}

static int quiet_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

/* Sets an option from "name=value", a list from "name=a,b". 0 or -EINVAL with m->why. */
static int set_option(struct skep_mock *m, const char *given)
{
	const char *value = strchr(given, '='), **list;
	char *name, *copy, *rest, *word;
	struct config_key o;
	size_t n = 0;
	int err;

	if (!value) {
		snprintf(m->why, sizeof(m->why), "\"%s\": expected NAME=VALUE", given);
		return -EINVAL;
	}
	name = strndup(given, (size_t)(value - given));
	copy = strdup(value + 1);
	list = calloc(strlen(value) + 2, sizeof(*list));
	if (!name || !copy || !list) {
		err = -ENOMEM;
		snprintf(m->why, sizeof(m->why), "out of memory");
		goto out;
	}
	err = skep_mock_option(m, name, value + 1);
	for (size_t i = 0; err && option_get(m->plugin, i, &o); i++) {
		if (strcmp(o.name, name) != 0 || o.type != SKEP_O_STRV)
			continue;
		rest = copy;
		while ((word = strsep(&rest, ",")))
			if (*word)
				list[n++] = word;
		err = skep_mock_option_list(m, name, list);
		break;
	}
out:
	free(list);
	free(copy);
	free(name);
	return err;
}

/* The name of a required option that no --option sets; NULL: none. */
static const char *missing_option(const struct plugin_try *try, const struct skep_plugin *desc)
{
	static struct config_key o;

	for (size_t i = 0; option_get(desc, i, &o); i++) {
		bool given = !(o.flags & SKEP_OPT_REQUIRED);

		for (const char *const *g = try->options; *g && !given; g++)
			given = strncmp(*g, o.name, strlen(o.name)) == 0 && (*g)[strlen(o.name)] == '=';
		if (!given)
			return o.name;
	}
	return NULL;
}

static int begin(struct findings *f, const struct plugin_try *try, struct skep_mock *m, const struct skep_plugin *desc)
{
	const char *missing = missing_option(try, desc);

	if (missing) {
		findings_add(f, FINDING_ERROR, "options", "\"%s\" is required; give it: --option %s=VALUE", missing,
			     missing);
		return SKEP_EXIT_RUNTIME;
	}
	skep_mock_init(m, desc);
	m->quiet = true;
	for (const char *const *o = try->options; *o; o++) {
		if (set_option(m, *o) < 0) {
			findings_add(f, FINDING_ERROR, "options", "%s", m->why);
			skep_mock_end(m);
			return SKEP_EXIT_RUNTIME;
		}
	}
	return 0;
}

static void defects(struct findings *f, const struct skep_mock *m)
{
	const char *text;

	for (unsigned i = 0; (text = skep_mock_defect(m, i)); i++)
		findings_add(f, FINDING_ERROR, "life", "%s", text);
}

static int failed(struct findings *f, struct skep_mock *m, const char *callback, int err)
{
	bool privilege = (err == -EPERM || err == -EACCES) && strcmp(callback, "start") == 0;

	/* A failure without privileges is expected: a warning, with the plugin's reason. */
	findings_add(f, privilege ? FINDING_WARNING : FINDING_ERROR, "life", "%s() failed: %s", callback,
		     m->why[0] ? m->why : strerror(-err));
	defects(f, m);
	skep_mock_end(m);
	return privilege ? SKEP_EXIT_PRIVILEGE : SKEP_EXIT_RUNTIME;
}

static void records(struct findings *f, const struct skep_mock *m)
{
	for (uint32_t i = 0; i < m->plugin->n_streams; i++) {
		const char *name = m->plugin->streams[i]->name;
		unsigned long long lost = skep_mock_lost(m, name);
		unsigned n = skep_mock_count(m, name);

		if (n > 0 || lost > 0)
			findings_add(f, FINDING_OK, "life", "%s: %u records%s", name, n, lost ? ", and losses" : "");
	}
}

/* Calls all callbacks; also open() and close() alone, as skepd -t does. */
static int live(struct findings *f, const struct plugin_try *try, const struct skep_plugin *desc)
{
	char worst[HUMAN_SIZE];
	struct skep_mock m;
	int err;

	err = begin(f, try, &m, desc);
	if (err)
		return err;
	phase(f, "open");
	err = skep_mock_open(&m);
	if (err)
		return failed(f, &m, "open", err);
	phase(f, "close");
	skep_mock_close(&m);
	defects(f, &m);
	skep_mock_end(&m);
	if (!try->start) {
		findings_add(f, FINDING_OK, "life", "opened and closed");
		return 0;
	}

	err = begin(f, try, &m, desc);
	if (err)
		return err;
	phase(f, "open");
	err = skep_mock_open(&m);
	if (err)
		return failed(f, &m, "open, for the second time,", err);
	phase(f, "start");
	err = skep_mock_start(&m);
	if (err)
		return failed(f, &m, "start", err);
	if (try->submit && desc->kind == SKEP_KIND_SINK) {
		phase(f, "submit");
		plugin_submit(f, &m);
	}
	for (unsigned i = 0; i < try->samples; i++) {
		phase(f, "sample");
		skep_mock_advance(&m, m.host.interval_ns);
		phase(f, "a watch callback of");
		skep_mock_poll(&m, 20);
		phase(f, "work");
		skep_mock_settle(&m);
	}
	phase(f, "flush");
	skep_mock_flush(&m);
	if (desc->reload) {
		phase(f, "reload");
		err = skep_mock_reload(&m);
		if (err && err != -ENOTSUP)
			findings_add(f, FINDING_ERROR, "life", "reload() with the same options failed: %s",
				     m.why[0] ? m.why : strerror(-err));
	}
	phase(f, "stop");
	skep_mock_stop(&m);
	if (m.worst_ns > 5000000)
		findings_add(f, FINDING_WARNING, "life",
			     "a callback took %s; its budget is 5 ms: move longer work into work()",
			     human_time(m.worst_ns, 0, worst));
	records(f, &m);
	phase(f, "close");
	skep_mock_close(&m);
	defects(f, &m);
	skep_mock_end(&m);
	findings_add(f, FINDING_OK, "life",
		     "opened, started, sampled %u times, stopped, closed; the longest callback took %s", try->samples,
		     human_time(m.worst_ns, 0, worst));
	return 0;
}

static int child(struct findings *f, const struct plugin_try *try)
{
	const char *const dirs[] = { try->dir, NULL };
	struct plugin *plugin;
	struct diag diag;
	int err;

	libbpf_set_print(quiet_libbpf);
	diag_init(&diag);
	phase(f, "loading");
	err = plugin_load(dirs, try->name, 0, &diag, &plugin);
	for (size_t i = 0; i < diag.n; i++)
		findings_add(f, FINDING_ERROR,
			     err == -EPERM     ? "file"
			     : err == -ENOEXEC ? "abi"
					       : "load",
			     "%s", diag.entries[i].text);
	diag_clear(&diag);
	if (err)
		return err == -ENOEXEC ? SKEP_EXIT_ABI : SKEP_EXIT_RUNTIME;
	findings_add(f, FINDING_OK, "file", "a regular file; only its owner may write it or its folder");
	findings_add(f, FINDING_OK, "abi", "%s \"%s\" %s, built for plugin ABI %u.%u; this skep has %u.%u",
		     note_kind_name(plugin->desc->kind), plugin->note.name, plugin->note.version,
		     plugin->note.abi_major, plugin->note.abi_minor, SKEP_ABI_MAJOR, SKEP_ABI_MINOR);
	plugin_tables_check(f, plugin->desc);
	return live(f, try, plugin->desc);
}

int plugin_try(struct findings *f, const struct plugin_try *try)
{
	int fds[2], status = 0, rc;
	char *line = NULL, last[64] = "loading";
	bool done = false;
	size_t room = 0;
	FILE *in;
	pid_t pid;

	if (pipe(fds) < 0 || !(in = fdopen(fds[0], "r"))) {
		findings_add(f, FINDING_ERROR, "life", "no pipe: %s", strerror(errno));
		return SKEP_EXIT_RUNTIME;
	}
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		const struct rlimit none = { 0, 0 };
		struct findings reported;

		fclose(in);
		/* No core file: the developer can repeat the trial in a debugger. */
		setrlimit(RLIMIT_CORE, &none);
		alarm(TRY_SECONDS);
		findings_init(&reported, fds[1]);
		status = child(&reported, try);
		/* By this line the parent sees that child() returned; without it the plugin has called exit(). */
		dprintf(fds[1], "D\t\n");
		_exit(status);
	}
	close(fds[1]);
	if (pid < 0) {
		findings_add(f, FINDING_ERROR, "life", "no process: %s", strerror(errno));
		fclose(in);
		return SKEP_EXIT_RUNTIME;
	}
	while (getline(&line, &room, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == 'D')
			done = true;
		else if (line[0] == 'P' && line[1] == '\t')
			snprintf(last, sizeof(last), "%s", line + 2);
		else
			findings_take(f, line);
	}
	free(line);
	fclose(in);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
		findings_add(f, FINDING_ERROR, "life", "%s has not returned within %d s", last, TRY_SECONDS);
		rc = SKEP_EXIT_RUNTIME;
	} else if (WIFSIGNALED(status)) {
		findings_add(f, FINDING_ERROR, "life", "crashed in %s: signal %d (%s)", last, WTERMSIG(status),
			     strsignal(WTERMSIG(status)));
		rc = SKEP_EXIT_RUNTIME;
	} else {
		rc = WEXITSTATUS(status);
		if (!done)
			findings_add(f, FINDING_ERROR, "life", "ended the process in %s, with status %d", last, rc);
	}
	return rc;
}
