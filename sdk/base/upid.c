/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/base/upid.c - writes a process identity as text.
 */
#include <skep/upid.h>

void skep_upid_text(const char *boot_id, const struct skep_upid *upid, char ret[SKEP_UPID_TEXT])
{
	/*
	 * This does not use snprintf, which would take a tenth of a sink's time: sinks write two ids for each record.
	 */
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
