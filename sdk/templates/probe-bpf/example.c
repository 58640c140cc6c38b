/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example - a probe with its own BPF object: reports which process sent a fatal signal to which process.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <skep/drain.h>
#include <skep/load.h>
#include <skep/misses.h>
#include <skep/plugin.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"
#include "example.skel.h"

/* The record that the probe emits, about the process that receives the signal. */
struct sent {
	int64_t number;
	struct skep_str name;
	uint64_t sender_pid;
	struct skep_str sender;
};

struct example {
	bool fatal_only; /* option */

	const struct skep_host *host;
	struct skep_instance *inst;
	struct example_bpf *bpf;
	struct skep_drain_ring ring;
	uint64_t *lost_now; /* a value per CPU, as bpf_map_lookup_elem() writes them */
	int cpus;
	uint64_t lost;      /* losses that the probe has reported so far */
};

static const struct skep_option options[] = {
	{
		.name = "fatal_only",
		.type = SKEP_O_BOOL,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct example, fatal_only),
		.default_value = "true",
		.help = "only HUP, INT, QUIT, ABRT, KILL and TERM; false: every signal",
	},
	{ .name = NULL },
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct sent, number, "process.signal.number", SKEP_T_I64, SKEP_S_ATTRIBUTE, "",
		   "number of the signal"),
	SKEP_FIELD(struct sent, name, "process.signal.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "its name, as TERM; empty: a real-time signal"),
	SKEP_FIELD(struct sent, sender_pid, "process.signal.sender.pid", SKEP_T_U64, SKEP_S_ATTRIBUTE, "",
		   "who sent it; 0: the kernel"),
	SKEP_FIELD(struct sent, sender, "process.signal.sender.name", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "the sender's comm; empty: the kernel"),
};

enum { STREAM_SIGNALS, N_STREAMS };

static const struct skep_stream signals = SKEP_STREAM(struct sent, fields, "example.signal", SKEP_ROLE_NONE, 0,
	"a signal that was sent to a process");

static const struct skep_stream *const streams[N_STREAMS] = { [STREAM_SIGNALS] = &signals };

/* ---- records ------------------------------------------------------------------ */

static const char *const names[] = {
	[SIGHUP] = "HUP",     [SIGINT] = "INT",   [SIGQUIT] = "QUIT", [SIGILL] = "ILL",   [SIGTRAP] = "TRAP",
	[SIGABRT] = "ABRT",   [SIGBUS] = "BUS",   [SIGFPE] = "FPE",   [SIGKILL] = "KILL", [SIGUSR1] = "USR1",
	[SIGSEGV] = "SEGV",   [SIGUSR2] = "USR2", [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM", [SIGTERM] = "TERM",
	[SIGCHLD] = "CHLD",   [SIGCONT] = "CONT", [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP", [SIGTTIN] = "TTIN",
	[SIGTTOU] = "TTOU",   [SIGURG] = "URG",   [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ", [SIGPROF] = "PROF",
	[SIGWINCH] = "WINCH", [SIGIO] = "IO",     [SIGPWR] = "PWR",   [SIGSYS] = "SYS",
};

static struct skep_str text(const char *s, size_t most)
{
	uint32_t len = (uint32_t)strnlen(s, most);

	return (struct skep_str){ .ptr = s, .len = len, .total = len };
}

static int example_event(void *ctx, const void *data, size_t size)
{
	struct example *e = ctx;
	const struct example_event *event = data;
	const char *name = NULL;
	struct sent sent;

	if (size < sizeof(*event)) {
		e->host->lost(e->inst, STREAM_SIGNALS, SKEP_LOSS_KERNEL, 1);
		return 0;
	}
	if (event->signal > 0 && (size_t)event->signal < sizeof(names) / sizeof(names[0]))
		name = names[event->signal]; /* real-time signals have no name here */
	sent = (struct sent){
		.number = event->signal,
		.name = text(name ? name : "", 32),
		.sender_pid = event->sender_pid,
		.sender = text(event->sender, sizeof(event->sender)),
	};
	e->host->emit(e->inst, STREAM_SIGNALS, &(struct skep_upid) { .start_ns = event->start_ns, .pid = event->pid },
		      event->time_ns, &sent);
	return 0;
}

/* Reports lost events: the ring was full, or the program was already running on that CPU. */
static void example_losses(struct example *e)
{
	uint64_t lost = skep_program_misses(e->bpf->progs.signal_generate);
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(e->bpf->maps.lost), &zero, e->lost_now) == 0)
		for (int i = 0; i < e->cpus; i++)
			lost += e->lost_now[i];
	if (lost > e->lost) {
		e->host->lost(e->inst, STREAM_SIGNALS, SKEP_LOSS_KERNEL, lost - e->lost);
		e->lost = lost;
	}
}

/* ---- life ----------------------------------------------------------------------- */

static int example_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct example *e = state;

	e->host = host;
	e->inst = inst;
	e->cpus = libbpf_num_possible_cpus();
	if (e->cpus < 0)
		return host->fail(inst, e->cpus, "the number of CPUs cannot be read: %s", strerror(-e->cpus));
	e->lost_now = calloc((size_t)e->cpus, sizeof(*e->lost_now));
	if (!e->lost_now)
		return host->fail(inst, -ENOMEM, "out of memory");
	return 0;
}

