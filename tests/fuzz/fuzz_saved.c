/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_saved.c - saved state of any bytes, behind a valid head or none. skepd accepts or refuses it without
 * a crash, and every accepted process can be claimed and freed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/process/saved.h"
#include "core/base/log.h"
#include "tests/unit/track_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD "{\"skep_carry\":1,\"boot_id\":\"boot\"}\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = size && data[0] % 4 ? sizeof(HEAD) - 1 : 0;
	struct fixture f;
	char *text;
	FILE *file;

	if (size == 0 || size > 65536)
		return 0;
	log_level(SKEP_LOG_ERROR - 1); /* it warns of each refused line */
	text = malloc(head + size);
	if (!text)
		abort();
	memcpy(text, HEAD, head);
	memcpy(text + head, data + 1, size - 1);
	file = fmemopen(text, head + size - 1 ? head + size - 1 : 1, "r");
	if (!file)
		abort();
	fixture_open(&f, false, 100 * SECOND);
	if (saved_read(f.track, file, "fuzz", "boot") != 0)
		abort();
	for (uint32_t pid = 1; f.track->saved && pid < 20; pid++)
		tell_live(&f, 100 * SECOND + pid, pid, 5, 1, 0, 100, 0);
	fclose(file);
	fixture_close(&f);
	free(text);
	return 0;
}
