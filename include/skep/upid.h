/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/upid.h - a process identity as text: "<first 8 of boot id>-<pid>-<start, hex>".
 */
#ifndef SKEP_UPID_H
#define SKEP_UPID_H

#include <skep/record.h>
#include <string.h>

#define SKEP_UPID_TEXT 40

/* boot_id: its first 8 characters are taken, all of it where it is shorter. Writes "" for pid 0. Never cut: 8 + 1 + 10 + 1 + 16 < SKEP_UPID_TEXT. */
static inline void skep_upid_text(const char *boot_id, const struct skep_upid *upid, char ret[SKEP_UPID_TEXT])
{
	/* By hand: sinks write it twice for each record, and snprintf would be a tenth of what that costs them. */
	char *at = ret;
	unsigned n = 1;

	if (upid->pid == 0) {
		ret[0] = '\0';
		return;
	}
	for (const char *from = boot_id; from < boot_id + 8 && *from; from++)
		*at++ = *from;
	*at++ = '-';
	for (uint32_t rest = upid->pid; rest >= 10; rest /= 10)
		n++;
	for (uint32_t rest = upid->pid, i = n; i-- > 0; rest /= 10)
		at[i] = (char)('0' + rest % 10);
	at += n;
	*at++ = '-';
	n = 1;
	for (uint64_t rest = upid->start_ns; rest >= 16; rest >>= 4)
		n++;
	for (unsigned i = 0; i < n; i++)
		*at++ = "0123456789abcdef"[upid->start_ns >> 4 * (n - 1 - i) & 15];
	*at = '\0';
}

#endif
