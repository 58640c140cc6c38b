/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/sdk/defective.c - the plugin "defective": keeps the contract of skep/plugin.h except in the one way that its
 * option "do" names. The mock host and `skep-dev check` must find that defect.
 */
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <skep/plugin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct record {
	uint64_t n;
	struct skep_str text;
	struct skep_str list;
	uint8_t yes;
};

struct defective {
	const char *what;
	int64_t number;
	const struct skep_host *host;
	struct skep_watch *watch;
	struct skep_timer *timer;
	struct skep_counter *counter;
	pthread_t thread;
	int fds[2];
	bool piped;
};

static const struct skep_option options[] = {
	{ .name = "do",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct defective, what),
	  .default_value = "nothing",
	  .help = "the defect" },
	{ .name = "number",
	  .type = SKEP_O_INT,
	  .flags = SKEP_OPT_RELOADABLE,
	  .offset = offsetof(struct defective, number),
	  .default_value = "1",
	  .min = 1,
	  .max = 9,
	  .help = "a number" },
	{ .name = NULL },
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct record, n, "defective.n", SKEP_T_U64, SKEP_S_GAUGE, "1", "a number"),
	SKEP_FIELD(struct record, text, "defective.text", SKEP_T_STR, SKEP_S_ATTRIBUTE, "", "a text"),
	SKEP_FIELD(struct record, list, "defective.list", SKEP_T_STRV, SKEP_S_ATTRIBUTE, "", "texts"),
	SKEP_FIELD(struct record, yes, "defective.yes", SKEP_T_BOOL, SKEP_S_ATTRIBUTE, "", "yes or no"),
};

static const struct skep_stream stream = {
	.size = sizeof(struct skep_stream),
	.field_size = sizeof(struct skep_field),
	.name = "defective",
	.help = "records",
	.record_size = sizeof(struct record),
	.n_fields = 4,
	.fields = fields,
};

static const struct skep_stream *const streams[] = { &stream };

static bool is(const struct defective *d, const char *what)
{
	return strcmp(d->what, what) == 0;
}

static void on_timer(struct skep_instance *inst, void *arg)
{
	(void)inst;
	(void)arg;
}

static void on_watch(struct skep_instance *inst, void *arg, unsigned events)
{
	(void)inst;
	(void)arg;
	(void)events;
}

static struct skep_instance *instance; /* for the thread's use */
static sem_t over;                     /* the thread waits for it */

static void *thread(void *arg)
{
	struct defective *d = arg;
	struct record r = { .n = 1 };

	if (is(d, "emit in a thread"))
		d->host->emit(instance, 0, NULL, 0, &r);
	else if (is(d, "thread"))
		sem_wait(&over);
	d->host->counter_add(d->counter, 1);
	return NULL;
}

static void on_work(void *arg)
{
	thread(arg);
}

static int defective_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct defective *d = state;

	instance = inst;
	sem_init(&over, 0, 0);
	d->host = host;
	d->counter = host->counter(inst, "things", "things that were done");
	if (is(d, "open fails in silence"))
		return -EIO;
	if (is(d, "open returns 1"))
		return 1;
	if (is(d, "open fails"))
		return host->fail(inst, -EIO, "as it was told");
	if (is(d, "crash in open"))
		abort();
	return 0;
}

