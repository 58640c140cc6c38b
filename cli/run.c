/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run.c - `skep run`: collects in-process what one command and all its descendants
 * do, and reports it.
 *
 * The order matters: whatever can fail fails while CMD still waits at its gate, which is
 * opened when the collector knows it, before it has run a line of its own.  Afterwards
 * CMD does not depend on skep any more, and its exit status is ours whatever becomes of
 * the report.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "cli/lakepath.h"
#include "cli/live.h"
#include "cli/privilege.h"
#include "cli/report.h"
#include "cli/run.h"
#include "cli/run_detail.h"
#include "cli/run_trace.h"
#include "cli/signals.h"
#include "cli/skep.h"
#include "cli/spawn.h"
#include "core/collector.h"
#include "core/config.h"
#include "core/log.h"
#include "core/reader.h"
#include "core/tool.h"
#include "core/trust.h"
#include "lake/lake.h"

/* What collects. The only place that knows plugins by name. */
static const struct {
	const char *list, *plugin;
	bool required;
	bool has_path; /* its "path" is the lake */
	bool is_asked_for; /* by --otlp, which says where its endpoint is */
} plugins[] = {
	{ .list = "probes", .plugin = "host" }, /* before proc: its posts to the ledger are there when proc's pass ends */
	{ .list = "probes", .plugin = "proc", .required = true },
	{ .list = "probes", .plugin = "cgroup" },
	{ .list = "probes", .plugin = "sched" },
	{ .list = "probes", .plugin = "net" },
	{ .list = "probes", .plugin = "io" },
	{ .list = "probes", .plugin = "gpu" },
	{ .list = "sinks", .plugin = "lake", .required = true, .has_path = true },
	{ .list = "sinks", .plugin = "otlp", .required = true, .is_asked_for = true },
};

bool run_needs(const char *plugin)
{
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++)
		if (strcmp(plugins[i].plugin, plugin) == 0)
			return plugins[i].required && !plugins[i].is_asked_for;
	return false;
}

#define DEFAULT_INTERVAL "500ms"
#define DEFAULT_OTLP_WAIT "5s"
#define CHECK_MS         200                   /* how soon an editor gets the whole screen */
#define DRAIN_NS         UINT64_C(10000000000) /* for a lake that is slow to write; then the loss is counted */

const char cmd_run_help[] =
	"Runs CMD, follows all its descendants, and prints what ran and what it cost to\n"
	"stderr (stdout is CMD's). Needs root, or CAP_BPF and CAP_PERFMON.\n"
	"\n"
	"      --name NAME        name of this run (default: the tool that CMD starts)\n"
	"      --pipeline NAME    what is run again and again (default: the tool)\n"
	"      --lake FOLDER      where it is kept (default: $SKEP_LAKE, /var/lib/skep/lake\n"
	"                         for root, else ~/.local/share/skep/lake)\n"
	"      --json FILE        write the report as JSON as well; - for stdout\n"
	"      --no-report        print no report\n"
	"      --no-live          no live line while it runs\n"
	"      --interval TIME    how often live processes are sampled (default: " DEFAULT_INTERVAL ")\n"
	"      --otlp URL         send the run as a trace, with metrics and logs, to an OpenTelemetry\n"
	"                         receiver as well; - for $OTEL_EXPORTER_OTLP_ENDPOINT\n"
	"      --otlp-wait TIME   how long that receiver is waited for after CMD's end (default: " DEFAULT_OTLP_WAIT ")\n"
	"      --detail NAME      measure that as well and show it after the report, such as\n"
	"                         runqlat, offcpu, cuda; may be repeated; an unknown name lists all\n"
	"      --plugin-dir DIR   take plugins from there; may be repeated\n"
	"\n"
	"CMD runs in the same process group, session and terminal, with the same signals,\n"
	"descriptors and environment, plus SKEP_RUN=<id of the run> and, with --otlp, TRACEPARENT,\n"
	"by which spans of CMD's own hang below the run's; the run's own hangs below that of a\n"
	"TRACEPARENT that skep was started with. A signal sent to skep\n"
	"alone is passed on to it. While the report is being made after CMD's end, SIGTERM\n"
	"or Ctrl-C twice leaves at once.\n"
	"\n"
	"Exit status: CMD's, or 128 + the signal that killed it; 127 when CMD is not found\n"
	"and 126 when it cannot be executed (the run is kept with that status). Before CMD\n"
	"starts: 1 a failure, 2 wrong usage, 3 wrong configuration, 4 a missing privilege or\n"
	"kernel feature, 5 a plugin of another version, 128 + signal when interrupted.\n";