static int example_start(struct skep_instance *inst, void *state)
{
	struct example *e = state;
	int err;

	e->bpf = example_bpf__open();
	if (!e->bpf)
		return e->host->fail(inst, -errno, "the BPF object cannot be opened: %s", strerror(errno));
	e->bpf->data->fatal_only = e->fatal_only;
	/* The plugin host's verdict map replaces the object's own, so that the program skips excluded processes. */
	err = skep_load_verdict(e->host, e->bpf->maps.verdict, &e->bpf->rodata->verdict_pids);
	if (err)
		return e->host->fail(inst, err, "the host's verdict map cannot be used: %s", strerror(-err));
	err = example_bpf__load(e->bpf);
	if (err)
		return skep_load_fail(inst, e->host, err, "loading the BPF object");
	err = example_bpf__attach(e->bpf);
	if (err)
		return e->host->fail(inst, err, "the tracepoint signal_generate cannot be attached to: %s",
				     strerror(-err));
	err = skep_drain_ring_begin(&e->ring, inst, e->host, bpf_map__fd(e->bpf->maps.events), example_event, e);
	if (err)
		return e->host->fail(inst, err, "the ring cannot be read: %s", strerror(-err));
	e->host->signal(inst, "process.signal", SKEP_SIGNAL_OK, "tp_btf/signal_generate", NULL);
	return 0;
}

static void example_sample(struct skep_instance *inst, void *state)
{
	(void)inst;
	example_losses(state);
}

static void example_flush(struct skep_instance *inst, void *state)
{
	struct example *e = state;

	(void)inst;
	(void)skep_drain_ring_now(&e->ring);
}

static int example_reload(struct skep_instance *inst, void *state, const void *next)
{
	struct example *e = state;

	(void)inst;
	e->bpf->data->fatal_only = ((const struct example *)next)->fatal_only;
	return 0;
}

static void example_stop(struct skep_instance *inst, void *state)
{
	struct example *e = state;

	(void)inst;
	example_bpf__detach(e->bpf);
	(void)skep_drain_ring_last(&e->ring);
	example_losses(e);
	skep_drain_ring_end(&e->ring, e->host);
}

static void example_close(struct skep_instance *inst, void *state)
{
	struct example *e = state;

	(void)inst;
	skep_drain_ring_end(&e->ring, e->host); /* needed after a start() that failed */
	example_bpf__destroy(e->bpf);
	free(e->lost_now);
}

static const struct skep_plugin example_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "example",
	.version = "1.0",
	.summary = "who sent which process a signal that ends it",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.n_streams = N_STREAMS,
	.streams = streams,
	.state_size = sizeof(struct example),
	.open = example_open,
	.start = example_start,
	.sample = example_sample,
	.reload = example_reload,
	.flush = example_flush,
	.stop = example_stop,
	.close = example_close,
};

SKEP_PLUGIN(example_plugin, SKEP_KIND_PROBE, "example", "1.0")
