/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/tune/tune_emit.c - writes what to ask for as a file that an engine or a scheduler accepts.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/base/text.h"
#include "cli/tune/tune.h"

#define MIB 1048576.0

/* What to ask for of one task's name; 0: no change. */
struct ask {
	const char *name;
	double cpus, mib, minutes;
	const struct analysis_group *group;
};

struct format {
	const char *name;
	const char *begin;
	void (*write)(FILE *, const struct ask *);
	const char *end;
};

/* The text between quotes of YAML ("") and Groovy (''); bytes that are no UTF-8 become text. */
static void quoted(FILE *f, const char *text, char quote)
{
	char *safe = text_safe(text, true);

	fputc(quote, f);
	for (const char *c = safe ? safe : ""; *c; c++) {
		if (*c == quote || *c == '\\')
			fputc('\\', f);
		fputc(*c, f);
	}
	fputc(quote, f);
	free(safe);
}

/* A comment of one line. */
static void comment(FILE *f, const char *sign, const struct ask *a)
{
	const struct analysis_size size = analysis_size_memory(a->group);
	char *safe = text_safe(a->name, true);

	fprintf(f, "%s %s: %zu execution%s in %zu run%s, confidence %s\n", sign, safe ? safe : "", size.n, size.n == 1 ? "" : "s",
		size.runs, size.runs == 1 ? "" : "s", tune_confidence(size.confidence));
	free(safe);
}

static void snakemake_threads(FILE *f, const struct ask *a)
{
	if (a->cpus > 0)
		fprintf(f, "  - \"%s=%.0f\"\n", a->name, a->cpus);
}

static void snakemake_resources(FILE *f, const struct ask *a)
{
	fprintf(f, "  - \"%s:mem_mb=%.0f\"\n", a->name, ceil(a->mib * MIB / 1e6));
	if (a->minutes > 0)
		fprintf(f, "  - \"%s:runtime=%.0f\"\n", a->name, a->minutes);
}

static void nextflow(FILE *f, const struct ask *a)
{
	comment(f, "    //", a);
	fputs("    withName: ", f);
	quoted(f, a->name, '\'');
	fputs(" {\n", f);
	if (a->cpus > 0)
		fprintf(f, "        cpus = %.0f\n", a->cpus);
	fprintf(f, "        memory = '%.0f MB'\n", a->mib);
	if (a->minutes > 0)
		fprintf(f, "        time = '%.0f min'\n", a->minutes);
	fputs("    }\n", f);
}

static void sbatch(FILE *f, const struct ask *a)
{
	comment(f, "#", a);
	if (a->cpus > 0)
		fprintf(f, "#SBATCH --cpus-per-task=%.0f\n", a->cpus);
	fprintf(f, "#SBATCH --mem=%.0fM\n", a->mib);
	if (a->minutes > 0)
		fprintf(f, "#SBATCH --time=%.0f\n", a->minutes);
}

static void k8s(FILE *f, const struct ask *a)
{
	comment(f, "#", a);
	fputs("- name: ", f);
	quoted(f, a->name, '"');
	fputs("\n  resources:\n    requests:\n", f);
	if (a->cpus > 0)
		fprintf(f, "      cpu: \"%.0f\"\n", a->cpus);
	fprintf(f, "      memory: \"%.0fMi\"\n    limits:\n      memory: \"%.0fMi\"\n", a->mib, a->mib);
}

/* Snakemake wants two lists. Its rules' names are identifiers; a job that is not named by its rule has none. */
static bool is_rule(const char *name)
{
	if (!isalpha((unsigned char)*name) && *name != '_')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static const struct format formats[] = {
	{ "snakemake", "set-threads:\n", snakemake_threads, "" },
	{ "nextflow", "process {\n", nextflow, "}\n" },
	{ "sbatch", "", sbatch, "" },
	{ "k8s", "containers:\n", k8s, "" },
};

bool tune_emit_known(const char *format)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
		if (strcmp(formats[i].name, format) == 0)
			return true;
	return false;
}

static struct ask ask_of(const struct analysis_group *g)
{
	const struct analysis_size cpus = analysis_size_cpus(g), memory = analysis_size_memory(g);
	const struct analysis_size walltime = analysis_size_walltime(g);

	return (struct ask){ .name = g->name, .cpus = cpus.value, .mib = memory.value / MIB, .group = g,
			     .minutes = g->requested_walltime_s > 0 ? ceil(walltime.value / 60) : 0 };
}

int tune_emit(const struct lake_report *r, const struct analysis *analysis, const struct tune_history *history,
	      const char *format, FILE *out, size_t *ret_n)
{
	const struct analysis_group *const *groups;
	const size_t n = analysis_groups(analysis, &groups);
	const struct format *f = formats;
	char *id = text_safe(r->run.id, false);
	size_t written = 0;

	if (!id)
		return -ENOMEM;
	while (strcmp(f->name, format) != 0)
		f++;
	fprintf(out, "%s skep tune --emit %s %s: from this run and %zu earlier one%s\n%s", f->write == nextflow ? "//" : "#",
		f->name, id, history->n, history->n == 1 ? "" : "s", f->begin);
	free(id);
	for (int pass = 0; pass < 1 + (f->write == snakemake_threads); pass++) {
		if (pass)
			fputs("set-resources:\n", out);
		for (size_t i = 0; i < n; i++) {
			const struct ask a = ask_of(groups[i]);

			if (a.mib <= 0 || (f->write == snakemake_threads && !is_rule(a.name)))
				continue;
			(pass ? snakemake_resources : f->write)(out, &a);
			written += !pass;
		}
	}
	fputs(f->end, out);
	*ret_n = written;
	return fflush(out) != 0 || ferror(out) ? (errno ? -errno : -EIO) : 0;
}
