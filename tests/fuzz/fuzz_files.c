/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/fuzz/fuzz_files.c - records of a ring become paths of files (skep/filetable.h): nothing is read beyond the
 * input, and an accepted record has a row with a path.
 */
#include <errno.h>
#include <skep/filetable.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct skep_filetable t = { .value_size = 8 };
	int err = skep_filetable_path(&t, data, size);

	if (err != 0 && err != -EBADMSG)
		abort();
	if ((err == 0) != (t.n == 1))
		abort();
	for (size_t i = 0; i < t.room; i++)
		if (t.at[i] && (!t.at[i]->path || strlen(t.at[i]->path) > 8192 + 4096))
			abort();
	skep_filetable_free(&t);
	return 0;
}
