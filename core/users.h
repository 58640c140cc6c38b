/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/users.h - names of users and groups, as this host knows them (passwd, LDAP, whatever
 * nsswitch.conf says), each asked for once.  An answer may take as long as the directory
 * server does, so nobody asks but a rule that has `user` or `group` in it.
 */
#ifndef SKEP_CORE_USERS_H
#define SKEP_CORE_USERS_H

#include <stdint.h>

struct users;

struct users *users_new(void); /* NULL: no memory */
struct users *users_free(struct users *);
/* Borrowed until the next call; NULL: it has no name, or memory ran out. */
const char *users_user(struct users *, uint32_t uid);
const char *users_group(struct users *, uint32_t gid);
/* Ask anew from now on: at a reload. */
void users_forget(struct users *);

#endif
