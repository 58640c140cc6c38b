/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/files/filelat.c - the detail "filelat": the record of a row, and the rows "other" of files without a row of
 * their own.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <skep/values.h>

#include "state.h"

static bool filelat_record(const struct skep_file_row *row, const void *value, struct files_record *ret)
{
	const struct filelat_row *reported = (const struct filelat_row *)row->reported, *now = value;
	struct filelat_record *rec = &ret->filelat;

	*rec = (struct filelat_record){
		.path = row->key.pid ? skep_file_row_path(row) : skep_text("other"),
		.operation = skep_text(filelat_op_names[row->key.what < FILELAT_OPS ? row->key.what : FILELAT_NONE]),
		.bytes = now->bytes - reported->bytes,
		.errors = now->errors - reported->errors,
		.sum_ns = now->sum_ns - reported->sum_ns,
	};
	for (unsigned k = 0; k < SKEP_HIST_SLOTS; k++) {
		ret->slots[k] = now->slots[k] - reported->slots[k];
		rec->calls += ret->slots[k];
	}
	rec->duration = (struct skep_hist){ .slots = ret->slots, .n = SKEP_HIST_SLOTS, .sum = rec->sum_ns };
	return rec->calls > 0;
}

/* The rows "other", before files take all rows. */
static int filelat_begin(struct files_count *c, uint32_t group)
{
	int err = 0;

	for (uint32_t op = FILELAT_NONE + 1; op < FILELAT_OPS && !err; op++) {
		const struct skep_file_key key = { .group = group, .what = op };
		struct filelat_row row = { .head = { .id = ++c->last_id, .sent = 1 } };

		if (!skep_filetable_get(&c->table, row.head.id, &key))
			return -ENOMEM;
		err = bpf_map_update_elem(c->kernel.rows, &key, &row, BPF_NOEXIST);
	}
	return err;
}

const struct files_kind filelat_kind = {
	.name = "filelat",
	.row_size = sizeof(struct filelat_row),
	.load = filelat_load,
	.unload = filelat_unload,
	.misses = filelat_misses,
	.signal = filelat_signal,
	.begin = filelat_begin,
	.record = filelat_record,
};
