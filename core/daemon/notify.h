/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/notify.h - what a service manager hears of the daemon: systemd's notify protocol,
 * spoken to $NOTIFY_SOCKET (sd_notify(3)) without libsystemd.  Where nobody asked to be
 * told there is no struct notify, and each function does nothing with NULL.  Everything
 * on the loop thread.
 */
#ifndef SKEP_CORE_NOTIFY_H
#define SKEP_CORE_NOTIFY_H

#include <uv.h>

struct notify;

/*
 * Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment: what this
 * process starts must not speak for it.  0 with *ret NULL: nobody asked; -errno: somebody
 * did and cannot be told, the reason is in why.
 */
int notify_new(uv_loop_t *, struct notify **ret, char *why, size_t why_size);
/* Once; its memory goes in the loop's next turns. NULL is fine. */
void notify_close(struct notify *);

/* It works, or does so again after notify_reloading; from the first time on the watchdog is pinged. */
void notify_ready(struct notify *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void notify_reloading(struct notify *);
/* It may take so long, however short the unit's TimeoutStopSec is (EXTEND_TIMEOUT_USEC, systemd 236). */
void notify_stopping(struct notify *, uint64_t us, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
