/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/files.c - the probe "files": which files processes open, and how long their calls on files take.
 *
 * Both are details.  While none is attached the probe has no program and no map in the kernel.
 */
#include <skep/clock.h>
#include <skep/types.h>
#include <stddef.h>
#include <stdio.h>

#include "state.h"

static int files_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	static const struct files_kind *const kinds[N_DETAILS] = {
		[DETAIL_OPENS] = &opens_kind,
		[DETAIL_FILELAT] = &filelat_kind,
	};
	struct files_probe *st = state;

	st->host = host;
	st->inst = inst;
	st->c_bad = host->counter(inst, "bad_records", "paths from the kernel that do not parse: a bug");
	for (unsigned i = 0; i < N_DETAILS; i++) {
		struct files_count *c = &st->of[i];
		char name[64];

		c->st = st;
		c->kind = kinds[i];
		c->stream = files_details[i].stream;
		snprintf(name, sizeof(name), "%s_paths_delayed", c->kind->name);
		c->c_delayed = host->counter(inst, name, "paths of files that were sent again: the ring was full");
		if (c->kind->begin)
			c->c_others = host->counter(inst, "filelat_other",
						    "calls in the row \"other\": too many files have a row of their own");
	}
	return 0;
}

static int files_start(struct skep_instance *inst, void *state)
{
	struct files_probe *st = state;
	const struct skep_kernel_types *types;
	int err = skep_types_get(inst, st->host, &types);

	if (err)
		return err;
	opens_kernel_ask(st, types);
	filelat_kernel_ask(st, types);
	skep_types_put(inst, st->host, types);
	for (unsigned i = 0; i < N_DETAILS; i++)
		st->of[i].kind->signal(st);
	st->host->drained(inst, skep_boot_ns());
	return 0;
}

/* drained() also without an attachment: the record of an ended process waits for it as soon as one is attached. */
static void files_sample(struct skep_instance *inst, void *state)
{
	struct files_probe *st = state;
	uint64_t now = skep_boot_ns();

	for (unsigned i = 0; i < N_DETAILS; i++)
		files_count_sample(&st->of[i]);
	st->host->drained(inst, now);
}

static void files_stop(struct skep_instance *inst, void *state)
{
	struct files_probe *st = state;

	(void)inst;
	for (unsigned i = 0; i < N_DETAILS; i++)
		files_count_close(&st->of[i]);
}

static const struct skep_option options[] = {
	{ .name = "opens_rows",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct files_probe, of[DETAIL_OPENS].opt_rows),
	  .default_value = "32768",
	  .min = 1024,
	  .max = 1 << 20,
	  .help = "detail opens: rows, one for each attachment, process and file; 150 bytes each while it is attached, "
		  "and the path" },
	{ .name = "opens_all",
	  .type = SKEP_O_BOOL,
	  .offset = offsetof(struct files_probe, opt_opens_all),
	  .default_value = "false",
	  .help = "detail opens: also directories, devices, pipes, /proc and /sys, not only files that hold data" },
	{ .name = "filelat_rows",
	  .type = SKEP_O_INT,
	  .offset = offsetof(struct files_probe, of[DETAIL_FILELAT].opt_rows),
	  .default_value = "2048",
	  .min = 64,
	  .max = 65536,
	  .help = "detail filelat: rows, one for each attachment, process, file and operation; 4 KiB each while it is "
		  "attached" },
	{ 0 },
};

static const struct skep_plugin files_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "files",
	.version = PACKAGE_VERSION,
	.summary = "on demand which files processes open, and how long their calls on files take",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(options[0]),
	.streams = files_streams,
	.n_streams = N_STREAMS,
	.state_size = sizeof(struct files_probe),
	.open = files_open,
	.start = files_start,
	.sample = files_sample,
	.stop = files_stop,
	.close = files_stop,
	.flush = files_sample,
	.details = files_details,
	.detail_size = sizeof(struct skep_detail),
	.n_details = N_DETAILS,
	.attach = files_attach,
	.detach = files_detach,
};
SKEP_PLUGIN(files_plugin, SKEP_KIND_PROBE, "files", PACKAGE_VERSION)
