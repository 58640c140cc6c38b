/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: a line of the control socket of any bytes.  Besides memory errors it looks
 * for broken promises: a refusal without words or with words that are no line of UTF-8, a
 * request out of its bounds.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/control/control_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define promise(condition)       \
	do {                     \
		if (!(condition)) \
			abort(); \
	} while (0)

static void check(const struct control_request *r)
{
	promise(r->what >= CONTROL_STATUS && r->what <= CONTROL_LAST);
	promise(r->name && r->json);
	promise(r->for_ns <= CONTROL_FOR_MOST_NS);
	promise(r->level == 0 || control_level_name(r->level));
	if (r->what == CONTROL_DETACH)
		promise(r->id > 0);
	promise(r->pid <= INT32_MAX);
	if (r->what == CONTROL_RUN_BEGIN) {
		promise(r->pid != 0 && json_array_size(r->argv) > 0);
		promise(!r->run_name || strlen(r->run_name) <= CONTROL_NAME_MOST);
		promise(!r->sink || strlen(r->sink) <= CONTROL_NAME_MOST);
	}
	if (r->what == CONTROL_RUN_RESUME || r->what == CONTROL_RUN_END)
		promise(r->run && *r->run && strlen(r->run) <= CONTROL_NAME_MOST);
	if (r->what == CONTROL_LAKE_COPY)
		promise(!r->run || strlen(r->run) <= CONTROL_NAME_MOST);
	if (r->what == CONTROL_RUN_END)
		promise(r->status <= 0xffff && r->cpu_ns <= INT64_MAX);
	if (r->what != CONTROL_ATTACH)
		return;
	promise(r->detail && *r->detail);
	promise((r->scope == SKEP_SCOPE_GROUP) == (r->run != NULL));
	promise((r->scope == SKEP_SCOPE_CGROUP) == (r->cgroup != NULL));
	promise((r->scope == SKEP_SCOPE_PID) == (r->pid != 0));
	promise(r->pid <= INT32_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct control_request request;
	char why[CONTROL_WHY_SIZE];
	json_t *words;
	int err;

	memset(why, 'x', sizeof(why));
	err = control_request_parse((const char *)data, size, &request, why);
	if (err == 0) {
		check(&request);
		control_request_clear(&request);
		return 0;
	}
	promise(err == -EINVAL);
	promise(memchr(why, '\0', sizeof(why)) && *why);
	for (const char *c = why; *c; c++)
		promise((unsigned char)*c >= 0x20 && *c != 0x7f);
	words = json_string(why);
	promise(words);
	json_decref(words);
	return 0;
}
