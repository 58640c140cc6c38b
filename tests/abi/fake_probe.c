/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/fake_probe.c - the plugin "fake": a probe that emits what a script says, so
 * that everything behind the ABI can be tested without privileges.
 *
 * A script has one thing a line, in order of time; # begins a comment:
 *
 *     WHEN WHAT [KEY=VALUE]...
 *
 *     0      sweep_begin
 *     0      live   pid=1 start=0 exe=/sbin/init argv="init\0splash\0" rss_bytes=4MiB
 *     0      sweep_end
 *     5ms    fork   pid=100 parent=1 uid=1000 comm=sh
 *     6ms    exec   pid=100 parent=1 exe=/usr/bin/samtools argv="samtools\0sort\0a b.bam\0"
 *     7ms    facet  pid=100 widgets=3 temperature=36.6
 *     7ms    event  pid=100 text="said \"hello\""
 *     +2s    exit   pid=100 code=3 maxrss_bytes=10MiB
 *     +1ms   final  pid=100 code=3 cpu_ns=1500ms
 *     +0     drained
 *     +0     lost   stream=exec n=5 where=kernel
 *     +0     sleep  for=20ms
 *
 * WHEN is the time since the script began (option "base", or when start() ran), or since
 * the line before (+); it is the record's time, and the line is played then.  What:
 *   fork exec exit final live oom   process records; keys are the members of the structs in
 *                      skep/record.h (counters' without "counters."), and code=, signal=
 *   facet              stream "fake.facet": widgets (delta), temperature (gauge)
 *   event              stream "fake.event": text; pid= may be missing
 *   sweep_begin, sweep_end [complete=0]
 *   drained [at=TIME]  everything up to then (default: WHEN) was emitted
 *   lost stream=WHAT n=N [where=kernel|queue|spool|sink]
 *   sleep for=TIME     the callback blocks: a plugin over its budget
 * pid= is the record's process, start= its start (since the beginning).
 * Without start=, a fork starts its process at WHEN; another record uses the pid's last start, or WHEN.
 * parent= is a pid, whose start is found likewise; 0 is none.
 * Values: numbers with ns us ms s m B KiB MiB GiB; text plain or "quoted" with \0 \n \t
 * \" \\ \xHH.  argv goes through host->redact() as a real probe's does.
 *
 * flush() plays the rest at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/abi/fake_script.h"

struct fake {
	/* options */
	const char *script;
	const char *fail_while;
	uint64_t base_ns;
	bool auto_drained;
	bool drains;
	/* state */
	const struct skep_host *host;
	struct fake_line *lines, *next;
	struct skep_timer *timer;
	struct skep_counter *played;
};

static const struct skep_option fake_options[] = {
	{ .name = "script",
	  .type = SKEP_O_STR,
	  .flags = SKEP_OPT_REQUIRED,
	  .offset = offsetof(struct fake, script),
	  .help = "file that says what to emit when" },
	{ .name = "base",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct fake, base_ns),
	  .default_value = "0s",
	  .help = "boot time at which the script begins; 0: when the probe starts" },
	{ .name = "auto_drained",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct fake, auto_drained),
	  .default_value = "true",
	  .help = "after each turn say that everything up to then was emitted" },
	{ .name = "drains",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct fake, drains),
	  .default_value = "false",
	  .help = "drain() says that everything up to now was emitted" },
	{ .name = "fail_while",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct fake, fail_while),
	  .help = "start() fails as long as this file is there" },
	{ .name = NULL },
};

static uint64_t fake_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void fake_sleep(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };

	while (nanosleep(&ts, &ts) < 0 && errno == EINTR)
		;
}

static void fake_redact(struct skep_instance *inst, struct fake *fake, struct skep_process_exec *exec)
{
	/* The probe owns the memory: ptr is const for receivers. */
	char *argv = (char *)(uintptr_t)exec->argv.ptr;

	if (exec->argv.len > 0)
		fake->host->redact(inst, exec->exe.ptr ? exec->exe.ptr : "", argv, &exec->argv.len);
	exec->argv.total = exec->argv.len;
}

static void fake_play_line(struct skep_instance *inst, struct fake *fake, struct fake_line *line)
{
	const struct fake_order *order = line->record;
	const struct skep_host *host = fake->host;

	switch (line->what) {
	case FAKE_SWEEP_BEGIN:
		host->sweep_begin(inst, fake->base_ns + line->when_ns);
		break;
	case FAKE_SWEEP_END:
		host->sweep_end(inst, order->complete != 0);
		break;
	case FAKE_DRAINED:
		host->drained(inst, fake->base_ns + order->at_ns);
		break;
	case FAKE_LOST:
		host->lost(inst, order->stream, (enum skep_loss)order->where, order->n);
		break;
	case FAKE_SLEEP:
		fake_sleep(order->for_ns);
		break;
	case FAKE_EXEC:
		fake_redact(inst, fake, line->record);
		/* fall through */
	default:
		host->emit(inst, line->what, line->who.pid != 0 ? &line->who : NULL, fake->base_ns + line->when_ns,
			   line->record);
		host->counter_add(fake->played, 1);
		break;
	}
}

