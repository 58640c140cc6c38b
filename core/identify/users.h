/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/users.h - names of users and groups, as this host knows them (passwd, LDAP, whatever nsswitch.conf
 * says), each looked up once.  Only a rule with `user` or `group` in it needs them.
 *
 * A look-up may take as long as a directory server does, or hang.  With a loop it runs on a thread of its own.  The
 * caller waits USERS_WAIT_NS for the answer, which is plenty where the name is in a file, and not at all while an
 * earlier look-up is late or callers have waited for 50 ms in this second.  Until the answer comes the id has no name;
 * when a name comes later, `changed` says so.
 */
#ifndef SKEP_CORE_USERS_H
#define SKEP_CORE_USERS_H

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#define USERS_WAIT_NS 10000000u

struct users;

/*
 * loop NULL: look-ups block the caller.  changed: a name that was not known, or another one, is known now.  NULL: no
 * memory.
 */
struct users *users_new(uv_loop_t *, void (*changed)(void *arg), void *arg);
/* Before the loop ends: nothing is looked up from now on. */
void users_stop(struct users *);
struct users *users_free(struct users *);
/* Borrowed until the next call; NULL: it has no name, none is known yet, or memory ran out. */
const char *users_user(struct users *, uint32_t uid);
const char *users_group(struct users *, uint32_t gid);
/* Looks everything up again from now on, at a reload.  An old name counts until the answer is there. */
void users_forget(struct users *);
/* For how long the oldest look-up has not returned; 0: none is under way. */
uint64_t users_late_ns(struct users *);

/* A test's own source of names; NULL: the host's.  0 and the name (to be freed; NULL: it has none), or -errno. */
extern int (*users_source)(uint32_t id, bool group, char **ret);

#endif