struct run_options {
	const char *name, *pipeline, *lake, *json, *interval, *otlp, *otlp_wait;
	json_t *plugin_dirs; /* NULL: the default */
	struct run_detail *details;
	bool no_report, no_live;
	char **command;
};

struct run {
	struct run_options options;
	char id[RUN_ID_SIZE];
	const char *traceparent; /* that we were started with; NULL: none, or none of use */
	char *lake;
	FILE *json;
	struct config *config;
	uv_loop_t loop;
	bool has_loop;
	struct reader_process reader;
	struct collector *collector;
	struct spawn_inherited inherited;
	struct spawn spawn;
	struct live *live;
	int signal_fd;
	uv_poll_t signals, command_end;
	uv_timer_t check;
	unsigned since_draw_ms, draw_ms;
	bool stopped;   /* the collector */
	bool ended;     /* CMD */
	unsigned hurry; /* times that somebody wanted us to end after CMD had */
	int exit_code;
};

/* ---- the command line ---------------------------------------------------------- */

enum { OPT_NAME = 256, OPT_PIPELINE, OPT_LAKE, OPT_JSON, OPT_NO_REPORT, OPT_NO_LIVE, OPT_INTERVAL, OPT_PLUGIN_DIR, OPT_DETAIL, OPT_OTLP, OPT_OTLP_WAIT };

static const struct option longs[] = {
	{ "name", required_argument, NULL, OPT_NAME },
	{ "pipeline", required_argument, NULL, OPT_PIPELINE },
	{ "lake", required_argument, NULL, OPT_LAKE },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "no-report", no_argument, NULL, OPT_NO_REPORT },
	{ "no-live", no_argument, NULL, OPT_NO_LIVE },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "detail", required_argument, NULL, OPT_DETAIL },
	{ "otlp", required_argument, NULL, OPT_OTLP },
	{ "otlp-wait", required_argument, NULL, OPT_OTLP_WAIT },
	{ "plugin-dir", required_argument, NULL, OPT_PLUGIN_DIR },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int add_plugin_dir(struct run_options *options, const char *dir)
{
	if (!options->plugin_dirs)
		options->plugin_dirs = json_array();
	if (!options->plugin_dirs || json_array_append_new(options->plugin_dirs, json_string(dir)) < 0)
		return skep_usage("run", "--plugin-dir %s: not a path in UTF-8", dir);
	return SKEP_EXIT_OK;
}

/* SKEP_EXIT_OK and a command, or what to exit with (also after --help: then no command). */
static int parse(int argc, char **argv, struct run_options *options)
{
	uint64_t interval, wait;
	int c, code;

	optind = 0; /* GNU: begin anew, whatever main() has scanned */
	opterr = 0;
	while ((c = getopt_long(argc, argv, "+:h", longs, NULL)) != -1) {
		switch (c) {
		case OPT_NAME:
			options->name = optarg;
			break;
		case OPT_PIPELINE:
			options->pipeline = optarg;
			break;
		case OPT_LAKE:
			options->lake = optarg;
			break;
		case OPT_JSON:
			options->json = optarg;
			break;
		case OPT_NO_REPORT:
			options->no_report = true;
			break;
		case OPT_NO_LIVE:
			options->no_live = true;
			break;
		case OPT_INTERVAL:
			if (config_time(optarg, &interval) < 0 || interval == 0)
				return skep_usage("run", "--interval %s: not a time above zero, such as 500ms or 5s",
						  optarg);
			options->interval = optarg;
			break;
		case OPT_DETAIL:
			if (run_detail_add(&options->details, optarg) < 0)
				return skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
			break;
		case OPT_OTLP:
			options->otlp = optarg;
			break;
		case OPT_OTLP_WAIT:
			if (config_time(optarg, &wait) < 0)
				return skep_usage("run", "--otlp-wait %s: not a time, such as 5s, or 0s for not at all", optarg);
			options->otlp_wait = optarg;
			break;
		case OPT_PLUGIN_DIR:
			if (privileged_start())
				return skep_fail("run", SKEP_EXIT_PRIVILEGE, SKEP_NO_CHOICE, "--plugin-dir", optarg);
			code = add_plugin_dir(options, optarg);
			if (code)
				return code;
			break;
		case 'h':
			return skep_help("run");
		default:
			return skep_usage_option("run", c, argv, longs);
		}
	}
	if (optind == argc || !*argv[optind])
		return skep_usage("run", "no command to run");
	options->command = argv + optind;
	return SKEP_EXIT_OK;
}

