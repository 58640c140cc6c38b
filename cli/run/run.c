/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/run/run.c - `skep run`: reports what one command and all its descendants do.  The skepd that writes the same lake
 * collects the run; without such a skepd, this process does.
 *
 * The order matters: every step that can fail comes while CMD still waits at its gate. skep opens the gate when the
 * collector knows CMD, before CMD has run an instruction of its own.  Afterwards CMD does not depend on skep any more,
 * and skep exits with CMD's status even when the report fails.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "cli/base/ctl.h"
#include "cli/base/lakepath.h"
#include "cli/base/out_file.h"
#include "cli/base/own_runs.h"
#include "cli/live/live.h"
#include "cli/base/privilege.h"
#include "cli/report/report.h"
#include "cli/run/job.h"
#include "cli/run/pidns.h"
#include "cli/run/run.h"
#include "cli/run/run_config.h"
#include "cli/run/run_daemon.h"
#include "cli/run/run_detail.h"
#include "cli/run/run_options.h"
#include "cli/run/run_trace.h"
#include "cli/run/signals.h"
#include "cli/base/skep.h"
#include "cli/base/text.h"
#include "cli/run/spawn.h"
#include "cli/run/witness.h"
#include "cli/tune/tune.h"
#include "cli/web/html.h"
#include "core/collect/collector.h"
#include "core/config/config.h"
#include "core/base/log.h"
#include "core/identify/reader.h"
#include "core/identify/tool.h"
#include "lake/lake.h"

#define CHECK_MS         200                   /* an editor gets the title within this time */
#define LOOK_MS          500                   /* at most: how soon a CMD that has left our group gets the terminal */
#define TASK_MS          2000                  /* a busy skepd does not hold a step up for longer */
#define DRAIN_NS         UINT64_C(10000000000) /* waits for a slow lake; then counts the rest as lost */

struct run {
	struct run_options options;
	char id[RUN_ID_SIZE];
	const char *traceparent; /* the valid TRACEPARENT of our environment; NULL: none */
	char *lake;
	struct wish {
		const char *option, *path; /* path NULL: the user does not want it */
		struct out_file file;
	} json, html;
	struct config *config;
	uv_loop_t loop;
	bool has_loop;
	struct run_daemon *daemon; /* the skepd that collects; NULL: this process collects */
	struct reader_process reader;
	struct collector *collector;
	struct spawn_inherited inherited;
	struct spawn spawn;
	struct live *live;
	int signal_fd;
	struct job job;
	struct witness witness; /* for the job */
	uv_poll_t signals, command_end;
	uv_timer_t check, look;
	unsigned look_ms;
	unsigned since_draw_ms, draw_ms;
	bool stopped;    /* the collector has stopped */
	bool unrecorded; /* CMD runs, and nothing collects */
	bool ended;      /* CMD has ended */
	unsigned hurry;  /* signals to end that arrived after CMD's end */
	int exit_code;
	int death; /* the signal that ended CMD, and then skep; 0: none */
};

/* ---- before it starts ----------------------------------------------------------- */

/* mkdir -p, for this user alone: a lake has arguments and paths. 0 or -errno, and then path is the failed folder. */
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

/*
 * Finds a skepd that can collect this run: one that writes the lake of this run.  Without privileges, and
 * without --lake or SKEP_LAKE, any skepd will do.
 */
static int find_daemon(struct run *run, const struct privilege_facts *facts)
{
	const struct {
		const char *option;
		bool given;
	} own[] = {
		{ "--interval", run->options.interval },
		{ "--plugin-dir", run->options.plugin_dirs },
		{ "--otlp", run->options.otlp },
		{ "--otlp-wait", run->options.otlp_wait },
	};
	const char *asked = run->options.lake ? run->options.lake : getenv("SKEP_LAKE");
	char *path = NULL;
	int err = 0;

	if (asked && *asked && !lake_is_address(asked))
		path = strdup(asked);
	else if (geteuid() == 0 || privilege_suffices(facts))
		err = lake_default_path(&path);
	if (err < 0 || (run->options.lake && !*run->options.lake))
		return SKEP_EXIT_OK; /* find_lake() reports the error */
	run->daemon = run_daemon_find(path);
	free(path);
	if (!run->daemon)
		return SKEP_EXIT_OK;
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i].given)
			return skep_usage(
				"run",
				"%s: skepd (pid %d) collects this run, as it writes the lake %s, and has its own configuration: "
				"leave %s out, or give a lake of your own: --lake FOLDER",
				own[i].option, run_daemon_pid(run->daemon), run_daemon_lake(run->daemon),
				own[i].option);
	run->lake = strdup(run_daemon_lake(run->daemon));
	return run->lake ? SKEP_EXIT_OK : skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
}