static int defective_start(struct skep_instance *inst, void *state)
{
	struct defective *d = state;

	if (is(d, "crash in start"))
		raise(SIGSEGV);
	if (is(d, "exit in start"))
		exit(0);
	if (is(d, "start may not"))
		return d->host->fail(inst, -EPERM, "CAP_BPF is needed");
	if (is(d, "umask"))
		umask(0);
	if (is(d, "locale"))
		setlocale(LC_ALL, "C.UTF-8");
	if (is(d, "signal"))
		signal(SIGUSR2, SIG_IGN);
	if (is(d, "directory") && chdir("/") < 0)
		return -errno;
	if (is(d, "fd") && open("/dev/null", O_RDONLY | O_CLOEXEC) < 0)
		return -errno;
	if (is(d, "timer") || is(d, "timer closed twice") || is(d, "nothing"))
		d->host->timer(inst, 10, 10, on_timer, d, &d->timer);
	if (is(d, "watch") || is(d, "fd before its watch") || is(d, "watch closed twice") || is(d, "watch not read") ||
	    is(d, "nothing")) {
		if (pipe(d->fds) < 0)
			return -errno;
		d->piped = true;
		d->host->watch_fd(inst, d->fds[0], SKEP_READABLE, on_watch, d, &d->watch);
	}
	if (is(d, "watch not read") && write(d->fds[1], "x", 1) < 0)
		return -errno;
	if (is(d, "thread") && pthread_create(&d->thread, NULL, thread, d) != 0)
		return -EAGAIN;
	if (is(d, "emit in a thread") || is(d, "nothing"))
		d->host->work(inst, on_work, NULL, d);
	if (is(d, "signal without why"))
		d->host->signal(inst, "a.thing", SKEP_SIGNAL_MISSING, "", NULL);
	if (is(d, "nothing"))
		d->host->signal(inst, "a.thing", SKEP_SIGNAL_OK, "a file", NULL);
	return 0;
}

static void defective_sample(struct skep_instance *inst, void *state)
{
	struct defective *d = state;
	struct record r = { .n = (uint64_t)d->number };

	if (is(d, "text at NULL"))
		r.text = (struct skep_str){ .ptr = NULL, .len = 3, .total = 3 };
	if (is(d, "text cut"))
		r.text = (struct skep_str){ .ptr = "abc", .len = 3, .total = 2 };
	if (is(d, "list without end"))
		r.list = (struct skep_str){ .ptr = "abc", .len = 3, .total = 3 };
	if (is(d, "bool"))
		r.yes = 7;
	if (is(d, "log"))
		d->host->log(inst, SKEP_LOG_WARNING, "a line\n");
	if (is(d, "nobody"))
		d->host->emit(inst, 0, &(struct skep_upid){ .pid = 0 }, 1, &r);
	else
		d->host->emit(inst, is(d, "stream") ? 1 : 0, NULL, 1, &r);
}

static int defective_reload(struct skep_instance *inst, void *state, const void *next)
{
	(void)inst;
	(void)next;
	return is(state, "reload declines") ? -ENOTSUP : 0;
}

static void defective_stop(struct skep_instance *inst, void *state)
{
	struct defective *d = state;

	(void)inst;
	if (is(d, "fd before its watch")) {
		close(d->fds[0]);
		d->fds[0] = -1;
	}
	if (!is(d, "watch"))
		d->host->watch_close(d->watch);
	if (is(d, "watch closed twice"))
		d->host->watch_close(d->watch);
	if (!is(d, "timer"))
		d->host->timer_close(d->timer);
	if (is(d, "timer closed twice"))
		d->host->timer_close(d->timer);
	if (is(d, "crash in stop"))
		abort();
}

static void defective_close(struct skep_instance *inst, void *state)
{
	struct defective *d = state;

	(void)inst;
	/* This comes too late. */
	if (is(d, "thread") && d->thread) {
		sem_post(&over);
		pthread_join(d->thread, NULL);
	}
	for (int i = 0; d->piped && i < 2; i++)
		if (d->fds[i] >= 0)
			close(d->fds[i]);
	if (is(d, "crash in close"))
		abort();
}

static const struct skep_plugin defective_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "defective",
	.version = "1.0",
	.summary = "breaks the plugin contract, for tests",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.n_streams = 1,
	.streams = streams,
	.state_size = sizeof(struct defective),
	.open = defective_open,
	.start = defective_start,
	.sample = defective_sample,
	.reload = defective_reload,
	.stop = defective_stop,
	.close = defective_close,
};

SKEP_PLUGIN(defective_plugin, SKEP_KIND_PROBE, "defective", "1.0")