/* ---- before it starts ----------------------------------------------------------- */

/* mkdir -p, for this user alone: a lake holds arguments and paths. 0 or -errno, with the folder at fault in path. */
static int make_folders(char *path)
{
	for (char *slash = path + 1;; slash++) {
		char kept = *slash;

		if (kept != '/' && kept != '\0')
			continue;
		*slash = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return -errno;
		*slash = kept;
		if (kept == '\0')
			return 0;
	}
}

static int find_lake(struct run *run)
{
	const char *remedy = "name another with --lake FOLDER";
	struct stat info;
	char *path, *whole;
	int err;

	if (run->options.lake && !*run->options.lake)
		return skep_usage("run", "--lake: an empty name");
	if (run->options.lake) {
		path = strdup(run->options.lake);
		err = path ? 0 : -ENOMEM;
	} else {
		err = lake_default_path(&path);
	}
	if (err == -ENOENT)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "no place for the lake is known (HOME is not set): %s",
				 remedy);
	if (err < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "lake: %s", strerror(-err));
	err = make_folders(path);
	if (err < 0) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "lake: cannot make the folder %s: %s; %s", path, strerror(-err),
			  remedy);
		goto failed;
	}
	if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "lake: %s is not a folder; %s", path, remedy);
		goto failed;
	}
	/* with our effective ids: what the sink will be judged by */
	if (faccessat(AT_FDCWD, path, W_OK | X_OK, AT_EACCESS) < 0) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "lake: cannot write to %s: %s; %s", path, strerror(errno), remedy);
		goto failed;
	}
	whole = realpath(path, NULL);
	free(path);
	if (!whole)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "lake: %s", strerror(errno));
	run->lake = whole;
	return SKEP_EXIT_OK;
failed:
	free(path);
	return SKEP_EXIT_RUNTIME;
}

/* Early: hours of work must not end in a report that cannot be written. */
static int open_json(struct run *run)
{
	const char *file = run->options.json;

	if (!file)
		return SKEP_EXIT_OK;
	run->json = strcmp(file, "-") == 0 ? stdout : fopen(file, "we");
	if (!run->json)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "--json %s: %s", file, strerror(errno));
	return SKEP_EXIT_OK;
}

/* A site's and a user's own tables ("tools", "redact", "containers"), where there are any: docs/tools.md, docs/containers.md. */
static int add_tables(json_t *root, const char *name)
{
	const char *config = secure_getenv("XDG_CONFIG_HOME"), *home = secure_getenv("HOME");
	json_t *list = json_array();
	char *folders[2] = { NULL, NULL };
	int err = 0;

	if (asprintf(&folders[0], "%s/%s.d", SKEP_SYSCONF_DIR, name) < 0)
		folders[0] = NULL;
	if (config && config[0] == '/')
		err = asprintf(&folders[1], "%s/skep/%s.d", config, name);
	else if (home && home[0] == '/')
		err = asprintf(&folders[1], "%s/.config/skep/%s.d", home, name);
	if (err < 0)
		folders[1] = NULL;
	for (size_t i = 0; i < 2; i++) {
		if (folders[i] && access(folders[i], R_OK | X_OK) == 0)
			json_array_append_new(list, json_string(folders[i]));
		free(folders[i]);
	}
	return json_object_set_new(root, name, list);
}

