/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/support_bundle.c - `skep support-bundle`: writes one file with the facts about skep on this machine that
 * support needs, without secrets.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/program.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/doctor/bundle_collect.h"
#include "cli/doctor/bundle_redact.h"
#include "cli/doctor/doctor_places.h"

#define CONFIG_FILE SKEP_SYSCONF_DIR "/skepd.conf"
#define LOG_LINES "2000"

static const char rules_folder[] = SKEP_SYSCONF_DIR "/filters.d", lake_folder[] = SKEP_STATE_DIR "/lake";

struct options {
	const char *output, *config, *socket;
};

static const struct command_option options_table[] = {
	{ "output", 'o', "FILE", "the file to write (default: skep-support-HOST-TIME.tar.gz, here)",
	  COMMAND_AT(struct options, output) },
	{ "config", .value = "FILE",
	  .help = "the configuration (default: the running skepd's, else " CONFIG_FILE ")",
	  COMMAND_AT(struct options, config) },
	ANSWER_SOCKET(struct options, socket),
	{ 0 },
};

static int run_support_bundle(int argc, char **argv);

const struct command cmd_support_bundle = {
	.name = "support-bundle",
	.summary = "collect the facts that support needs in one file, without secrets",
	.options = options_table,
	.notes =
		"The file has the configuration and rules, the answers of status, stats, rules, plugins and doctor, "
		"versions, facts about the kernel, cgroups, limits and folders, and the last " LOG_LINES
		" lines of the log. It has no records. skep blanks secrets in three ways that do not rely on each "
		"other, and prints the list of contents, so that you can look before you send the file. Only you may "
		"read it (mode 0600).\n"
		"\n"
		"Exit status: 0 when skep has written the file, 1 when it cannot. In place of a part that skep cannot "
		"collect the file has the reason.\n",
	.run = run_support_bundle,
};

/* ---- the contents ------------------------------------------------------------------------- */

static void add_questions(struct bundle *b, const char *config)
{
	static const char *const questions[][4] = {
		{ "status.txt", "status", NULL },
		{ "status.json", "status", "--json", NULL },
		{ "plugins.json", "plugins", "--json", NULL },
		{ "stats.json", "stats", "--json", NULL },
		{ "rules.json", "rules", "--json", NULL },
		{ "doctor.txt", "doctor", NULL },
		{ "doctor.json", "doctor", "--json", NULL },
		{ "version-skep.txt", "--version", NULL },
	};

	for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
		const char *argv[4] = { program_wrapped() ? program_path() : "/proc/self/exe" };
		int n = 1;

		for (int k = 1; k < 4 && questions[i][k]; k++)
			argv[n++] = questions[i][k];
		bundle_add_output(b, questions[i][0], argv);
	}
	bundle_add_output(b, "version-skepd.txt", (const char *const[]){ "skepd", "--version", NULL });
	bundle_add_output(b, "list-plugins.txt",
			  (const char *const[]) { "skepd", "-v", "--list-plugins", "-c", config, NULL });
	bundle_add_output(b, "config-test.txt", (const char *const[]){ "skepd", "-t", "-c", config, NULL });
	bundle_add_output(b, "log.txt",
			  (const char *const[]) { "journalctl", "--no-pager", "-o", "short-iso", "-n", LOG_LINES, "-t",
						  "skepd", NULL });
	/* systemd shows the values of the unit's variables and credentials, and skepd may have its secrets there */
	bundle_add_output(b, "unit.txt",
			  (const char *const[]) { "sh", "-c",
						  "systemctl show skepd.service | "
						  "sed -E 's/^(Environment|SetCredential[A-Za-z]*)=.+/\\1=***/'",
						  NULL });
}

