/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/upid.h - a process identity as text: "<first 8 of boot id>-<pid>-<start, hex>".
 */
#ifndef SKEP_UPID_H
#define SKEP_UPID_H

#include <inttypes.h>
#include <skep/record.h>
#include <stdio.h>

#define SKEP_UPID_TEXT 40

/* boot_id: at least 8 characters. Writes "" for pid 0. Never cut: 8 + 1 + 10 + 1 + 16 < SKEP_UPID_TEXT. */
static inline void skep_upid_text(const char *boot_id, const struct skep_upid *upid, char ret[SKEP_UPID_TEXT])
{
	if (upid->pid == 0)
		ret[0] = '\0';
	else
		snprintf(ret, SKEP_UPID_TEXT, "%.8s-%" PRIu32 "-%" PRIx64, boot_id, upid->pid, upid->start_ns);
}

#endif