/* The configuration that a user of skepd would write for this. */
static int make_config(struct run *run)
{
	const char *interval = run->options.interval ? run->options.interval : DEFAULT_INTERVAL;
	json_t *root = json_object(), *list, *entry;
	int code = SKEP_EXIT_OK;
	char *text = NULL;
	struct diag diag;

	diag_init(&diag);
	json_object_set_new(root, "interval", json_string(interval));
	if (run->options.plugin_dirs)
		json_object_set(root, "plugin_dirs", run->options.plugin_dirs);
	if (add_tables(root, "tools") < 0 || add_tables(root, "redact") < 0 || add_tables(root, "containers") < 0) {
		code = skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
		goto out;
	}
	for (size_t i = 0; i < sizeof(plugins) / sizeof(plugins[0]); i++) {
		if (plugins[i].is_asked_for && !run->options.otlp)
			continue;
		list = json_object_get(root, plugins[i].list);
		if (!list) {
			json_object_set_new(root, plugins[i].list, json_array());
			list = json_object_get(root, plugins[i].list);
		}
		entry = json_pack("{s:s, s:b}", "plugin", plugins[i].plugin, "required", plugins[i].required);
		if (strcmp(plugins[i].plugin, "proc") == 0) /* one run: what it costs an exec does not matter, and tasks are worth it */
			json_object_set_new(entry, "environ", json_pack("[s, s]", "SKEP_TASK", "TRACEPARENT"));
		if (plugins[i].has_path && json_object_set_new(entry, "path", json_string(run->lake)) < 0) {
			code = skep_fail("run", SKEP_EXIT_USAGE, "--lake %s: not a path in UTF-8", run->lake);
			json_decref(entry);
			goto out;
		}
		if (plugins[i].is_asked_for && strcmp(run->options.otlp, "-") != 0 &&
		    json_object_set_new(entry, "endpoint", json_string(run->options.otlp)) < 0) {
			code = skep_fail("run", SKEP_EXIT_USAGE, "--otlp %s: not a URL", run->options.otlp);
			json_decref(entry);
			goto out;
		}
		/* The service's lake has the service's bounds, which only skepd.conf knows: skepd removes files there. */
		if (plugins[i].has_path && geteuid() == 0) {
			json_object_set_new(entry, "max_bytes", json_string("0"));
			json_object_set_new(entry, "min_free", json_string("0"));
			json_object_set_new(entry, "max_age", json_string("0s"));
		}
		json_array_append_new(list, entry);
	}
	text = json_dumps(root, 0);
	if (!text) {
		code = skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
		goto out;
	}
	run->config = config_parse(text, strlen(text), "skep run", &diag);
	if (!run->config)
		code = SKEP_EXIT_CONFIG;
out:
	diag_print(&diag, stderr);
	diag_clear(&diag);
	free(text);
	json_decref(root);
	return code;
}

static int exit_code_of(int err)
{
	switch (err) {
	case -EPERM:
	case -EACCES:
	case -EOPNOTSUPP:
	case -ENOSYS:
		return SKEP_EXIT_PRIVILEGE;
	case -ENOEXEC:
		return SKEP_EXIT_ABI;
	case -EINVAL:
		return SKEP_EXIT_CONFIG;
	default:
		return SKEP_EXIT_RUNTIME;
	}
}

static int start_collector(struct run *run, const struct privilege_facts *facts)
{
	struct collector_options options = { .runs_only = true, .remote_sink = "otlp" };
	int forked = reader_fork("skep", &run->reader); /* no thread yet; without it what is not seen to start has no arguments */
	bool refused = false;
	struct diag diag;
	int err;

	options.reader = forked == 0 ? &run->reader : NULL;
	diag_init(&diag);
	config_time(run->options.otlp_wait ? run->options.otlp_wait : DEFAULT_OTLP_WAIT, &options.remote_ns);
	err = uv_loop_init(&run->loop);
	if (err < 0)
		goto out;
	run->has_loop = true;
	err = collector_new(&run->loop, run->config, &options, &diag, &run->collector);
	if (err < 0)
		goto out;
	err = collector_open(run->collector, &diag);
	if (err < 0)
		goto out;
	err = collector_start(run->collector, &diag);
	refused = err == -EPERM || err == -EACCES;
out:
	diag_print(&diag, stderr);
	if (err < 0 && diag.n_errors == 0)
		skep_fail("run", SKEP_EXIT_RUNTIME, "cannot collect: %s", strerror(-err));
	diag_clear(&diag);
	if (refused)
		privilege_explain(facts, stderr);
	return err < 0 ? exit_code_of(err) : SKEP_EXIT_OK;
}

