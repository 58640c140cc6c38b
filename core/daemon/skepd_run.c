/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/skepd_run.c - the collector from start to end in skepd: signals, the order of stopping, exit codes.
 */
#include <errno.h>
#include <signal.h>
#include <skep/pidns.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/magic.h"
#include "core/collect/collector.h"
#include "core/control/control.h"
#include "core/control/control_plugins.h"
#include "core/base/log.h"
#include "core/base/log_diag.h"
#include "core/plugin/note.h"
#include "core/plugin/plugin.h"
#include "core/control/reloader.h"
#include "core/daemon/skepd.h"

/* Beyond the drain: the time that collector_stop() allows for calls that do not return, and one second. */
#define STOP_MORE_US 15000000ull
#define LOG_FLUSH_MS 10000
#define MEMORY_MS 10000u

enum { ON_TERM, ON_INT, ON_USR1, ON_HUP, N_SIGNALS };
static const int signal_numbers[N_SIGNALS] = {
	[ON_TERM] = SIGTERM,
	[ON_INT] = SIGINT,
	[ON_USR1] = SIGUSR1,
	[ON_HUP] = SIGHUP,
};

#define MAGIC_skepd 0x5ce9d000u
struct skepd {
	uint32_t magic;
	const struct config *config;
	struct reader_process *reader, *file_reader;
	struct copier *copier;
	enum skepd_mode mode;
	bool verbose, json;
	uv_loop_t loop;
	struct collector *collector;
	struct control *control;
	struct reloader *reloader;
	struct notify *notify; /* NULL: no service manager */
	uv_signal_t signals[N_SIGNALS];
	uv_timer_t log_timer;
	uv_timer_t memory_timer;
	uv_timer_t ready_timer;
	bool memory_of_start; /* is released */
	unsigned ready_ms; /* waited */
	bool handles; /* signals and timer are set up */
	bool stopping, stopped;
};

/* Prints or logs each error; warnings of a daemon that goes on become log lines like others. */
static void report(const struct skepd *d, struct diag *diag)
{
	if (d->mode != SKEPD_RUN) {
		diag_print(diag, stderr);
	} else if (diag->n_errors > 0) {
		log_diag(diag);
	} else {
		for (size_t i = 0; i < diag->n; i++) {
			const struct diag_entry *e = &diag->entries[i];

			if (e->file)
				log_warning("%s:%d: %s", e->file, e->line, e->text);
			else
				log_warning("%s", e->text);
		}
	}
	diag_clear(diag);
}

/* ---- totals of the ledger --------------------------------------------------------- */

static void ledger_line(enum skep_log_level level, const char *begin, const struct collector_stream_stats *s)
{
	log_at(level, s->sink,
	       "%s: seen %llu: delivered %llu, filtered %llu, lost %llu (kernel %llu, queue %llu, spool %llu, sink %llu), kept for the next start %llu",
	       begin, (unsigned long long)s->seen, (unsigned long long)s->delivered, (unsigned long long)s->filtered,
	       (unsigned long long)(s->lost[SKEP_LOSS_KERNEL] + s->lost[SKEP_LOSS_QUEUE] + s->lost[SKEP_LOSS_SPOOL] +
				    s->lost[SKEP_LOSS_SINK]),
	       (unsigned long long)s->lost[SKEP_LOSS_KERNEL], (unsigned long long)s->lost[SKEP_LOSS_QUEUE],
	       (unsigned long long)s->lost[SKEP_LOSS_SPOOL], (unsigned long long)s->lost[SKEP_LOSS_SINK],
	       (unsigned long long)s->pending);
}

static void ledger_add(struct collector_stream_stats *sum, const struct collector_stream_stats *s)
{
	sum->seen += s->seen;
	sum->delivered += s->delivered;
	sum->filtered += s->filtered;
	sum->pending += s->pending;
	for (int where = SKEP_LOSS_KERNEL; where <= SKEP_LOSS_SINK; where++)
		sum->lost[where] += s->lost[where];
}

static bool balances(const struct collector_stream_stats *s)
{
	return s->seen == s->delivered + s->filtered + s->pending + s->lost[SKEP_LOSS_KERNEL] +
				  s->lost[SKEP_LOSS_QUEUE] + s->lost[SKEP_LOSS_SPOOL] + s->lost[SKEP_LOSS_SINK];
}

