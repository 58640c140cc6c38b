/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_findings.c - any lines that a plugin under `skep-dev check` may write into the pipe of its findings.
 * No crash; each accepted finding counts once, and the findings read equal the findings written.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/dev/findings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int condition, const char *what)
{
	if (!condition) {
		fprintf(stderr, "fuzz_findings: %s\n", what);
		abort();
	}
}

static void take_all(struct findings *f, FILE *in)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, in) > 0) {
		size_t before = f->n;
		int taken;

		line[strcspn(line, "\n")] = '\0';
		taken = findings_take(f, line);
		must(f->n <= before + (taken != 0), "more than the line");
	}
	free(line);
}

static void counts_right(const struct findings *f)
{
	size_t errors = 0, warnings = 0;

	for (size_t i = 0; i < f->n; i++) {
		errors += f->at[i].severity == FINDING_ERROR;
		warnings += f->at[i].severity == FINDING_WARNING;
		must(f->at[i].check && f->at[i].text && finding_severity_name(f->at[i].severity), "half a finding");
	}
	must(errors == f->errors && warnings == f->warnings, "errors or warnings are miscounted");
}

/* As a child writes it into its pipe. */
static void told_again(const struct findings *f)
{
	int fd = memfd_create("findings", MFD_CLOEXEC);
	struct findings written, again;
	FILE *in = NULL;

	must(fd >= 0, "no memory file");
	findings_init(&written, fd);
	for (size_t i = 0; i < f->n; i++)
		findings_add(&written, f->at[i].severity, f->at[i].check, "%s", f->at[i].text);
	must(lseek(fd, 0, SEEK_SET) == 0 && (in = fdopen(fd, "r")), "cannot read it");
	findings_init(&again, -1);
	take_all(&again, in);
	counts_right(&again);
	must(again.n <= f->n, "more than were written");
	fclose(in);
	findings_clear(&again);
	findings_clear(&written);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct findings f;
	FILE *in;

	if (size == 0)
		return 0;
	in = fmemopen((void *)(uintptr_t)data, size, "r");
	must(in != NULL, "no stream");
	findings_init(&f, -1);
	take_all(&f, in);
	fclose(in);
	counts_right(&f);
	told_again(&f);
	findings_clear(&f);
	return 0;
}