/* The tool that CMD starts, as reports will call it. "" when that cannot be told. */
static void tool_of(char *const argv[], struct tool_name *ret)
{
	struct skep_str none = { 0 }, list = { 0 }, filename = { .ptr = argv[0], .len = (uint32_t)strlen(argv[0]) };
	size_t len = 0, room = 0;
	struct tools *tools;
	struct diag diag;
	char *text;

	ret->name[0] = '\0';
	for (size_t i = 0; argv[i]; i++)
		room += strlen(argv[i]) + 1;
	text = room <= UINT32_MAX ? malloc(room) : NULL;
	diag_init(&diag);
	tools = tools_new(NULL, &diag);
	if (!text || !tools)
		goto out;
	for (size_t i = 0; argv[i]; i++) {
		memcpy(text + len, argv[i], strlen(argv[i]) + 1);
		len += strlen(argv[i]) + 1;
	}
	list = (struct skep_str) { .ptr = text, .len = (uint32_t)len, .total = (uint32_t)len };
	filename.total = filename.len;
	/* argv[0] for exe as well: it has the name, which is all that counts */
	tools_recognize(tools, &filename, &filename, &list, &none, ret);
out:
	tools_free(tools);
	diag_clear(&diag);
	free(text);
}

/* ---- while it runs -------------------------------------------------------------- */

static void close_handles(struct run *run)
{
	uv_handle_t *handles[] = { (uv_handle_t *)&run->signals, (uv_handle_t *)&run->command_end,
				   (uv_handle_t *)&run->check };

	for (size_t i = 0; i < sizeof(handles) / sizeof(handles[0]); i++)
		if (handles[i]->loop && !uv_is_closing(handles[i]))
			uv_close(handles[i], NULL);
}

static void on_collector_stopped(void *arg)
{
	struct run *run = arg;

	run->stopped = true;
	close_handles(run);
	if (collector_left_behind(run->collector))
		uv_stop(&run->loop); /* it would not run out of handles */
	if (run->options.otlp && run->ended)
		run_trace_missing(run->collector, run->options.otlp, run->options.otlp_wait ? run->options.otlp_wait : DEFAULT_OTLP_WAIT, stderr);
}

static void on_run_ended(void *arg)
{
	struct run *run = arg;

	collector_stop(run->collector, DRAIN_NS, on_collector_stopped, run);
}

static void leave_at_once(struct run *run)
{
	run->live = live_free(run->live);
	fprintf(stderr, "skep run: left before the report of run %s was complete\n", run->id);
	_exit(run->exit_code); /* what the kernel holds for us goes with our descriptors */
}

static void take_signal(struct run *run, const struct signalfd_siginfo *info)
{
	int number = (int)info->ssi_signo;

	if (number == SIGTSTP) {
		live_clear(run->live);
		signals_stop();
		return;
	}
	if (number == SIGWINCH)
		live_resize(run->live);
	if (!run->ended) {
		if (signals_concern(info, run->spawn.pid))
			(void)signals_forward(info, run->spawn.pid); /* gone: its end is about to be told */
		return;
	}
	if (!signals_ends(number))
		return;
	if (++run->hurry > 1)
		leave_at_once(run);
	fprintf(stderr, "skep run: the command has ended, its report is being made; once more leaves at once\n");
}

static void take_signals(struct run *run)
{
	struct signalfd_siginfo info;

	while (read(run->signal_fd, &info, sizeof(info)) == sizeof(info))
		take_signal(run, &info);
}

static void on_signals(uv_poll_t *handle, int status, int events)
{
	(void)status;
	(void)events;
	take_signals(handle->data);
}

static void say_exec_error(const struct run *run, int error)
{
	const char *command = run->options.command[0];

	if (error == ENOENT && !strchr(command, '/'))
		skep_say("run", "%s: command not found", command);
	else if (error == ENOENT && access(command, F_OK) == 0)
		skep_say("run", "%s: its interpreter (the #! line, or the dynamic loader) is not there", command);
	else
		skep_say("run", "%s: %s", command, strerror(error));
}