static int find_lake(struct run *run)
{
	const char *remedy = "name another with --lake FOLDER";
	char *path, *whole, why[512];
	struct stat info;
	int err;

	if (run->options.lake && !*run->options.lake)
		return skep_usage("run", "--lake: an empty name");
	if (run->options.lake && lake_is_address(run->options.lake))
		return skep_usage("run", "--lake %s: skep run writes to a folder; the sink \"clickhouse\" of skepd writes "
					 "to a server", run->options.lake);
	if (run->options.lake) {
		path = strdup(run->options.lake);
		err = path ? 0 : -ENOMEM;
	} else {
		err = lake_default_path(&path);
	}
	if (err == -ENOENT)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot locate the lake: HOME is not set; %s",
				 remedy);
	if (err == -EINVAL && lake_configured(&whole, why, sizeof(why)) < 0)
		return skep_fail("run", SKEP_EXIT_CONFIG, "%s", why);
	if (err < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "lake: %s", strerror(-err));
	err = make_folders(path);
	if (err < 0) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "lake: cannot create the folder %s: %s; %s", path, strerror(-err),
			  remedy);
		goto failed;
	}
	if (stat(path, &info) < 0 || !S_ISDIR(info.st_mode)) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "lake: %s is not a folder; %s", path, remedy);
		goto failed;
	}
	/* with our effective ids: the kernel checks the sink's writes by them */
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

/* Before CMD starts: hours of work must not end in a report that skep cannot write. */
static int wish(struct wish *w, const char *option, const char *path)
{
	int err = path ? out_file_later(path, &w->file) : 0;

	if (err)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "%s %s: %s", option, path, strerror(-err));
	w->option = option;
	w->path = path;
	return SKEP_EXIT_OK;
}

static int open_files(struct run *run)
{
	int code = run->options.html ? html_possible("run", run->options.html) : SKEP_EXIT_OK;

	if (!code)
		code = wish(&run->json, "--json", run->options.json);
	return code ? code : wish(&run->html, "--html", run->options.html);
}

/* found: NULL: there is no report, and the file stays as it is. */
static void fulfil(struct wish *w, struct lake *lake, const struct lake_report *found)
{
	char why[512] = "";
	int err;

	if (!w->path)
		return;
	err = found ? out_file_now(&w->file) : -ECANCELED;
	if (!err && strcmp(w->option, "--html") == 0)
		err = tune_report_html(lake, found, NULL, "", NULL, w->file.stream, why, sizeof(why));
	else if (!err)
		err = report_json_print(found, w->file.stream);
	if (!err && fflush(w->file.stream) != 0)
		err = -errno;
	err = out_file_close(&w->file, err);
	if (err && found)
		skep_fail("run", SKEP_EXIT_RUNTIME, "%s %s: %s", w->option, w->path, *why ? why : strerror(-err));
	w->path = NULL;
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

/*
 * Each probe reads all types of the kernel once or twice, 5 MB a time.  glibc gives memory of that size back to the
 * kernel at each free(): to fault in new pages took 75 ms of a start.  skepd, which starts rarely, does without: the
 * tables of its probes would lie in used memory, all of which counts.
 */
static void keep_memory(bool keep)
{
#ifdef __GLIBC__
	mallopt(M_MMAP_THRESHOLD, keep ? 32 << 20 : 4 << 20);
	mallopt(M_TRIM_THRESHOLD, keep ? 64 << 20 : 8 << 20);
#else
	(void)keep;
#endif
}

static int start_collector(struct run *run, const struct privilege_facts *facts)
{
	struct collector_options options = { .runs_only = true, .remote_sink = "otlp" };
	/* fork before any thread; without the reader, processes whose start skep missed have no arguments */
	int forked = reader_fork("skep", &run->reader);
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
	keep_memory(true);
	err = collector_start(run->collector, &diag);
	keep_memory(false);
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

/* The tool of CMD, with its name in reports. "" when skep cannot find it. */
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
	/* argv[0] serves as exe too: the tool table needs only the name */
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
				   (uv_handle_t *)&run->check, (uv_handle_t *)&run->look };

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
		uv_stop(&run->loop); /* open handles would keep the loop running */
	if (run->options.otlp && run->ended)
		run_trace_missing(run->collector, run->options.otlp,
				  run->options.otlp_wait ? run->options.otlp_wait : DEFAULT_OTLP_WAIT, stderr);
}

