/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd.c - the daemon's main(): command line, and settings of the whole process (descriptors 0 to 2,
 * umask, privileges, SIGPIPE, libbpf's messages).
 */
#include "core/daemon/skepd.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h> /* optind */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/confine.h"
#include "core/base/log.h"
#include "core/base/log_diag.h"
#include "core/base/streams.h"
#include "core/control/copier.h"
#include "core/identify/reader.h"
#include "lake/copy.h"

/* log_vat, which has no limit of length: the verifier's log is larger than any buffer would be. */
__attribute__((format(printf, 2, 0))) static int libbpf_line(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	log_vat(SKEP_LOG_DEBUG, "libbpf", fmt, ap);
	return 0;
}

/* If skepd starts with one of them closed, the first file or map that it opens would become stderr. */
static int open_standard_fds(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_RDONLY : O_WRONLY) < 0)
			return -errno;
	return 0;
}

static void log_verbosity(int verbose)
{
	static const int levels[] = { SKEP_LOG_ERROR, SKEP_LOG_WARNING, SKEP_LOG_NOTICE, SKEP_LOG_INFO,
				      SKEP_LOG_DEBUG };
	int i = verbose + 2;

	log_level(levels[i < 0 ? 0 : i > 4 ? 4 : i]);
}

/* Does it ask about skepd or plugins, and collect nothing? */
static bool is_question(const struct skepd_arguments *args)
{
	return args->list_plugins || args->options || args->schema || args->unpin;
}

static enum skepd_exit usage(const char *what, const char *value)
{
	fprintf(stderr, "skepd: %s%s%s\nTry \"skepd --help\".\n", what, value ? ": " : "", value ? value : "");
	return SKEPD_USAGE;
}

/* True: go on; false: *ret_exit is the answer. */
static bool parse_arguments(int argc, char **argv, struct skepd_arguments *ret, enum skepd_exit *ret_exit)
{
	char *why = NULL;
	int err = command_options_parse(skepd_options_table, false, argc, argv, ret, &why);

	*ret_exit = SKEPD_OK;
	if (err < 0)
		*ret_exit = usage(why ? why : "out of memory", NULL);
	else if (err > 0)
		skepd_help();
	else if (optind < argc)
		*ret_exit = usage("unexpected argument", argv[optind]);
	else if (ret->json && (!ret->tryload || is_question(ret)))
		*ret_exit = usage("--json goes with --tryload; of a running skepd ask skep status --json", NULL);
	else if (ret->version)
		skepd_version();
	else if (ret->schema_recognizers)
		*ret_exit = skepd_schema_recognizers();
	else
		return true;
	free(why);
	return false;
}

/* Only questions about plugins need no file: without one they use the default plugin_dirs. */
static struct config *load_config(const struct skepd_arguments *args, struct diag *diag)
{
	static const char nothing[] = "{}";

	if (!args->config && is_question(args) && access(SKEPD_CONFIG_FILE, F_OK) != 0)
		return config_parse(nothing, sizeof(nothing) - 1, "defaults", diag);
	return config_load_trusted(args->config ? args->config : SKEPD_CONFIG_FILE, diag);
}

static void fork_reader(struct reader_process *ret)
{
	int err = reader_fork("skepd", ret);

	if (err == 0)
		err = reader_fork_spare("skepd", ret);
	if (err < 0 && ret->pid)
		log_warning("cannot start the spare of the process that reads others' arguments: %s", strerror(-err));
	else if (err < 0)
		log_warning(
			"cannot start the process that reads others' arguments: %s; "
			"records of processes older than skepd have none",
			strerror(-err));
}

static void fork_file_reader(struct reader_process *ret)
{
	int err = engine_file_permitted() ? reader_fork_files("skepd", ret) : reader_of_unit(READER_SOCKET, ret);

	if (err < 0)
		log_warning("cannot start the process that reads engines' files: %s; tasks are called what their "
			    "commands show",
			    strerror(-err));
}

/* skepd --reader: the unit skep-reader.  Reads no configuration, which may have secrets. */
static enum skepd_exit serve_as_reader(void)
{
	const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");
	int err;

	/* sd_listen_fds(3): the sockets begin at descriptor 3. */
	if (!pid || strtol(pid, NULL, 10) != getpid() || !n || strcmp(n, "1") != 0)
		return usage("--reader needs a socket from the service manager; start skep-reader.socket", NULL);
	if (!engine_file_permitted()) {
		log_error("cannot read files as their users: no CAP_SETUID and CAP_SETGID; skep-reader.service gives both");
		return SKEPD_PRIVILEGE;
	}
	err = reader_serve("skep-reader", STDERR_FILENO + 1);
	log_error("the socket of the service manager cannot be used: %s; see: systemctl status skep-reader.socket",
		  strerror(-err));
	return SKEPD_RUNTIME;
}