static void on_command_end(uv_poll_t *handle, int poll_status, int events)
{
	struct run *run = handle->data;
	int status = 0, exec_error = 0, err;
	struct rusage usage;

	(void)poll_status;
	(void)events;
	/*
	 * A signal that ended CMD has reached us before its end did (the kernel signals a
	 * group under the lock that exit_notify() takes): it is not one that came after.
	 */
	take_signals(run);
	uv_poll_stop(handle);
	err = spawn_wait(&run->spawn, &status, &usage, &exec_error);
	run->ended = true;
	run->exit_code = err ? SKEP_EXIT_RUNTIME : spawn_exit_code(status);
	if (err)
		skep_fail("run", SKEP_EXIT_RUNTIME, "wait4: %s", strerror(-err));
	uv_timer_stop(&run->check);
	run->live = live_free(run->live);
	if (exec_error)
		say_exec_error(run, exec_error);
	collector_run_end(run->collector, run->id, status, err ? NULL : &usage, on_run_ended, run);
}

static void on_check(uv_timer_t *timer)
{
	struct run *run = timer->data;
	struct collector_live figures;

	run->since_draw_ms += CHECK_MS;
	if (run->since_draw_ms < run->draw_ms) {
		live_check(run->live);
		return;
	}
	run->since_draw_ms = 0;
	if (collector_live(run->collector, run->id, &figures) == 0)
		live_draw(run->live, &figures);
}

static int watch(struct run *run)
{
	int err;

	err = uv_poll_init(&run->loop, &run->signals, run->signal_fd);
	if (!err)
		err = uv_poll_init(&run->loop, &run->command_end, run->spawn.pidfd);
	if (!err)
		err = uv_timer_init(&run->loop, &run->check);
	if (err)
		return err;
	run->signals.data = run->command_end.data = run->check.data = run;
	err = uv_poll_start(&run->signals, UV_READABLE, on_signals);
	if (!err)
		err = uv_poll_start(&run->command_end, UV_READABLE, on_command_end);
	if (!err && run->live)
		err = uv_timer_start(&run->check, on_check, CHECK_MS, CHECK_MS);
	return err;
}

/*
 * CMD exists after this and waits at its gate.  Before the collector: a fork carries the
 * resident memory of its parent into ru_maxrss of whatever it execs (setmax_mm_hiwater_rss()
 * in exec_mmap()), and skep is small now; nor has it threads.
 */
static int fork_command(struct run *run)
{
	char **environment = NULL, traceparent[SKEP_TRACEPARENT_SIZE] = "";
	const char *set[] = { "SKEP_RUN", run->id, NULL, traceparent, NULL };
	int err = 0;

	run_id_new(run->id);
	if (run->options.otlp) {
		err = run_trace(run->id, &run->traceparent, traceparent);
		set[2] = "TRACEPARENT";
	}
	if (!err)
		err = spawn_environment(set, &environment);
	if (!err)
		err = spawn_start(&run->inherited, run->options.command, environment, &run->spawn);
	free(environment); /* the child has its own copy */
	if (err)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot start a process: %s", strerror(-err));
	return SKEP_EXIT_OK;
}

static int begin(struct run *run)
{
	char *cwd = get_current_dir_name();
	struct tool_name tool;
	char *why = NULL;
	struct run_spec spec = {
		.id = run->id,
		.name = run->options.name,
		.pipeline = run->options.pipeline,
		.argv = (const char *const *)run->options.command,
		.cwd = cwd ? cwd : "", /* removed under our feet */
		.root = run->spawn.pid,
		.traceparent = run->traceparent,
	};
	int err;

	tool_of(run->options.command, &tool);
	if (!spec.pipeline)
		spec.pipeline = tool.name;
	if (!spec.name)
		spec.name = tool.name;
	err = watch(run);
	if (!err)
		err = collector_run_begin(run->collector, &spec);
	free(cwd);
	if (!err) {
		err = run_detail_attach(run->options.details, run->collector, run->id, &why);
		if (err) {
			skep_fail("run", SKEP_EXIT_PRIVILEGE, "%s", why ? why : "out of memory");
			free(why);
			return err == -ENOENT ? SKEP_EXIT_USAGE : SKEP_EXIT_PRIVILEGE;
		}
		err = spawn_release(&run->spawn);
	}
	if (err)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot begin: %s", strerror(-err));
	return SKEP_EXIT_OK;
}

/* ---- afterwards ------------------------------------------------------------------ */