static void on_daemon_done(void *arg)
{
	struct run *run = arg;

	close_handles(run);
}

static void on_live(void *arg, const struct collector_live *figures)
{
	struct run *run = arg;

	if (!run->ended)
		live_draw(run->live, figures);
}

static void on_run_ended(void *arg)
{
	struct run *run = arg;

	collector_stop(run->collector, DRAIN_NS, on_collector_stopped, run);
}

static void leave_at_once(struct run *run)
{
	run->live = live_free(run->live);
	fprintf(stderr, "skep run: interrupted before the report of run %s was complete\n", run->id);
	if (run->death)
		signals_die(run->death);
	_exit(run->exit_code); /* the kernel closes our descriptors and frees our BPF objects */
}

/* A signal after CMD's end. */
static void take_late_signal(struct run *run, int number)
{
	if (number == SIGCHLD)
		job_reap(&run->job);
	if (number == SIGTSTP)
		signals_stop(SIGTSTP);
	if (!signals_ends(number))
		return;
	if (++run->hurry > 1)
		leave_at_once(run);
	fprintf(stderr, "skep run: the command has ended and skep is making its report; interrupt once more to leave "
		"at once\n");
}

static void take_signal(struct run *run, const struct signalfd_siginfo *info)
{
	int stopped;

	if (run->ended) {
		take_late_signal(run, (int)info->ssi_signo);
		return;
	}
	stopped = job_signal(&run->job, info);
	live_follow(run->live, run->job.given ? run->job.command : 0);
	if (!stopped)
		return;
	live_clear(run->live);
	job_stop(&run->job, stopped);
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
		skep_say("run", "%s: its interpreter (the #! line, or the dynamic loader) does not exist", command);
	else
		skep_say("run", "%s: %s", command, strerror(error));
}

static void on_command_end(uv_poll_t *handle, int poll_status, int events)
{
	struct run *run = handle->data;
	int status = 0, exec_error = 0, err;
	struct rusage usage = { 0 };

	(void)poll_status;
	(void)events;
	/*
	 * A signal that ended CMD arrives here before CMD's end (the kernel signals a group
	 * under the lock that exit_notify() takes): read it first, so that it does not count as later.
	 */
	take_signals(run);
	uv_poll_stop(handle);
	err = spawn_wait(&run->spawn, &status, &usage, &exec_error);
	run->ended = true;
	run->death = !err && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	job_end(&run->job);
	job_reap(&run->job); /* those behind CMD in the kernel's list */
	run->exit_code = err ? SKEP_EXIT_RUNTIME : spawn_exit_code(status);
	if (err)
		skep_fail("run", SKEP_EXIT_RUNTIME, "wait4: %s", strerror(-err));
	uv_timer_stop(&run->check);
	uv_timer_stop(&run->look);
	run->live = live_free(run->live);
	if (exec_error)
		say_exec_error(run, exec_error);
	if (run->unrecorded)
		close_handles(run);
	else if (run->daemon)
		run_daemon_end(run->daemon, status, &usage, on_daemon_done, run);
	else
		collector_run_end(run->collector, run->id, status, err ? NULL : &usage, NULL, on_run_ended, run);
}

static void on_check(uv_timer_t *timer)
{
	struct run *run = timer->data;
	struct collector_live figures;

	run->since_draw_ms += CHECK_MS;
	if (run->daemon || run->since_draw_ms < run->draw_ms) { /* skepd sends new figures itself */
		live_check(run->live);
		return;
	}
	run->since_draw_ms = 0;
	if (collector_live(run->collector, run->id, &figures) == 0)
		live_draw(run->live, &figures);
}

static void on_look(uv_timer_t *timer)
{
	struct run *run = timer->data;

	if (job_look(&run->job))
		live_follow(run->live, run->job.command);
	run->look_ms = run->look_ms * 2 < LOOK_MS ? run->look_ms * 2 : LOOK_MS;
	uv_timer_start(timer, on_look, run->look_ms, 0);
}

