/* SPDX-License-Identifier: Dual BSD/GPL OR Apache-2.0 */
/*
 * skep/kept.h - when a pinned kernel side (skep/pins.h) stops recording: both sides share this time, in case no skepd
 * returns.  Kernel side: skep/bpf/kept.bpf.h, which has the maps "kept" and "unattended".  User space: link
 * libskep-probe; skep/pins.h reports the events that the kernel side did not record.
 *
 * `asleep` also serves the change from one build of an object to another.  The plugin attaches the new object asleep,
 * puts the old object to sleep and then wakes the new one, so that never both count an event.
 */
#ifndef SKEP_KEPT_H
#define SKEP_KEPT_H

#include <linux/types.h>

enum skep_kept_state {
	SKEP_KEPT_AWAKE,
	SKEP_KEPT_ASLEEP,  /* records nothing: another build of the object records */
	SKEP_KEPT_EXPIRED, /* records nothing, as no skepd read until until_ns; counts events in the map "unattended" */
};

/* The one value of the map "kept". */
struct skep_kept {
	__u64 until_ns; /* skep_monotonic_ns(), which stands still in a suspended host; 0: as long as skepd runs */
	__u32 asleep;   /* enum skep_kept_state */
	__u32 layout;   /* layout of its maps and records, as the plugin numbers them */
};

#define SKEP_KEPT_KINDS 8u
#define SKEP_KEPT_UNCOUNTED \
	(SKEP_KEPT_KINDS - 1) /* the kind of events whose loss another hook counts: never reported */

/* The one value of the map "unattended", on each CPU: events that hooks did not record after until_ns. */
struct skep_unattended {
	__u64 n[SKEP_KEPT_KINDS]; /* by kind, which the plugin numbers */
};

#ifndef __bpf__
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif


/* fd: of the map "kept". 0 or -errno. */
int skep_kept_get(int fd, struct skep_kept *ret);
int skep_kept_set(int fd, const struct skep_kept *k);

/* Lets the kernel side record for another for_ns; 0: without end. 0 or -errno. */
int skep_kept_touch(int fd, uint32_t layout, uint64_t for_ns);

/* Stops the recording. 0 or -errno. */
int skep_kept_sleep(int fd, uint32_t layout);

/* Did the kernel side stop because no skepd read?  Compares until_ns with the clock if no event has come since. */
bool skep_kept_expired(const struct skep_kept *k);

/*
 * Drains the map "unattended": writes its sums over all CPUs to ret and sets the map to 0.  0 or -errno; a failure
 * changes nothing.
 */
int skep_kept_drain_unattended(int fd, uint64_t ret[SKEP_KEPT_KINDS]);

#ifdef __cplusplus
}
#endif
#endif

#endif