/* Where every record since the start went: a line for each sink; with -v one for each of its streams. */
static void log_ledger(const struct collector *c)
{
	size_t n = collector_stats(c, NULL, 0);
	struct collector_stream_stats *all = calloc(n ? n : 1, sizeof(*all)), sum = { 0 };

	if (!all)
		return;
	n = collector_stats(c, all, n);
	for (size_t i = 0; i < n; i++) { /* streams of one sink are adjacent */
		if (i == 0 || strcmp(all[i - 1].sink, all[i].sink) != 0)
			sum = (struct collector_stream_stats){ .sink = all[i].sink };
		ledger_add(&sum, &all[i]);
		if (!balances(&all[i]))
			ledger_line(SKEP_LOG_ERROR, "a bug: these records do not add up", &all[i]);
		if (all[i].seen > 0)
			ledger_line(SKEP_LOG_INFO, all[i].stream, &all[i]);
		if (i + 1 == n || strcmp(all[i + 1].sink, all[i].sink) != 0)
			ledger_line(SKEP_LOG_NOTICE, "records", &sum);
	}
	free(all);
}

static void on_stopped(void *arg)
{
	struct skepd *d = MAGIC_OBJECT(skepd, arg);

	if (d->mode == SKEPD_RUN)
		log_ledger(d->collector);
	d->stopped = true;
	uv_stop(&d->loop);
}

static void stop(struct skepd *d, uint64_t drain_ns)
{
	if (d->stopping)
		return;
	d->stopping = true;
	notify_stopping(d->notify, drain_ns / 1000u + STOP_MORE_US, "stopping: delivering the records collected so far");
	collector_stop(d->collector, drain_ns, on_stopped, d);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct skepd *d = MAGIC_OBJECT(skepd, handle->data);

	switch (number) {
	case SIGUSR1:
		log_info("SIGUSR1: flushing");
		collector_flush(d->collector);
		break;
	case SIGHUP:
		if (d->reloader)
			reloader_hup(d->reloader);
		break;
	default:
		if (d->stopping) {
			log_warning("%s again: leaving at once; records not yet delivered are lost",
				    number == SIGINT ? "SIGINT" : "SIGTERM");
			log_flush();
			_exit(SKEPD_RUNTIME);
		}
		log_notice("%s: stopping", number == SIGINT ? "SIGINT" : "SIGTERM");
		stop(d, collector_drain_ns(d->collector));
		break;
	}
}

static void on_log_timer(uv_timer_t *timer)
{
	(void)timer;
	log_flush();
}

static void on_memory_timer(uv_timer_t *timer)
{
	struct skepd *d = MAGIC_OBJECT(skepd, timer->data);

	if (d->memory_of_start)
		skepd_memory_release();
	else
		skepd_memory_release_start();
	d->memory_of_start = true;
}

#define READY_LOOK_MS 10
#define READY_MOST_MS 10000 /* a sweep that does not end must not make a service manager end skepd */

static void say_ready(struct skepd *d)
{
	log_notice(SKEP_VERSION " collects: %zu probes, %zu sinks, %s", d->config->n_probes, d->config->n_sinks,
		   d->config->file);
	skepd_notify_ready(d->notify, d->collector, "");
}

static void on_ready_timer(uv_timer_t *timer)
{
	struct skepd *d = MAGIC_OBJECT(skepd, timer->data);

	d->ready_ms += READY_LOOK_MS;
	if (d->stopping || (collector_sweeping(d->collector) && d->ready_ms < READY_MOST_MS))
		return;
	uv_timer_stop(timer);
	say_ready(d);
}

/*
 * skepd is ready when its first sweep has found the processes that run already: until then it does not know the parents
 * of new processes, and so neither their runs and tasks.
 */
static void ready_when_swept(struct skepd *d)
{
	if (collector_sweeping(d->collector))
		uv_timer_start(&d->ready_timer, on_ready_timer, READY_LOOK_MS, READY_LOOK_MS);
	else
		say_ready(d);
}

/* Before a probe attaches: a signal during the start then stops skepd in order. */
static int handles_init(struct skepd *d)
{
	int err;

	for (int i = 0; i < N_SIGNALS; i++) {
		/* Cannot fail on an initialised loop; uv_signal_start can. */
		uv_signal_init(&d->loop, &d->signals[i]);
		d->signals[i].data = d;
	}
	uv_timer_init(&d->loop, &d->log_timer);
	uv_timer_init(&d->loop, &d->memory_timer);
	d->memory_timer.data = d;
	uv_timer_init(&d->loop, &d->ready_timer);
	d->ready_timer.data = d;
	d->handles = true;
	for (int i = 0; i < N_SIGNALS; i++) {
		err = uv_signal_start(&d->signals[i], on_signal, signal_numbers[i]);
		if (err)
			return err;
	}
	uv_timer_start(&d->memory_timer, on_memory_timer, MEMORY_MS, MEMORY_MS);
	return uv_timer_start(&d->log_timer, on_log_timer, LOG_FLUSH_MS, LOG_FLUSH_MS);
}