static int watch(struct run *run)
{
	int err;

	err = uv_poll_init(&run->loop, &run->signals, run->signal_fd);
	if (!err)
		err = uv_poll_init(&run->loop, &run->command_end, run->spawn.pidfd);
	if (!err)
		err = uv_timer_init(&run->loop, &run->check);
	if (!err)
		err = uv_timer_init(&run->loop, &run->look);
	if (err)
		return err;
	run->signals.data = run->command_end.data = run->check.data = run->look.data = run;
	job_begin(&run->job, run->spawn.pid, &run->witness);
	run->look_ms = 1;
	err = uv_poll_start(&run->signals, UV_READABLE, on_signals);
	if (!err)
		err = uv_poll_start(&run->command_end, UV_READABLE, on_command_end);
	if (!err && run->live)
		err = uv_timer_start(&run->check, on_check, CHECK_MS, CHECK_MS);
	if (!err && terminal_may_follow(&run->job.terminal))
		err = uv_timer_start(&run->look, on_look, run->look_ms, 0);
	if (!err && run->daemon)
		err = run_daemon_watch(run->daemon, &run->loop, on_live, run);
	return err;
}

/* Without CMD's pid in the initial pid namespace, skep would take no record for one of this run. */
static int say_no_pid(struct run *run, int err, const struct privilege_facts *facts)
{
	bool old = facts->kernel_major == 5 && facts->kernel_minor < 10;
	char why[160];

	spawn_close(&run->spawn); /* CMD ends at its gate */
	if (old)
		snprintf(why, sizeof(why), "that needs Linux 5.10, and this kernel is %s", facts->release);
	else if (err == -ESRCH)
		snprintf(why, sizeof(why), "the process that asks for it ended");
	else
		snprintf(why, sizeof(why), "the call of bpf(2) that asks for it failed: %s", strerror(-err));
	skep_say("run",
		 "cannot record in this pid namespace (a container has one), so the command has not started: the kernel "
		 "reports the command by its pid on the host, and skep cannot learn this pid: %s; run skep in the host's pid "
		 "namespace (docker run --pid=host; in Kubernetes hostPID: true)", why);
	if (!old && (err == -EPERM || err == -EACCES))
		privilege_explain(facts, stderr);
	return SKEP_EXIT_PRIVILEGE;
}

/*
 * Forks CMD, which waits at its gate.  Call this before the collector starts, while skep is small and has no threads:
 * the kernel counts the memory of the forked parent in ru_maxrss of the program that the child execs
 * (setmax_mm_hiwater_rss() in exec_mmap()).
 */
static int fork_command(struct run *run, const struct privilege_facts *facts)
{
	char **environment = NULL, traceparent[SKEP_TRACEPARENT_SIZE] = "";
	const char *set[] = { "SKEP_RUN", run->id, NULL, traceparent, NULL };
	int err = 0, no_pid = 0, pidns = -1;

	run_id_new(run->id); /* skepd's id, of the same length, may replace it */
	if (run->options.otlp) {
		err = run_trace(run->id, &run->traceparent, traceparent);
		set[2] = "TRACEPARENT";
	}
	if (!err)
		err = spawn_environment(set, &environment);
	if (!err && !run->daemon)
		no_pid = pidns_open(&pidns);
	witness_start(&run->witness); /* without one, CMD gets some signals twice */
	if (!err && !no_pid)
		err = spawn_start(&run->inherited, run->options.command, environment, pidns, &run->spawn);
	free(environment); /* the child has its own copy */
	if (!err && pidns >= 0)
		no_pid = spawn_root(&run->spawn);
	if (pidns >= 0)
		close(pidns);
	if (err)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot start a process: %s", strerror(-err));
	return no_pid ? say_no_pid(run, no_pid, facts) : SKEP_EXIT_OK;
}

/* The caller's trace context for a run that skepd collects: skepd's sinks may send it. */
static const char *traceparent_of_caller(void)
{
	const char *text = getenv("TRACEPARENT");
	struct skep_trace trace;

	return text && skep_traceparent_read(text, strlen(text), &trace) ? text : NULL;
}