static void add_facts(struct bundle *b, int pid)
{
	static const char *const files[][2] = {
		{ "os/os-release", "/etc/os-release" },
		{ "os/version", "/proc/version" },
		{ "os/cmdline", "/proc/cmdline" },
		{ "os/mountinfo", "/proc/self/mountinfo" },
		{ "os/cgroups", "/proc/cgroups" },
		{ "os/meminfo", "/proc/meminfo" },
		{ "os/loadavg", "/proc/loadavg" },
		{ "os/unprivileged_bpf_disabled", "/proc/sys/kernel/unprivileged_bpf_disabled" },
		{ "os/perf_event_paranoid", "/proc/sys/kernel/perf_event_paranoid" },
		{ "os/bpf_jit_enable", "/proc/sys/net/core/bpf_jit_enable" },
		{ "os/lsm", "/sys/kernel/security/lsm" },
		{ "os/lockdown", "/sys/kernel/security/lockdown" },
		{ "os/cgroup.controllers", "/sys/fs/cgroup/cgroup.controllers" },
	};
	static const char *const folders[] = {
		SKEP_SYSCONF_DIR,
		rules_folder,
		SKEP_PLUGIN_DIR,
		"/usr/local/lib/skep/plugins",
		"/run/skep",
		SKEP_STATE_DIR,
		lake_folder,
		"/sys/fs/bpf",
		"/sys/fs/bpf/skep",
		"/sys/kernel/btf",
		NULL,
	};
	static const char *const of_daemon[] = { "status", "limits", "cgroup", "io", "sched" };
	char name[64], path[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
		bundle_add_file(b, files[i][0], files[i][1]);
	for (size_t i = 0; pid > 0 && i < sizeof(of_daemon) / sizeof(of_daemon[0]); i++) {
		snprintf(name, sizeof(name), "daemon/%s", of_daemon[i]);
		snprintf(path, sizeof(path), "/proc/%d/%s", pid, of_daemon[i]);
		bundle_add_file(b, name, path);
	}
	bundle_add_output(b, "os/df.txt", (const char *const[]){ "df", "-PT", "/", SKEP_STATE_DIR, NULL });
	bundle_add_listing(b, "folders.txt", folders);
}

/* Adds all rule files of the folder unchanged: their comments help the reader, and a site chooses their names. */
static void add_rules(struct bundle *b)
{
	bundle_add_output(
		b, "config/filters.d.txt",
		(const char *const[]) {
			"sh", "-c",
			"for f in \"$1\"/*.json; do [ -e \"$f\" ] || continue; echo \"// $f\"; cat \"$f\"; done", "sh",
			rules_folder, NULL });
}

/* ---- written ------------------------------------------------------------------------------- */

static void add_manifest(struct bundle *b, const char *host, const char *when, size_t known)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out) {
		b->failed = true;
		return;
	}
	fprintf(out, "skep support bundle of %s, %s, by skep %s\n\n", host, when, SKEP_VERSION);
	fputs("*** replaces secrets: options that plugins declare as secrets, texts that the redaction tables match,\n",
	      out);
	fprintf(out, "and %zu secrets of the configuration, in every file.\n\n", known);
	for (size_t i = 0; i < b->n; i++)
		fprintf(out, "%10zu  %s\n", b->files[i].len, b->files[i].name);
	if (fclose(out) != 0) {
		free(text);
		text = NULL;
	}
	bundle_add(b, "MANIFEST", text, len);
}

static int write_file(const char *path, const char *folder, const struct bundle *b, time_t now)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), err;

	if (fd < 0)
		return -errno;
	err = bundle_archive_write(fd, folder, b->files, b->n, now);
	if (close(fd) < 0 && err == 0)
		err = -errno;
	if (err < 0)
		unlink(path);
	return err;
}

static int gather(const char *config, int pid, struct bundle *b, const char *host, const char *when)
{
	struct bundle_redact *redact = bundle_redact_new(config, pid);
	char *text;

	if (!redact)
		return -ENOMEM;
	text = bundle_redact_config(redact);
	bundle_add(b, "config/skepd.conf.json", text, text ? strlen(text) : 0);
	add_rules(b);
	add_questions(b, config);
	add_facts(b, pid);
	for (size_t i = 0; i < b->n; i++)
		bundle_redact_text(redact, b->files[i].text, &b->files[i].len);
	add_manifest(b, host, when, bundle_redact_known(redact));
	bundle_redact_free(redact);
	return b->failed ? -ENOMEM : 0;
}

static int run_support_bundle(int argc, char **argv)
{
	char stamp[32], when[64], *daemon_config = NULL, *path = NULL, *folder = NULL;
	struct options options = { 0 };
	struct bundle bundle = { 0 };
	struct ctl *ctl = NULL;
	struct utsname name = { 0 };
	time_t now = time(NULL);
	int status = command_parse(&cmd_support_bundle, argc, argv, &options), pid = 0, err = -ENOMEM;
	struct tm tm = { 0 };

	if (status >= 0)
		return status;
	if (options.socket)
		setenv("SKEP_SOCKET", options.socket, 1); /* for the questions, which other processes ask */
	uname(&name);
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &tm);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	if (ctl_try(options.socket, &ctl)) {
		pid = ctl_peer_pid(ctl);
		daemon_config = doctor_config_of_daemon(ctl);
		ctl_close(ctl);
	}
	folder = text_format("skep-support-%.40s", stamp);
	path = options.output ? strdup(options.output) : text_format("skep-support-%s-%s.tar.gz", name.nodename, stamp);
	if (path && folder)
		err = gather(options.config  ? options.config
			     : daemon_config ? daemon_config
					     : CONFIG_FILE,
			     pid, &bundle, name.nodename, when);
	if (err == 0)
		err = write_file(path, folder, &bundle, now);
	if (err < 0) {
		status = skep_fail("support-bundle", SKEP_EXIT_RUNTIME, "%s: cannot be written: %s", path ? path : "",
				   strerror(-err));
	} else {
		for (size_t i = 0; i < bundle.n; i++)
			printf("%10zu  %s\n", bundle.files[i].len, bundle.files[i].name);
		printf("written to %s; secrets are blanked, look before you send it: tar tzf, tar xzf\n", path);
		status = SKEP_EXIT_OK;
	}
	bundle_free(&bundle);
	free(daemon_config);
	free(folder);
	free(path);
	return status;
}