/* Plays everything up to `until` (since the beginning). */
static void fake_play(struct skep_instance *inst, struct fake *fake, uint64_t until)
{
	while (fake->next && fake->next->when_ns <= until) {
		struct fake_line *line = fake->next;

		fake->next = line->next;
		fake_play_line(inst, fake, line);
	}
}

static void fake_tick(struct skep_instance *inst, void *arg);

/* Sets a timer for the next line, if there is one. */
static int fake_arm(struct skep_instance *inst, struct fake *fake, uint64_t elapsed)
{
	uint64_t wait;

	fake->host->timer_close(fake->timer);
	fake->timer = NULL;
	if (!fake->next)
		return 0;
	wait = fake->next->when_ns > elapsed ? fake->next->when_ns - elapsed : 0;
	return fake->host->timer(inst, (wait + 999999) / 1000000, 0, fake_tick, fake, &fake->timer);
}

/* With a base other than now the script runs as fast as possible: its times are only names. */
static uint64_t fake_elapsed(const struct fake *fake)
{
	uint64_t now = fake_now();

	return now > fake->base_ns ? now - fake->base_ns : 0;
}

static void fake_tick(struct skep_instance *inst, void *arg)
{
	struct fake *fake = arg;
	uint64_t elapsed = fake_elapsed(fake);
	int err;

	fake_play(inst, fake, elapsed);
	if (fake->auto_drained)
		fake->host->drained(inst, fake->base_ns + elapsed);
	err = fake_arm(inst, fake, elapsed);
	if (err < 0)
		fake->host->fail(inst, err, "no timer for the next line: %s", strerror(-err));
}

static int fake_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct fake *fake = state;
	char why[1024];
	int err;

	fake->host = host;
	err = fake_script_read(fake->script, &fake->lines, why, sizeof(why));
	if (err < 0)
		return host->fail(inst, err, "%s", why);
	fake->next = fake->lines;
	fake->played = host->counter(inst, "fake.played", "lines of the script that were records");
	return 0;
}

static int fake_start(struct skep_instance *inst, void *state)
{
	struct fake *fake = state;
	int err;

	if (fake->fail_while && access(fake->fail_while, F_OK) == 0)
		return fake->host->fail(inst, -EBUSY, "%s is there; remove it", fake->fail_while);
	if (fake->base_ns == 0)
		fake->base_ns = fake_now();
	fake_script_base(fake->lines, fake->base_ns);
	err = fake_arm(inst, fake, fake_elapsed(fake));
	if (err < 0)
		return fake->host->fail(inst, err, "no timer: %s", strerror(-err));
	return 0;
}

static void fake_drain(struct skep_instance *inst, void *state)
{
	const struct fake *fake = state;

	if (fake->drains)
		fake->host->drained(inst, fake_now());
}

static void fake_flush(struct skep_instance *inst, void *state)
{
	struct fake *fake = state;
	uint64_t until = fake_elapsed(fake);

	for (const struct fake_line *line = fake->next; line; line = line->next)
		if (line->when_ns > until)
			until = line->when_ns;
	fake_play(inst, fake, UINT64_MAX);
	fake->host->drained(inst, fake->base_ns + until);
	fake->host->timer_close(fake->timer);
	fake->timer = NULL;
}

static void fake_stop(struct skep_instance *inst, void *state)
{
	struct fake *fake = state;

	(void)inst;
	fake->host->timer_close(fake->timer);
	fake->timer = NULL;
}

static void fake_close(struct skep_instance *inst, void *state)
{
	struct fake *fake = state;

	(void)inst;
	fake->lines = fake->next = fake_script_free(fake->lines);
}

static const struct skep_plugin fake_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "fake",
	.version = "1.0",
	.summary = "emits scripted records, for tests",
	.license = "Apache-2.0",
	.options = fake_options,
	.option_size = sizeof(struct skep_option),
	.n_streams = FAKE_N_STREAMS,
	.streams = fake_streams,
	.state_size = sizeof(struct fake),
	.open = fake_open,
	.start = fake_start,
	.stop = fake_stop,
	.close = fake_close,
	.flush = fake_flush,
	.drain = fake_drain,
};

SKEP_PLUGIN(fake_plugin, SKEP_KIND_PROBE, "fake", "1.0")