static int begin_here(struct run *run, const struct run_spec *spec)
{
	char *why = NULL;
	int code, err = collector_run_begin(run->collector, spec);

	if (err)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot begin: %s", strerror(-err));
	err = run_detail_attach(run->options.details, run->collector, run->id, &why);
	if (!err)
		return SKEP_EXIT_OK;
	code = skep_fail("run", err == -ENOENT ? SKEP_EXIT_USAGE : SKEP_EXIT_PRIVILEGE, "%s",
			 why ? why : "out of memory");
	free(why);
	return code;
}

static int release(struct run *run)
{
	int err = watch(run);

	if (!err)
		err = spawn_release(&run->spawn, run->id);
	if (err)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot begin: %s", strerror(-err));
	return SKEP_EXIT_OK;
}

static int begin(struct run *run)
{
	char *cwd = get_current_dir_name();
	struct tool_name tool;
	struct run_spec spec = {
		.id = run->id,
		.name = run->options.name,
		.pipeline = run->options.pipeline,
		.argv = (const char *const *)run->options.command,
		.cwd = cwd ? cwd : "", /* "": another process has removed the folder */
		.root = run->spawn.pid,
		.uid = getuid(),
		.gid = getgid(),
		.traceparent = run->traceparent,
	};
	int code;

	tool_of(run->options.command, &tool);
	if (!spec.pipeline)
		spec.pipeline = tool.name;
	if (!spec.name)
		spec.name = tool.name;
	if (run->daemon) {
		spec.traceparent = traceparent_of_caller();
		code = run_daemon_begin(run->daemon, &spec, run->live != NULL, run->options.details, run->id);
	} else {
		spec.root = run->spawn.root;
		code = begin_here(run, &spec);
	}
	free(cwd);
	return code ? code : release(run);
}

/* ---- afterwards ------------------------------------------------------------------ */

static int open_lake(const struct run *run, struct lake **ret, char *why, size_t why_size)
{
	if (run->daemon && run_daemon_is_closed(run->daemon))
		return own_runs_open(NULL, run->id, 0, NULL, ret, why, why_size);
	return lake_open(run->lake, ret, why, why_size);
}