static void report(struct run *run)
{
	struct lake_report *found = NULL;
	struct lake *lake = NULL;
	char why[512];
	int err;

	if (run->options.no_report && !run->json)
		return;
	if (lake_open(run->lake, &lake, why, sizeof(why)) < 0 ||
	    lake_report(lake, run->id, &found, why, sizeof(why)) < 0) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "no report of run %s: %s", run->id, why);
		goto out;
	}
	if (run->json) {
		err = report_json_print(found, run->json);
		if (!err && fflush(run->json) != 0)
			err = -errno;
		if (err)
			skep_fail("run", SKEP_EXIT_RUNTIME, "--json %s: %s", run->options.json, strerror(-err));
	}
	if (!run->options.no_report) {
		err = report_print(found, stderr, NULL);
		if (err)
			skep_fail("run", SKEP_EXIT_RUNTIME, "report: %s", strerror(-err));
	}
out:
	lake_report_free(found);
	lake_close(lake);
}

static void shut_down(struct run *run)
{
	if (!run->has_loop)
		return;
	if (run->collector && !run->stopped)
		collector_stop(run->collector, 0, on_collector_stopped, run);
	close_handles(run);
	if (!run->collector || !collector_left_behind(run->collector))
		uv_run(&run->loop, UV_RUN_DEFAULT);
	run->has_loop = false;
	if (run->collector)
		run->collector = collector_free(run->collector);
	if (!run->collector)
		uv_loop_close(&run->loop);
}

static int execute(struct run *run, int argc, char **argv)
{
	struct privilege_facts facts;
	int code, number;

	code = parse(argc, argv, &run->options);
	if (code || !run->options.command)
		return code;
	privilege_facts(&facts);
	code = find_lake(run);
	if (!code)
		code = make_config(run);
	if (!code)
		code = open_json(run);
	if (code)
		return code;
	if (!privilege_check(&facts, argv, stderr))
		return SKEP_EXIT_PRIVILEGE;
	if (!run->options.no_live && live_new(STDERR_FILENO, &run->live) < 0)
		run->live = NULL;
	if (signals_take(run->live != NULL, &run->signal_fd) < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "signalfd: %s", strerror(errno));
	code = fork_command(run);
	if (!code)
		code = start_collector(run, &facts);
	if (code)
		return code;
	/* Nobody was there to hear it while that took its time; CMD must not start after a Ctrl-C. */
	number = signals_waiting(&run->inherited.signals);
	if (number)
		return 128 + number;
	run->draw_ms =
		(unsigned)(run->config->interval_ns / 1000000 < 60000 ? run->config->interval_ns / 1000000 : 60000);
	code = begin(run);
	if (code)
		return code;
	uv_run(&run->loop, UV_RUN_DEFAULT);
	shut_down(run); /* a sink that writes no more: the lake is whole */
	report(run);
	if (run_detail_print(run->options.details, stderr) < 0)
		skep_fail("run", SKEP_EXIT_RUNTIME, "details: out of memory");
	return run->exit_code;
}

int cmd_run(int argc, char **argv)
{
	struct run run = { .spawn = { .pidfd = -1, .gate = -1, .report = -1 }, .signal_fd = -1 };
	int code;

	/* before anything is opened or changed: CMD is to find it so */
	if (spawn_inherit(&run.inherited) < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot open /dev/null: %s", strerror(errno));
	log_program("skep run");
	log_level(SKEP_LOG_ERROR); /* stderr is CMD's as well; what was lost or is not exact stands in the report */
	code = execute(&run, argc, argv);
	run.live = live_free(run.live);
	shut_down(&run);
	if (run.collector) { /* a thread is in a call that does not return: nothing that it uses may go */
		fprintf(stderr, "skep run: work of a sink or a probe has not returned: its records of run %s may be missing\n", run.id);
		fflush(NULL);
		_exit(code);
	}
	reader_end(&run.reader);
	spawn_close(&run.spawn); /* after its watch; a child that still waits at the gate goes away */
	if (run.signal_fd >= 0)
		close(run.signal_fd);
	if (run.json && run.json != stdout && fclose(run.json) != 0)
		skep_fail("run", SKEP_EXIT_RUNTIME, "--json %s: %s", run.options.json, strerror(errno));
	config_free(run.config);
	json_decref(run.options.plugin_dirs);
	run_detail_free(run.options.details);
	free(run.lake);
	return code;
}
