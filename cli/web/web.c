/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/web.c - `skep web`: serves the answers of skep as pages for a browser.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <jansson.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base/command.h"
#include "cli/base/lakepath.h"
#include "cli/base/price_file.h"
#include "cli/base/question.h"
#include "cli/base/settings.h"
#include "cli/base/skep.h"
#include "cli/web/assets.h"
#include "cli/web/listen.h"
#include "cli/web/request.h"
#include "cli/web/server.h"
#include "cli/web/worker.h"
#include "core/base/confine.h"

#define TEXT_MAX ((8u << 20) + 1) /* as a file of prices may be long */

struct web_options {
	const char *lake, *listen, *certificate, *key;
	const char **hosts;
};

static const struct command_option options[] = {
	{ "listen", .value = "ADDR:PORT", .help = "where to serve (default: 127.0.0.1 and a free port); an address that other "
		    "machines reach needs --tls-cert and --tls-key", COMMAND_AT(struct web_options, listen) },
	{ "tls-cert", .value = "FILE", .help = "serve by TLS, with the certificates of this file, in PEM",
	  COMMAND_AT(struct web_options, certificate) },
	{ "tls-key", .value = "FILE", .help = "its private key, in PEM", COMMAND_AT(struct web_options, key) },
	{ "host", .value = "NAME", .help = "a name by which browsers reach this machine, beside the machine's own name; may be "
		  "repeated", COMMAND_AT(struct web_options, hosts) },
	QUESTION_LAKE(struct web_options, lake),
	{ 0 },
};

static int run_web(int argc, char **argv);

const struct command cmd_web = {
	.name = "web",
	.operands = "[RUN|last]",
	.summary = "serve the runs, their tasks, findings and time lines to a browser",
	.about = "skep web prints an address; open it in a browser. With RUN, it opens on this run. Ctrl-C ends it, and the "
		 "end of a program that reads its output, such as ssh.\n",
	.options = options,
	.notes =
		"The address has a token, which the browser keeps as a cookie for these pages alone: no other user and no other "
		"server of this machine can read the pages. A "
		"program gives it in a header, Authorization: Bearer TOKEN. The pages show what skep runs, show, tune, diff and "
		"status answer as JSON, and so what the user of skep web may read; they change nothing and load nothing from "
		"elsewhere. As root, skep web becomes the owner of the lake, and gives up all capabilities.\n"
		"To send one run to a colleague, skep show RUN --html FILE writes the same page into a file.\n",
	.most = 1,
	.run = run_web,
};

