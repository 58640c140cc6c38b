/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/re_read.c - finds files that a run reads again and again.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/finding.h"

enum { TIMES, SIZE, STORAGE, READERS };

/* What a process may have read of a file: whole, as often as it opened the file, but no more than it read at all. */
static double read_of(const struct lake_report *r, const struct lake_open *o)
{
	const struct lake_process *p = &r->processes[o->process];
	const double all = fmax((double)p->totals.rchar_bytes, (double)p->totals.read_bytes);
	const double opens = (double)(o->opens - (o->writes < o->opens ? o->writes : o->opens));

	return fmin(opens * (double)o->size_bytes, all);
}

/*
 * read_of() assumes that each open reads the whole file. The sum over an image's files may exceed the bytes that the
 * image read. Sets *ret, for each image, to the factor that scales read_of() down to those bytes. Small files are left
 * out: a program maps a library and reads little of it.
 */
static int shares(const struct lake_report *r, double least, double **ret)
{
	double *share = calloc(r->n_processes + 1, sizeof(*share));

	if (!share)
		return -ENOMEM;
	for (size_t i = 0; i < r->n_opens; i++)
		share[r->opens[i].process] += (double)r->opens[i].size_bytes >= least ? read_of(r, &r->opens[i]) : 0;
	for (size_t i = 0; i < r->n_processes; i++) {
		const struct lake_totals *t = &r->processes[i].totals;
		const double all = fmax((double)t->rchar_bytes, (double)t->read_bytes);

		share[i] = share[i] > all ? all / share[i] : 1;
	}
	*ret = share;
	return 0;
}

struct file {
	double size, read, storage, cpu_s;
	size_t readers;
	const struct lake_open *most;
};

static struct file file_of(const struct lake_report *r, const struct lake_open *o, size_t n, const double *share)
{
	struct file f = { 0 };
	double most = 0;

	for (size_t i = 0; i < n; i++) {
		const struct lake_totals *t = &r->processes[o[i].process].totals;
		const double all = fmax((double)t->rchar_bytes, (double)t->read_bytes);
		const double read = read_of(r, &o[i]) * share[o[i].process];

		f.size = fmax(f.size, (double)o[i].size_bytes);
		if (read <= 0)
			continue;
		f.readers += i == 0 || o[i].process != o[i - 1].process;
		f.read += read;
		f.storage += (double)t->read_bytes * read / all;
		f.cpu_s += (double)t->system_ns / 1e9 * read / all;
		if (read > most) {
			most = read;
			f.most = &o[i];
		}
	}
	return f;
}

static int find(struct analysis *a, const struct finding_kind *kind, const double *thresholds)
{
	const struct lake_report *r = a->report;
	double *share = NULL;
	int rc = shares(r, thresholds[SIZE] * MIB, &share);

	for (size_t i = 0, end; i < r->n_opens && rc == 0; i = end) {
		struct finding f = { .kind = kind, .severity = FINDING_NOTE, .confidence = FINDING_LOW };
		char size[FINDING_NUMBER], read[FINDING_NUMBER], storage[FINDING_NUMBER];
		const struct lake_process *p;
		struct file file;
		bool cold;

		for (end = i; end < r->n_opens && strcmp(r->opens[end].path, r->opens[i].path) == 0; end++)
			;
		file = file_of(r, r->opens + i, end - i, share);
		cold = file.read > 0 && file.storage >= thresholds[STORAGE] * file.read &&
		       (double)file.readers >= thresholds[READERS];
		f.value = file.size > 0 ? file.read / file.size : 0;
		if (!file.most || file.size < thresholds[SIZE] * MIB || f.value < (cold ? 2 : thresholds[TIMES]))
			continue;
		f.saving.cpu_s = file.cpu_s * (file.read - file.size) / file.read;
		if (!cold && !analysis_worth(a, f.saving.cpu_s))
			continue;
		p = &r->processes[file.most->process];
		f.threshold = thresholds[TIMES];
		f.of = *p->task ? FINDING_OF_TASK : FINDING_OF_TOOL;
		f.name = *p->task ? p->task : p->kind->tool;
		f.n = file.readers;
		f.process = p;
		f.evidence = finding_text("%s (%s) was read %.1f times over by %zu process%s: %s, %s of it from storage",
					  r->opens[i].path, finding_bytes(file.size, size), f.value, file.readers,
					  file.readers == 1 ? "" : "es", finding_bytes(file.read, read),
					  finding_bytes(file.storage, storage));
		f.advice = finding_text(file.readers > 1 ? "read it once for all of them (a pipe and tee), or run them one after another "
							   "while the page cache has it"
							 : "keep the needed part in memory, or read the file once from start to end");
		rc = finding_add_take(a, &f);
	}
	free(share);
	return rc;
}

const struct finding_kind finding_re_read = {
	.id = "re-read",
	.title = "a file is read again and again",
	.measures = "bytes read of a file by its size; needs `skep run --detail opens`",
	.unit = "1",
	.guards = "small files. Each open for reading counts as a read of the whole file, at most all bytes that the process read",
	.advice = "one reading for all readers, or readers that follow one another closely",
	.saving = "the system time of all reads but the first",
	.source = ANALYSIS_INFERRED,
	.thresholds = {
		[TIMES] = { "times", 3, "1", "own" },
		[SIZE] = { "size", 64, "MiBy", "own: smaller files cost no second" },
		[STORAGE] = { "storage", 0.80, "1", "own: this share came from storage, not from the page cache; then twice is enough" },
		[READERS] = { "readers", 3, "1", "own: and so many processes read it" },
	},
	.find = find,
};