static void report(struct run *run)
{
	struct lake_report *found = NULL;
	struct lake *lake = NULL;
	char why[512] = "";
	int err;

	if (run->options.no_report && !run->json.path && !run->html.path)
		return;
	if (open_lake(run, &lake, why, sizeof(why)) < 0 ||
	    lake_report(lake, run->id, &found, why, sizeof(why)) < 0) {
		skep_fail("run", SKEP_EXIT_RUNTIME, "no report of run %s: %s", run->id, why);
		goto out;
	}
	fulfil(&run->json, lake, found);
	fulfil(&run->html, lake, found);
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
	run_daemon_close(run->daemon);
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

/* Finds a skepd or prepares a collector, before CMD runs. */
static int prepare(struct run *run, char **argv, struct privilege_facts *facts)
{
	int code;

	privilege_facts(facts);
	code = find_daemon(run, facts);
	if (!code && !run->daemon)
		code = find_lake(run);
	if (!code && !run->daemon)
		code = run_config(&run->options, run->lake, &run->config);
	if (!code)
		code = open_files(run);
	if (!code && !run->daemon && !privilege_check(facts, argv, stderr))
		code = SKEP_EXIT_PRIVILEGE;
	return code;
}

static int start_loop(struct run *run)
{
	int err = uv_loop_init(&run->loop);

	if (err < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot begin: %s", strerror(-err));
	run->has_loop = true;
	return SKEP_EXIT_OK;
}

/*
 * The caller has limited CMD so far that skep cannot collect beside it.  The limit is meant for CMD, so CMD runs.
 * SKEP_EXIT_OK, or code.
 */
static int do_without_record(struct run *run, int code)
{
	const char *limit = run->daemon ? NULL : limits_short();

	shut_down(run);
	if (!limit || run->collector)
		return code;
	skep_say("run", "%s: the command runs, and skep records nothing; raise the hard limit (ulimit -H), or have a skepd "
		 "collect", limit);
	run->unrecorded = true;
	run->live = live_free(run->live);
	return start_loop(run);
}

/* `skep run --task`: marks this process, which becomes CMD.  CMD runs also where nothing records it. */
static int become(struct run *run)
{
	const char *const set[] = { "SKEP_TASK", run->options.task, NULL };
	char **environment = NULL; /* the caller's: a start with capabilities has emptied our own */
	json_t *answer = NULL;
	struct ctl *ctl = NULL;
	int err;

	if (spawn_environment(set, &environment) < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "out of memory");
	/* pid 0: skepd is outside of our pid namespace, and SO_PEERCRED still says which process this is */
	if (ctl_try_own(NULL, &ctl) &&
	    ctl_send(ctl, json_pack("{s:s, s:s}", "request", "task_begin", "task", run->options.task)) == 0 &&
	    ctl_receive(ctl, TASK_MS, &answer) == 0 && !json_is_true(json_object_get(answer, "ok"))) {
		const char *why = json_string_value(json_object_get(answer, "error"));
		char *safe = text_safe(why ? why : "it gave no reason", false);

		skep_say("run", "--task %s: %s; the command runs without the mark", run->options.task,
			 safe ? safe : "");
		free(safe);
	}
	json_decref(answer);
	ctl_close(ctl);
	limits_give_back(&run->inherited.limits);
	execvpe(run->options.command[0], run->options.command, environment);
	err = errno;
	free(environment);
	say_exec_error(run, err);
	return err == ENOENT ? 127 : 126;
}

static int execute(struct run *run, int argc, char **argv)
{
	struct privilege_facts facts;
	uint64_t interval_ms;
	int code;

	code = run_options_parse(argc, argv, &run->options);
	if (code || !run->options.command)
		return code;
	if (run->options.task)
		return become(run);
	code = prepare(run, argv, &facts);
	if (code)
		return code;
	if (!run->options.no_live && live_new(STDERR_FILENO, &run->live) < 0)
		run->live = NULL;
	if (signals_take(&run->signal_fd) < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "signalfd: %s", strerror(errno));
	code = fork_command(run, &facts);
	if (!code)
		code = run->daemon ? start_loop(run) : start_collector(run, &facts);
	if (code && run->spawn.pid)
		code = do_without_record(run, code);
	if (code)
		return code;
	/* No handler ran while skep prepared the run; CMD must not start after a Ctrl-C. */
	run->death = signals_waiting(&run->inherited.signals);
	if (run->death)
		return 128 + run->death;
	interval_ms = run->config ? run->config->interval_ns / 1000000 : 0;
	run->draw_ms = (unsigned)(interval_ms < 60000 ? interval_ms : 60000);
	code = run->unrecorded ? release(run) : begin(run);
	if (code)
		return code;
	uv_run(&run->loop, UV_RUN_DEFAULT);
	shut_down(run); /* stops the sink: afterwards the lake is complete */
	if (run->unrecorded)
		return run->exit_code;
	report(run);
	if (run->daemon)
		run_daemon_note(run->daemon, stderr);
	if (run_detail_print(run->options.details, stderr) < 0)
		skep_fail("run", SKEP_EXIT_RUNTIME, "details: out of memory");
	return run->exit_code;
}

int run_command(int argc, char **argv)
{
	struct run run = { .spawn = { .pidfd = -1, .gate = -1, .report = -1 }, .signal_fd = -1 };
	int code;

	/* before skep opens or changes anything: CMD must find the same state */
	if (spawn_inherit(&run.inherited) < 0)
		return skep_fail("run", SKEP_EXIT_RUNTIME, "cannot open /dev/null: %s", strerror(errno));
	log_program("skep run");
	log_level(SKEP_LOG_ERROR); /* stderr is CMD's as well; the report names losses and inexact totals */
	code = execute(&run, argc, argv);
	run.live = live_free(run.live);
	shut_down(&run);
	if (run.collector) { /* a thread is in a call that does not return: free nothing that it uses */
		fprintf(stderr,
			"skep run: work of a sink or probe has not returned; its records of run %s may be missing\n",
			run.id);
		if (run.death)
			signals_die(run.death);
		fflush(NULL);
		_exit(code);
	}
	reader_end(&run.reader);
	spawn_close(&run.spawn); /* after its watch is closed; a child that still waits at the gate exits */
	if (run.signal_fd >= 0)
		close(run.signal_fd);
	fulfil(&run.json, NULL, NULL);
	fulfil(&run.html, NULL, NULL);
	config_free(run.config);
	run.daemon = run_daemon_free(run.daemon);
	run_options_free(&run.options);
	free(run.lake);
	/*
	 * The report is printed.  A shell ends its loop or script when Ctrl-C kills a command, not when one exits with
	 * 130.
	 */
	if (run.death)
		signals_die(run.death);
	return code;
}
