/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/host.c - the probe "host": counters of the machine as a whole, and the host's side of the ledger.
 *
 * The probe attaches no hook. It reads the kernel's counters from /proc and /sys each interval, which takes 80 us on a
 * small machine.  One counter is in no file: a BPF program that user space runs reads it (task_time.h). Without the
 * privilege to load that program the ledger lacks the item "wakeup".
 */
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const paths[N_FILES] = {
	[FILE_STAT] = "proc/stat",
	[FILE_LOADAVG] = "proc/loadavg",
	[FILE_MEMINFO] = "proc/meminfo",
	[FILE_VMSTAT] = "proc/vmstat",
	[FILE_DISKSTATS] = "proc/diskstats",
	/* of process 1: the host's network namespace, even if skepd runs in another one */
	[FILE_NET] = "proc/1/net/dev",
};

void host_signal(struct skep_instance *inst, const struct host_probe *st, const char *name,
		 enum skep_signal_state state, const char *how, const char *why)
{
	st->host->signal(inst, name, state, how, why);
}

void host_bad_line(const struct host_probe *st, uint64_t n)
{
	if (n)
		st->host->counter_add(st->bad_lines, n);
}

void host_post(struct skep_instance *inst, const struct host_probe *st, uint64_t time_ns, const char *account,
	       const char *item, int64_t amount, uint64_t flags)
{
	st->host->emit(inst, STREAM_LEDGER, NULL, time_ns,
		       &(struct skep_ledger_post){
			       .account = skep_text(account),
			       .item = skep_text(item),
			       .amount = amount,
			       .flags = flags,
		       });
}

bool host_read(struct host_probe *st, int file, struct text *ret)
{
	return st->file[file] >= 0 && skep_text_read(&st->buffer, st->file[file], ret) == 0;
}

static int host_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct host_probe *st = state;
	int err;

	st->host = host;
	st->root = -1;
	for (int i = 0; i < N_FILES; i++)
		st->file[i] = -1;
	if (!st->opt_root || st->opt_root[0] != '/')
		return host->fail(inst, -EINVAL, "option root: \"%s\" is not an absolute path",
				  st->opt_root ? st->opt_root : "");
	st->root = open(st->opt_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (st->root < 0) {
		err = -errno;
		return host->fail(inst, err, "option root: %s: %s", st->opt_root, strerror(-err));
	}

	st->bad_lines =
		host->counter(inst, "bad_lines", "malformed lines in files of the kernel, left out");
	st->cpu_changes =
		host->counter(inst, "cpu_changes", "intervals in which CPUs went online or offline, or a clock was wrong");
	st->stale = host->counter(inst, "filesystems_stale",
				  "times that a file system did not answer in time, or with an error");
	st->left_out = host->counter(inst, "left_out", "devices, interfaces, mounts and sensors beyond the probe's limits");
	return 0;
}

static void open_files(struct host_probe *st)
{
	for (int i = 0; i < N_FILES; i++)
		st->file[i] = openat(st->root, paths[i], O_RDONLY | O_CLOEXEC);
	if (st->file[FILE_NET] < 0)
		st->file[FILE_NET] = openat(st->root, "proc/net/dev", O_RDONLY | O_CLOEXEC);
}

static int host_start(struct skep_instance *inst, void *state)
{
	struct host_probe *st = state;
	int err;

	open_files(st);
	err = cpu_start(inst, st);
	if (err)
		return err;
	memory_start(inst, st);
	disk_start(inst, st);
	network_start(inst, st);
	err = filesystem_start(inst, st);
	if (!err)
		err = sensor_start(inst, st);
	return err;
}

/* The streams of differences since the last sample. */
static uint64_t count(struct skep_instance *inst, struct host_probe *st)
{
	uint64_t now_ns;

	cpu_sample(inst, st); /* first: the posts of other probes to the account "cpu" are as old */
	now_ns = skep_boot_ns();
	network_sample(inst, st, now_ns);
	memory_sample(inst, st, now_ns);
	disk_sample(inst, st, now_ns);
	return now_ns;
}

static void host_sample(struct skep_instance *inst, void *state)
{
	struct host_probe *st = state;
	uint64_t now_ns = count(inst, st);

	filesystem_sample(inst, st, now_ns);
	sensor_sample(inst, st, now_ns);
}

/* A run ends: the ledger must not be an interval old. */
static void host_flush(struct skep_instance *inst, void *state)
{
	struct host_probe *st = state;

	cpu_sample(inst, st);
	network_sample(inst, st, skep_boot_ns());
}

/* Reports the last interval, which is shorter than the others. */
static void host_stop(struct skep_instance *inst, void *state)
{
	count(inst, state);
	filesystem_close(state); /* no thread of a plugin may live after stop() */
}

static void host_close(struct skep_instance *inst, void *state)
{
	struct host_probe *st = state;

	(void)inst;
	filesystem_close(st);
	sensor_close(st);
	device_table_free(&st->disks);
	device_table_free(&st->interfaces);
	cpu_close(st);
	skep_text_buffer_free(&st->buffer);
	if (!st->host)
		return; /* open() has not run: file[] and root hold no descriptors */
	for (int i = 0; i < N_FILES; i++)
		if (st->file[i] >= 0)
			close(st->file[i]);
	if (st->root >= 0)
		close(st->root);
}

static const struct skep_option options[] = {
	{ .name = "root",
	  .type = SKEP_O_STR,
	  .offset = offsetof(struct host_probe, opt_root),
	  .default_value = "/",
	  .help = "the folder with the host's proc and sys: \"/host\" in a container that mounts them there" },
	{ .name = "per_cpu",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct host_probe, opt_per_cpu),
	  .default_value = "false",
	  .help = "report host.cpu for each CPU as well" },
	{ .name = "filesystems",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct host_probe, opt_filesystems),
	  .default_value = "10s",
	  .help = "how often the probe calls statvfs on local file systems; 0s: never, on no file system" },
	{ .name = "network_filesystems",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct host_probe, opt_network_filesystems),
	  .default_value = "60s",
	  .help = "how often the probe does this on file systems that ask a server (nfs, lustre, fuse, ...); 0s: "
		  "never" },
	{ .name = "filesystem_timeout",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct host_probe, opt_filesystem_timeout),
	  .default_value = "5s",
	  .help = "how long statvfs may take before the probe reports the file system as stale" },
	{ .name = "sensors",
	  .type = SKEP_O_TIME,
	  .offset = offsetof(struct host_probe, opt_sensors),
	  .default_value = "30s",
	  .help = "how often the probe reads temperatures and energy; 0s: never" },
	{ 0 },
};

static const struct skep_plugin host_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "host",
	.version = PACKAGE_VERSION,
	.summary = "the machine: CPUs, memory, disks, file systems, network",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = host_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct host_probe),
	.open = host_open,
	.start = host_start,
	.sample = host_sample,
	.stop = host_stop,
	.close = host_close,
	.flush = host_flush,
};
SKEP_PLUGIN(host_plugin, SKEP_KIND_PROBE, "host", PACKAGE_VERSION)
