/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/daemon/notify.h - reports the daemon's state to a service manager: systemd's notify protocol, to $NOTIFY_SOCKET
 * (sd_notify(3)), without libsystemd.  Without a manager there is no struct notify, and each function does nothing with
 * NULL.  Loop thread.
 */
#ifndef SKEP_CORE_NOTIFY_H
#define SKEP_CORE_NOTIFY_H

#include <uv.h>

struct notify;

/*
 * Removes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from the environment: a child must not speak for this process.
 * 0 with *ret NULL: no manager; -errno with the reason in why: a manager that skepd cannot reach.
 */
int notify_new(uv_loop_t *, struct notify **ret, char *why, size_t why_size);
/* Once; the loop's next turns free it. NULL is fine. */
void notify_close(struct notify *);

/* skepd works, or works again after notify_reloading. The first call starts the pings of the watchdog. */
void notify_ready(struct notify *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void notify_reloading(struct notify *);
/* us: how long stopping may take, even beyond the unit's TimeoutStopSec (EXTEND_TIMEOUT_USEC, systemd 236). */
void notify_stopping(struct notify *, uint64_t us, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

#endif