static int make_copy(const struct copier_order *order, int (*cancelled)(void *), void *arg, int *ret_fd,
		     uint64_t *ret_left_out, char *why, size_t why_size)
{
	const struct lake_copy what = {
		.uid = order->uid,
		.run = *order->run ? order->run : NULL,
		.since_ns = order->since_ns,
		.max_bytes = LAKE_COPY_BYTES,
		.keep_free = order->keep_free,
		.cancelled = cancelled,
		.arg = arg,
	};
	struct lake *lake = NULL;
	int err = lake_open(order->lake, &lake, why, why_size);

	if (err == 0)
		err = lake_copy(lake, &what, ret_fd, ret_left_out, why, why_size);
	lake_close(lake);
	return err;
}

static void fork_copier(struct copier *ret)
{
	int err = copier_fork("skepd", make_copy, ret);

	if (err < 0)
		log_warning("cannot start the process that copies users' own runs: %s; users who are not in group skep "
			    "cannot see theirs", strerror(-err));
}

/* Each thread has capabilities of its own: skepd drops them while it has only one. */
static void drop_capabilities(const struct config *config)
{
	uint64_t left = 0;
	char text[512];
	int err = confine_capabilities(config->keep_capabilities, &left);

	confine_text(left, text, sizeof(text));
	if (err < 0)
		log_warning("cannot drop capabilities that skepd does not need: %s", strerror(-err));
	else
		log_info("capabilities kept: %s", *text ? text : "none");
}

int main(int argc, char **argv)
{
	struct skepd_arguments args = { .config = NULL };
	enum skepd_mode mode;
	struct reader_process reader = { .pid = 0 }, file_reader = { .pid = 0 };
	struct copier copier = { .pid = 0 };
	struct config *config;
	enum skepd_exit result;
	struct diag diag;

	if (open_standard_fds())
		return SKEPD_RUNTIME;
	(void)streams_begin(); /* without memory for them the usual streams still serve */
	/* Records have the arguments of every user's processes: not for everybody to read. */
	umask(umask(0) | 0027);
	confine_memory(); /* before anything secret is read */
	skepd_memory_begin_start();
	/* A receiver that closes a connection is an errno for its sink; it must not kill skepd. */
	signal(SIGPIPE, SIG_IGN);
	log_program("skepd");
	prctl(PR_SET_NAME, "skepd"); /* the tarball's wrapper may start ld.so, which would give its own name */
	libbpf_set_print(libbpf_line);
	if (!parse_arguments(argc, argv, &args, &result))
		return fflush(stdout) == 0 ? result : SKEPD_RUNTIME;
	log_verbosity(args.verbose - args.quiet);
	if (args.reader)
		return serve_as_reader();
	mode = args.tryload ? SKEPD_TRYLOAD : args.test ? SKEPD_TEST : SKEPD_RUN;
	/* Before skepd reads the configuration, which may have secrets, and has threads; -t starts nothing. */
	if (!is_question(&args) && mode != SKEPD_TEST)
		fork_reader(&reader);
	if (!is_question(&args) && mode == SKEPD_RUN)
		fork_file_reader(&file_reader);
	if (!is_question(&args) && mode == SKEPD_RUN)
		fork_copier(&copier);

	diag_init(&diag);
	config = load_config(&args, &diag);
	if (mode == SKEPD_RUN && !is_question(&args))
		log_diag(&diag);
	else
		diag_print(&diag, stderr);
	diag_clear(&diag);
	if (!config) {
		if (!args.config && access(SKEPD_CONFIG_FILE, F_OK) != 0)
			fputs("Give another file with --config.\n", stderr);
		reader_end(&reader);
		reader_end(&file_reader);
		copier_end(&copier);
		return SKEPD_CONFIG;
	}
	if (!config->read_engine_files)
		reader_end(&file_reader);
	if (!config->control_socket)
		copier_end(&copier);
	if (args.list_plugins) {
		skepd_list(config, args.verbose > 0);
		result = SKEPD_OK;
	} else if (args.options) {
		result = skepd_options(config, args.options);
	} else if (args.schema) {
		result = skepd_schema(config);
	} else if (args.unpin) {
		result = skepd_unpin(config);
	} else {
		/* -t starts nothing; --tryload has to report what the daemon could do. */
		if (mode != SKEPD_TEST)
			drop_capabilities(config);
		result = skepd_collect(config, reader.pid ? &reader : NULL,
				       file_reader.pid || file_reader.unit ? &file_reader : NULL,
				       copier.pid ? &copier : NULL, mode, args.verbose > 0, args.json);
	}
	reader_end(&reader);
	reader_end(&file_reader);
	copier_end(&copier);
	log_flush();
	config_free(config);
	/* A full disk or a closed pipe must not look like "configuration ok". */
	if (fflush(stdout) != 0 && result == SKEPD_OK)
		result = SKEPD_RUNTIME;
	return result;
}