static void handles_close(struct skepd *d)
{
	if (!d->handles)
		return;
	for (int i = 0; i < N_SIGNALS; i++)
		uv_close((uv_handle_t *)&d->signals[i], NULL);
	uv_close((uv_handle_t *)&d->log_timer, NULL);
	uv_close((uv_handle_t *)&d->memory_timer, NULL);
	uv_close((uv_handle_t *)&d->ready_timer, NULL);
	d->handles = false;
}

static void on_reload(void *arg, const struct reload_outcome *outcome)
{
	struct skepd *d = MAGIC_OBJECT(skepd, arg);

	skepd_notify_reload(d->notify, d->collector, outcome);
}

/*
 * A manager that waits for READY=1 and never receives it kills skepd after minutes; better to fail now, with the
 * reason.
 */
static int connect_manager(struct skepd *d)
{
	char why[256];
	int err = notify_new(&d->loop, &d->notify, why, sizeof(why));

	if (err < 0)
		log_error("cannot reach the service manager: %s", why);
	reloader_watch(d->reloader, on_reload, d);
	return err;
}

/* The exit code of a failed start. */
static enum skepd_exit start_exit(const struct skepd *d, int err)
{
	switch (-err) {
	case ENOEXEC:
		return SKEPD_ABI;
	case EPERM:
	case EACCES:
	case ENOSYS:
	case EOPNOTSUPP:
		return SKEPD_PRIVILEGE;
	default:
		return d->mode == SKEPD_TRYLOAD ? SKEPD_PRIVILEGE : SKEPD_RUNTIME;
	}
}

static void say_instances(const struct skepd *d)
{
	for (const struct skep_instance *i = collector_instances(d->collector); i; i = i->next)
		printf("%s: %s %s, %s%s\n", i->name, note_kind_name(i->plugin->note.kind),
		       i->plugin->note.version, i->plugin->path, i->required ? ", required" : "");
}

/*
 * -t and --tryload answer whether every plugin works here.  A daemon goes on without a plugin that is not required; a
 * check that passes without it would check nothing.
 */
static bool any_failed(const struct skepd *d, const char *doing)
{
	bool any = false;

	for (const struct skep_instance *i = collector_instances(d->collector); i; i = i->next) {
		if (i->state != INSTANCE_FAILED)
			continue;
		fprintf(stderr, "error: %s does not %s here: %s\n", i->name, doing,
			i->reason ? i->reason : "it gave no reason");
		any = true;
	}
	return any;
}

/* For --tryload: how skepd gets each signal here, or why it cannot. */
static void say_signals(const struct skepd *d)
{
	for (const struct skep_instance *i = collector_instances(d->collector); i; i = i->next)
		for (const struct instance_signal *s = i->signals; s; s = s->next)
			printf("%s: %s: %s%s%s%s%s\n", i->name, s->name, control_signal_state_name(s->state),
			       *s->how ? ": " : "", s->how, *s->why ? "; " : "", s->why);
}

static int say_json(const struct skepd *d, bool ok)
{
	json_t *o = control_plugins(d->collector);
	int err = o && json_object_set_new(o, "ok", json_boolean(ok)) == 0 ? json_dumpf(o, stdout, JSON_INDENT(2)) : -1;

	json_decref(o);
	if (err < 0)
		log_error("cannot write the answer of --tryload: out of memory or of space");
	else
		puts("");
	return err;
}

/*
 * Before any probe attaches: a second daemon on this host fails here, before it collects everything twice.  Without the
 * default socket, which the file does not name, skepd still collects.
 */
static int open_control(struct skepd *d)
{
	char why[512];
	int err;

	if (!d->config->control_socket)
		return 0;
	err = control_new(&d->loop, d->config->control_socket, d->collector, &d->control, why, sizeof(why));
	if (err == 0) {
		control_reloader(d->control, d->reloader);
		control_copier(d->control, d->copier);
	}
	if (err < 0 && d->config->control_asked)
		log_error("control socket: %s", why);
	else if (err < 0)
		log_warning("control socket: %s; going on without it: skep status and attach will not find this skepd",
			    why);
	return d->config->control_asked ? err : 0;
}

/* The answer of --tryload. err: of collector_start. */
static enum skepd_exit say_tried(const struct skepd *d, int err)
{
	bool failed = any_failed(d, "start") || err < 0;

	if (d->json && say_json(d, !failed) < 0)
		return SKEPD_RUNTIME;
	if (!d->json)
		say_signals(d);
	if (err < 0)
		return start_exit(d, err);
	if (failed)
		return SKEPD_PRIVILEGE;
	if (!d->json)
		puts("every plugin starts here");
	return SKEPD_OK;
}