/* 128 random bits, in hexadecimal. */
static int token_new(char token[REQUEST_TOKEN + 1])
{
	unsigned char bytes[REQUEST_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

/* A small file, for a message by what names it. The caller frees *ret. An exit status. */
static int text_read(const char *option, const char *path, char **ret)
{
	FILE *in = fopen(path, "re");
	char *text = malloc(TEXT_MAX);
	size_t n = in && text ? fread(text, 1, TEXT_MAX - 1, in) : 0;
	const bool bad = !in || !text || ferror(in);
	const int err = errno;

	if (in)
		fclose(in);
	if (bad || !n) {
		free(text);
		return skep_fail("web", SKEP_EXIT_CONFIG, "%s %s: %s", option, path, bad ? strerror(err) : "the file is empty");
	}
	text[n] = '\0';
	*ret = text;
	return SKEP_EXIT_OK;
}

#define KEPT_PATH 32

/* Keeps a text in memory as a file, which the commands inherit and any user may open by its path. false: it cannot. */
static bool keep(const char *text, char path[KEPT_PATH])
{
	const int fd = text ? memfd_create("skep-conf", 0) : -1;

	snprintf(path, KEPT_PATH, "/proc/self/fd/%d", fd);
	return fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
}

/*
 * The commands run as the lake's owner, who may be unable to read root's skep.conf and the file of prices that it
 * names.  So skep web reads both files once, and gives the commands their contents under SKEP_CONF.  An exit status.
 */
static int keep_conf(void)
{
	char *prices = NULL, *text = NULL, why[1024] = "", path[KEPT_PATH] = "";
	struct price_table *table = NULL;
	struct settings settings = { 0 };
	json_t *conf = json_object(), *thresholds = json_object();
	int status = settings_read("web", NULL, NULL, &settings);
	struct stat st;
	bool kept = true;

	if (status == SKEP_EXIT_OK)
		status = price_file_open("web", NULL, &table); /* for its messages */
	if (status == SKEP_EXIT_OK && prices_configured(&prices, why, sizeof(why)) != 0)
		status = skep_fail("web", SKEP_EXIT_CONFIG, "%s", why);
	if (status == SKEP_EXIT_OK && prices && stat(prices, &st) == 0 && S_ISREG(st.st_mode)) {
		status = text_read("prices", prices, &text);
		kept = status != SKEP_EXIT_OK || keep(text, path);
		json_object_set_new(conf, "prices", json_string(path));
	} else if (prices) {
		json_object_set_new(conf, "prices", json_string(prices));
	}
	for (size_t i = 0; i < settings.n; i++)
		json_object_set_new(thresholds, settings.list[i].name, json_real(settings.list[i].value));
	json_object_set_new(conf, "thresholds", thresholds);
	free(text);
	text = json_dumps(conf, JSON_COMPACT);
	if (status == SKEP_EXIT_OK && (!kept || !keep(text, path) || setenv("SKEP_CONF", path, 1) != 0))
		status = skep_fail("web", SKEP_EXIT_RUNTIME, "cannot keep what skep.conf says: %s", strerror(errno));
	json_decref(conf);
	settings_free(&settings);
	price_table_free(table);
	free(prices);
	free(text);
	return status;
}

/*
 * What runs here reads the lake, and of root's files only what keep_conf() keeps.  lake: a folder or an address.
 * *ret_owner: this process was root, and is the folder's owner now; root remains root, without rights, when the folder
 * is root's or does not exist.  An exit status.
 */
static int drop(const char *lake, bool *ret_owner)
{
	const struct rlimit limit = { WORKER_FILE_MAX, WORKER_FILE_MAX };
	struct stat st = { 0 };
	const bool owner = geteuid() == 0 && stat(lake, &st) == 0 && st.st_uid;
	int err = 0, status = owner ? keep_conf() : SKEP_EXIT_OK;

	if (status != SKEP_EXIT_OK)
		return status;
	if (owner && (setgroups(0, NULL) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 ||
		      setresuid(st.st_uid, st.st_uid, st.st_uid) < 0))
		err = -errno;
	if (!err && geteuid() == 0)
		err = confine_all();
	if (err)
		return skep_fail("web", SKEP_EXIT_PRIVILEGE, "cannot give up root's rights: %s", strerror(-err));
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)setrlimit(RLIMIT_FSIZE, &limit); /* of an answer */
	*ret_owner = owner;
	return SKEP_EXIT_OK;
}

/* SIGINT, SIGTERM and SIGHUP end the server; nohup ignores SIGHUP. */
static int signals(void)
{
	struct sigaction hangup;
	sigset_t set;

	sigemptyset(&set);
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * The reader of the address, if it is a program: ssh without a terminal sends no signal when it ends.  -1: a terminal,
 * a file, /dev/null.
 */
static int reader(void)
{
	struct stat st;

	return fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) ? STDOUT_FILENO : -1;
}

static int serve(const struct web_options *o, const struct server_options *given, const struct listen_address *at,
		 const char *run)
{
	struct server_options server = *given;
	const bool any = strncmp(at->name, "0.0.0.0:", 8) == 0 || strncmp(at->name, "[::]:", 5) == 0;
	char token[REQUEST_TOKEN + 1], folder[REQUEST_TOKEN + 1], machine[256] = "", why[512] = "", address[320];
	const char *names[64] = { machine };
	int until, err;
	size_t n = 1;

	if (token_new(token) < 0 || token_new(folder) < 0)
		return skep_fail("web", SKEP_EXIT_RUNTIME, "the kernel has no random bytes");
	if (gethostname(machine, sizeof(machine) - 1) != 0 || !machine[0])
		snprintf(machine, sizeof(machine), "localhost");
	for (size_t i = 0; o->hosts && o->hosts[i] && n + 1 < sizeof(names) / sizeof(names[0]); i++)
		names[n++] = o->hosts[i];
	server.token = token;
	server.folder = folder;
	server.names = names;
	server.reader = reader();
	until = signals();
	if (until < 0)
		return skep_fail("web", SKEP_EXIT_RUNTIME, "signalfd: %s", strerror(errno));
	snprintf(address, sizeof(address), "%s:%u", n > 1 ? names[1] : machine, at->port);
	printf("%s://%s/?token=%s%s%s\n", server.key ? "https" : "http", any || n > 1 ? address : at->name, token,
	       run ? "#/run/" : "", run ? run : "");
	fflush(stdout);
	err = server_run(&server, until, why, sizeof(why));
	close(until);
	return err ? skep_fail("web", SKEP_EXIT_RUNTIME, "%s", why) : SKEP_EXIT_OK;
}

/* A run's name becomes a part of the address. */
static bool plain_name(const char *s)
{
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:") == strlen(s);
}

static int start(const struct web_options *o, const char *run)
{
	struct server_options server = { .fd = -1, .lake = o->lake };
	struct listen_address at = { 0 };
	char *certificate = NULL, *key = NULL, *lake = NULL, why[512] = "";
	bool named, both, owner = false;
	int status = SKEP_EXIT_OK;

	if (o->key)
		status = text_read("--tls-key", o->key, &key);
	if (o->certificate && status == SKEP_EXIT_OK)
		status = text_read("--tls-cert", o->certificate, &certificate);
	if (status == SKEP_EXIT_OK) {
		server.fd = listen_on(o->listen ? o->listen : "127.0.0.1:0", &at, why, sizeof(why));
		if (server.fd < 0)
			status = server.fd == -EINVAL ? skep_usage("web", "--listen %s", why) :
							skep_fail("web", SKEP_EXIT_RUNTIME, "%s", why);
		else if (!at.local && !key)
			status = skep_usage("web", "--listen %s: other machines reach this address, and would read the token and the pages "
						   "on the way; give --tls-cert FILE and --tls-key FILE, or forward a local port by ssh -L",
					    o->listen);
	}
	server.key = key;
	server.certificate = certificate;
	if (status == SKEP_EXIT_OK)
		status = question_path("web", o->lake, &lake, &named, &both); /* as the commands do */
	if (status == SKEP_EXIT_OK)
		status = drop(lake, &owner);
	if (owner) /* the commands cannot read root's skep.conf any more, and would choose another lake */
		server.lake = lake;
	server.lake_folder = lake && !lake_is_address(lake) ? lake : NULL;
	if (status == SKEP_EXIT_OK)
		status = serve(o, &server, &at, run);
	if (server.fd >= 0)
		close(server.fd);
	free(certificate);
	free(key);
	free(lake);
	return status;
}

static int run_web(int argc, char **argv)
{
	struct web_options o = { 0 };
	int status = command_parse(&cmd_web, argc, argv, &o);
	const char *run;

	if (status >= 0)
		return status;
	run = optind < argc ? argv[optind] : NULL;
	if (!o.key != !o.certificate)
		status = skep_usage("web", "--tls-cert and --tls-key: both of them");
	else if (run && !plain_name(run))
		status = skep_usage("web", "'%s': name the run by its id", run);
	else if (!web_built("web"))
		status = SKEP_EXIT_RUNTIME;
	else
		status = start(&o, run);
	free(o.hosts);
	return status;
}
