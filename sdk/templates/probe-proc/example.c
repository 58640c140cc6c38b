/* SPDX-License-Identifier: Apache-2.0 */
/*
 * example - a probe that only reads files below /proc: how many files are open on this host, and the limit.  Replace
 * read_files() and the record by what you want to know.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <skep/clock.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The record: any struct of yours; the field table below describes its members. */
struct files {
	uint64_t open;
	uint64_t limit;
};

struct example {
	/* options: the plugin host fills them in before open() */
	const char *proc;
	int64_t every;

	/* the probe's own state: zero before open() */
	const struct skep_host *host;
	struct skep_counter *unreadable;
	int64_t skipped;
	int fd; /* fd + 1, as 0 is a valid fd and the plugin host zeroes the state before open() */
};

static const struct skep_option options[] = {
	{
		.name = "proc",
		.type = SKEP_O_STR,
		.offset = offsetof(struct example, proc),
		.default_value = "/proc",
		.help = "where the proc file system is",
	},
	{
		.name = "every",
		.type = SKEP_O_INT,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct example, every),
		.default_value = "1",
		.min = 1,
		.max = 3600,
		.help = "a record at each so manieth interval",
	},
	{ .name = NULL },
};

static const struct skep_field fields[] = {
	SKEP_FIELD(struct files, open, "system.files.open", SKEP_T_U64, SKEP_S_GAUGE, "{file}",
		   "files that are open on this host"),
	SKEP_FIELD(struct files, limit, "system.files.limit", SKEP_T_U64, SKEP_S_GAUGE, "{file}",
		   "files that may be (fs.file-max)"),
};

enum { STREAM_FILES, N_STREAMS };

static const struct skep_stream files_stream =
	SKEP_STREAM(struct files, fields, "example.files", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "open files of the host, at intervals");

static const struct skep_stream *const streams[N_STREAMS] = { [STREAM_FILES] = &files_stream };

/* Reads "1184  0  9223372036854775807": in use, free (always 0 since 2.6), limit. Returns 0, or a negative errno. */
static int read_files(int fd, struct files *ret)
{
	char text[128];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n < 0)
		return -errno;
	text[n] = '\0';
	return sscanf(text, "%" SCNu64 " %*s %" SCNu64, &ret->open, &ret->limit) == 2 ? 0 : -EBADMSG;
}

static int example_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct example *e = state;

	e->host = host;
	e->unreadable = host->counter(inst, "unreadable", "times that file-nr could not be read");
	if (e->proc[0] != '/')
		return host->fail(inst, -EINVAL, "proc is \"%s\"; give an absolute path, such as \"/proc\"", e->proc);
	return 0;
}

static int example_start(struct skep_instance *inst, void *state)
{
	struct example *e = state;
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s/sys/fs/file-nr", e->proc);
	int fd = n < (int)sizeof(path) ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	if (fd < 0)
		return e->host->fail(inst, -errno, "%s: %s; is proc mounted there?", path, strerror(errno));
	e->fd = fd + 1;
	e->host->signal(inst, "example.files", SKEP_SIGNAL_OK, "proc/sys/fs/file-nr", NULL);
	return 0;
}

static void example_sample(struct skep_instance *inst, void *state)
{
	struct example *e = state;
	struct files files;

	if (++e->skipped < e->every)
		return;
	e->skipped = 0;
	if (read_files(e->fd - 1, &files) < 0)
		e->host->counter_add(e->unreadable, 1);
	else
		e->host->emit(inst, STREAM_FILES, NULL, skep_boot_ns(), &files);
}

/* Only options with SKEP_OPT_RELOADABLE have changed. The plugin host writes them into the state after this call. */
static int example_reload(struct skep_instance *inst, void *state, const void *next)
{
	(void)inst;
	(void)state;
	(void)next;
	return 0;
}

static void example_stop(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
}

/* The plugin host calls it also after an open() or start() that failed. */
static void example_close(struct skep_instance *inst, void *state)
{
	struct example *e = state;

	(void)inst;
	if (e->fd)
		close(e->fd - 1);
}

static const struct skep_plugin example_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "example",
	.version = "1.0",
	.summary = "how many files are open on this host",
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
	.stop = example_stop,
	.close = example_close,
};

SKEP_PLUGIN(example_plugin, SKEP_KIND_PROBE, "example", "1.0")