static void check_pid_namespace(void)
{
	if (!skep_initial_pid_ns("/proc"))
		log_warning(
			"skepd runs in a pid namespace of its own, but the kernel reports pids of the initial one: processes that ran "
			"before and outside it, arguments of running processes and GPU use by process are missing; start skepd in the "
			"host's pid namespace (hostPID: true, --pid=host)");
}

static enum skepd_exit collect(struct skepd *d, struct diag *diag)
{
	struct collector_options options = { .runs_only = false, .reader = d->reader, .file_reader = d->file_reader };
	int err;

	if (d->mode == SKEPD_RUN) /* a check neither reads nor writes pinned or saved state */
		options.pin_dir = d->config->pin_dir;
	if (d->mode == SKEPD_RUN)
		options.spool = &d->config->spool;
	err = collector_new(&d->loop, d->config, &options, diag, &d->collector);
	if (!err)
		err = collector_open(d->collector, diag);
	report(d, diag);
	if (err)
		return err == -ENOEXEC ? SKEPD_ABI : SKEPD_CONFIG;
	if (d->mode != SKEPD_RUN && d->verbose && !d->json)
		say_instances(d);
	if (d->mode != SKEPD_RUN && any_failed(d, "open"))
		return SKEPD_CONFIG;
	if (d->mode == SKEPD_TEST) {
		puts("configuration ok");
		return SKEPD_OK;
	}
	check_pid_namespace();
	if (d->config->n_probes == 0)
		log_warning("%s: no probes: nothing will be collected", d->config->file);
	err = handles_init(d);
	if (err) {
		log_error("cannot take signals: %s", uv_strerror(err));
		return SKEPD_RUNTIME;
	}
	if (d->mode == SKEPD_RUN) {
		err = reloader_new(d->collector, d->config, &d->reloader);
		if (err < 0) {
			log_error("out of memory");
			return SKEPD_RUNTIME;
		}
	}
	if (d->mode == SKEPD_RUN && (connect_manager(d) < 0 || open_control(d) < 0))
		return SKEPD_RUNTIME;
	err = collector_start(d->collector, diag);
	report(d, diag);
	if (d->mode == SKEPD_TRYLOAD)
		return say_tried(d, err);
	if (err)
		return start_exit(d, err);
	log_hurry();
	ready_when_swept(d);
	uv_run(&d->loop, UV_RUN_DEFAULT); /* until on_stopped */
	return SKEPD_OK;
}

static void collect_end(struct skepd *d)
{
	if (d->collector) {
		stop(d, d->mode == SKEPD_TEST ? 0 : collector_drain_ns(d->collector));
		while (!d->stopped && uv_run(&d->loop, UV_RUN_ONCE) != 0)
			;
	}
	control_close(d->control); /* after the collector's end: until then `skep status` asks how it goes */
	notify_close(d->notify);
	handles_close(d);
	if (d->collector && collector_left_behind(d->collector)) {
		uv_run(&d->loop, UV_RUN_NOWAIT);
		return;
	}
	uv_run(&d->loop, UV_RUN_DEFAULT);
	d->collector = collector_free(d->collector);
	reloader_free(d->reloader); /* owns the configuration that the collector may have used */
}

enum skepd_exit skepd_collect(const struct config *config, struct reader_process *reader,
			      struct reader_process *file_reader, struct copier *copier, enum skepd_mode mode,
			      bool verbose, bool json)
{
	struct skepd d = {
		.magic = MAGIC_skepd,
		.config = config,
		.reader = reader,
		.file_reader = file_reader,
		.copier = copier,
		.mode = mode,
		.verbose = verbose,
		.json = json,
	};
	enum skepd_exit result;
	struct diag diag;
	int err;

	diag_init(&diag);
	err = uv_loop_init(&d.loop);
	if (err) {
		log_error("cannot make an event loop: %s", uv_strerror(err));
		return SKEPD_RUNTIME;
	}
	result = collect(&d, &diag);
	collect_end(&d);
	if (d.collector) {
		/* exit() would run destructors while a thread that does not return may use their objects. */
		if (mode == SKEPD_RUN && result == SKEPD_OK)
			log_notice("stopped; threads that do not return end with the process");
		log_flush();
		_exit(fflush(stdout) != 0 && result == SKEPD_OK ? SKEPD_RUNTIME : (int)result);
	}
	/* A handle that is still open is a bug: a use after free some day. */
	err = uv_loop_close(&d.loop);
	if (err)
		log_warning("event loop: %s at the end: a handle is still open, which is a bug of skepd; report it",
			    uv_strerror(err));
	if (mode == SKEPD_RUN && result == SKEPD_OK)
		log_notice("stopped");
	diag_clear(&diag);
	return result;
}
