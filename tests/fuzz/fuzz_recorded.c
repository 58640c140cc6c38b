/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_recorded.c - a recorded file of any bytes, as `skep filter test FILE` reads it: rules on every kind
 * of field evaluate each accepted process, and the command prints it.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/filter/filter_processes.h"
#include "core/rules/rules_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RULES \
	"{\"rules\":[{\"id\":\"a\",\"when\":\"any parent.tool = 'make' and not wrapper\",\"verdict\":\"exclude\",\"inherit\":true}," \
	"{\"id\":\"b\",\"when\":\"argv matches '^x+y' or uid > 3 or cgroup glob '*a*' or container = ''\",\"verdict\":{\"sample\":3}}]}"

static struct ruleset *rules(void)
{
	struct ruleset *set = ruleset_new(&rule_fields_schema, RULE_INCLUDE);
	struct diag diag;

	diag_init(&diag);
	if (!set || rules_parse(RULES, sizeof(RULES) - 1, "rules", &diag, set) != 0)
		abort();
	diag_clear(&diag);
	return set;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ruleset *set;
	static FILE *quiet;
	struct filter_processes processes;
	char path[64];
	int fd;

	if (size > 65536)
		return 0;
	if (!set)
		set = rules();
	/* It would print too much about invalid lines; a sanitizer's report goes to descriptor 2, which stays open. */
	if (!quiet) {
		quiet = fopen("/dev/null", "w");
		if (!quiet)
			abort();
		stderr = quiet;
	}
	fd = memfd_create("recorded", MFD_CLOEXEC);
	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (processes_recorded("fuzz", path, &processes) == 0) {
		processes_evaluate(&processes, set);
		for (size_t i = 0; i < processes.n; i++) {
			json_t *o = process_json(&processes.at[i]);

			if (!o)
				abort();
			json_decref(o);
		}
		processes_free(&processes);
	}
	close(fd);
	return 0;
}
