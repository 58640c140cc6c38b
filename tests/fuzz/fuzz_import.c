/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_import.c - lines of any bytes, as `skep lake import` reads them: a line is refused with a message, or
 * is a row whose texts can be read.
 */
#include <errno.h>
#include <skep/record.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_texts(const struct lake_report *r)
{
	struct skep_upid upid;

	if (strlen(r->run.id) == 0)
		abort();
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_process *p = &r->processes[i];

		if (import_upid(p->upid, &upid) != 0 || upid.pid == 0)
			abort();
		for (size_t k = 0; p->argv && p->argv[k]; k++)
			(void)strlen(p->argv[k]);
		for (size_t k = 0; k < p->n_facets; k++)
			(void)strlen(p->facets[k].name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import_error error = { 0 };
	struct import_run run = { 0 };
	const char *line = (const char *)data, *end = line + size;

	for (const char *next; line < end; line = next) {
		const char *feed = memchr(line, '\n', (size_t)(end - line));
		size_t len = (size_t)((feed ? feed : end) - line);
		int err;

		next = feed ? feed + 1 : end;
		*error.text = '\0';
		err = import_row(&run, line, len, &error);
		if (err == -EINVAL && (!*error.text || error.column < 0))
			abort();
		if (!err && !run.following)
			read_texts(&run.report);
	}
	import_run_free(&run);
	return 0;
}
