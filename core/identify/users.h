/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/users.h - looks up names of users and groups as this host knows them (passwd, LDAP, any source
 * in nsswitch.conf), each once. Only rules with `user` or `group` need them.
 *
 * A look-up may take as long as a directory server, or hang. With a loop a worker thread runs it. The caller
 * waits USERS_WAIT_NS for the answer, which is enough for a name in a file. It does not wait at all while an
 * earlier look-up is late, or after callers have waited for 50 ms in this second. Until the answer arrives the
 * id has no name; when a name arrives later, users calls `changed`.
 */
#ifndef SKEP_CORE_USERS_H
#define SKEP_CORE_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define USERS_WAIT_NS 10000000u

struct users;

/*
 * loop NULL: look-ups block the caller. changed: a look-up has returned a new or different name. NULL: no
 * memory.
 */
struct users *users_new(uv_loop_t *, void (*changed)(void *arg), void *arg);
/* Starts no further look-ups. Call before the loop ends. */
void users_stop(struct users *);
struct users *users_free(struct users *);
/* Borrowed until the next call. NULL: the id has no name, the answer has not arrived, or memory ran out. */
const char *users_user(struct users *, uint32_t uid);
const char *users_group(struct users *, uint32_t gid);
/* Makes users look up every id again, after a reload. The old name stays until the answer arrives. */
void users_forget(struct users *);
/* Age of the oldest look-up that has not returned; 0: none is in progress. */
uint64_t users_late_ns(struct users *);

/*
 * A test may replace the source of names. 0 and the name (the caller frees it; NULL: no name), or -errno.
 *
 */
extern int (*users_source)(uint32_t id, bool group, char **ret);

#endif
