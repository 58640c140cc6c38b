/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/upid.h - a process identity as text: "<first 8 of boot id>-<pid>-<start, hex>".
 * Link libskep-probe or libskep-sink (pkg-config skep-probe, skep-sink).
 */
#ifndef SKEP_UPID_H
#define SKEP_UPID_H

#include <skep/record.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_UPID_TEXT 40

/*
 * Writes the identity as text, with the first 8 characters of boot_id, or all of a shorter one; "" for pid 0.  Never
 * cuts: 8 + 1 + 10 + 1 + 16 < SKEP_UPID_TEXT.  Any thread.
 */
void skep_upid_text(const char *boot_id, const struct skep_upid *upid, char ret[SKEP_UPID_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
