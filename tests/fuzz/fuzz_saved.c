/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_saved.c - saved state of any bytes, behind a valid head or none, in two chunks. skepd accepts or
 * refuses it without a crash, and every accepted process can be claimed and freed.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/process/saved.h"
#include "tests/unit/track_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The head: its version; the boot id: a text of 4 bytes. */
#define HEAD "\1\1\2\0\2\4\4boot"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head = size && data[0] % 4 ? sizeof(HEAD) - 1 : 0, first;
	struct fixture f;
	char *chunk, why[128];

	if (size == 0 || size > 65536)
		return 0;
	log_level(SKEP_LOG_ERROR - 1); /* it warns of damaged findings */
	chunk = malloc(head + size);
	if (!chunk)
		abort();
	memcpy(chunk, HEAD, head);
	memcpy(chunk + head, data + 1, size - 1);
	first = head + (size - 1) * (data[0] / 4) / 64; /* data[0] also says where the second chunk begins */
	fixture_open(&f, false, 100 * SECOND);
	if (saved_read(f.track, chunk, first, why, sizeof(why)) == 0 &&
	    saved_read(f.track, chunk + first, head + size - 1 - first, why, sizeof(why)) == 0 &&
	    saved_read_end(f.track) == 0) {
		saved_restore(f.track, 100 * SECOND);
		for (uint32_t pid = 1; f.track->saved && pid < 20; pid++)
			tell_live(&f, 100 * SECOND + pid, pid, 5, 1, 0, 100, 0);
		track_sweep_begin(f.track, 101 * SECOND, 101 * SECOND);
		track_sweep_end(f.track, true, 101 * SECOND);
		saved_settle(f.track, 101 * SECOND);
	}
	fixture_close(&f);
	free(chunk);
	return 0;
}
