/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/vmstat.c - /proc/vmstat: lines "name value", which depend on the kernel.
 */
#include "vmstat.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

enum unit { PAGES, KIB, COUNT };

/* Several lines may add up to one number. A name that ends in '*' is a prefix: the kernel has one line a zone. */
static const struct {
	const char *name;
	enum vm_field field;
	enum unit unit;
} lines[] = {
	{ "pgpgin", VM_IN, KIB }, /* sectors / 2, since 2.6 */
	{ "pgpgout", VM_OUT, KIB },
	{ "pswpin", VM_SWAP_IN, PAGES },
	{ "pswpout", VM_SWAP_OUT, PAGES },
	{ "pgfault", VM_FAULTS, COUNT },
	{ "pgmajfault", VM_MAJOR_FAULTS, COUNT },
	{ "allocstall_*", VM_STALLS, COUNT },
	{ "pgscan_direct", VM_DIRECT_SCANNED, PAGES },
	{ "pgsteal_direct", VM_DIRECT_RECLAIMED, PAGES },
	{ "pgscan_kswapd", VM_BACKGROUND_SCANNED, PAGES },
	{ "pgscan_khugepaged", VM_BACKGROUND_SCANNED, PAGES }, /* since 6.2 */
	{ "pgsteal_kswapd", VM_BACKGROUND_RECLAIMED, PAGES },
	{ "pgsteal_khugepaged", VM_BACKGROUND_RECLAIMED, PAGES },
	{ "workingset_refault_file", VM_FILE_REFAULTS, PAGES }, /* since 5.9 */
	{ "workingset_refault_anon", VM_ANON_REFAULTS, PAGES },
};

static bool fits(const char *line, size_t len, const char *name)
{
	size_t n = strlen(name);

	if (name[n - 1] == '*')
		return len >= n - 1 && memcmp(line, name, n - 1) == 0;
	return len == n && memcmp(line, name, n) == 0;
}

int vmstat_read(FILE *f, uint64_t page_size, struct vm *ret)
{
	struct vm vm = { .begun = true };
	char line[256];

	rewind(f);
	while (fgets(line, sizeof(line), f)) {
		size_t len = strcspn(line, " ");
		uint64_t value;

		for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
			if (!fits(line, len, lines[i].name) || sscanf(line + len, "%" SCNu64, &value) != 1)
				continue;
			vm.v[lines[i].field] += lines[i].unit == PAGES ? value * page_size
						: lines[i].unit == KIB ? value * 1024
								       : value;
			vm.have |= 1u << lines[i].field;
			break;
		}
	}
	if (ferror(f)) {
		clearerr(f);
		return -EIO;
	}
	if (!vm.have)
		return -EBADMSG;
	*ret = vm;
	return 0;
}
