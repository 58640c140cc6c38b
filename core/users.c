/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/users.c - uid and gid to name, kept.  That an id has no name is kept as well: hosts with
 * user namespaces have thousands of such.
 */
#include "core/users.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 1024u /* power of two; where two ids want the same one, the newer has it */
#define ROOM_FIRST 1024u
#define ROOM_MOST (1u << 20) /* groups list their members */

struct slot {
	char *name; /* NULL: none */
	uint32_t id;
	bool used;
};

struct users {
	struct slot users[SLOTS], groups[SLOTS];
};

struct users *users_new(void)
{
	return calloc(1, sizeof(struct users));
}

static void forget(struct slot *slots)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		free(slots[i].name);
		slots[i] = (struct slot){ 0 };
	}
}

void users_forget(struct users *u)
{
	forget(u->users);
	forget(u->groups);
}

struct users *users_free(struct users *u)
{
	if (u)
		users_forget(u);
	free(u);
	return NULL;
}

/* 0 with NULL: there is none of that id. */
static int ask(uint32_t id, bool group, char *room, size_t size, const char **ret)
{
	struct passwd pw, *user = NULL;
	struct group gr, *found = NULL;
	int err = group ? getgrgid_r(id, &gr, room, size, &found) : getpwuid_r(id, &pw, room, size, &user);

	*ret = found ? gr.gr_name : user ? pw.pw_name : NULL;
	return err;
}

static char *name_of(uint32_t id, bool group)
{
	const char *found = NULL;
	char *name = NULL, *room;

	for (size_t size = ROOM_FIRST; size <= ROOM_MOST; size *= 4) {
		int err;

		room = malloc(size);
		if (!room)
			return NULL;
		err = ask(id, group, room, size, &found);
		if (err == 0 && found)
			name = strdup(found);
		free(room);
		if (err != ERANGE)
			break;
	}
	return name;
}

static const char *find(struct slot *slots, uint32_t id, bool group)
{
	struct slot *slot = &slots[id * 2654435761u >> 22];

	if (slot->used && slot->id == id)
		return slot->name;
	free(slot->name);
	*slot = (struct slot){ .name = name_of(id, group), .id = id, .used = true };
	return slot->name;
}

const char *users_user(struct users *u, uint32_t uid)
{
	return find(u->users, uid, false);
}

const char *users_group(struct users *u, uint32_t gid)
{
	return find(u->groups, gid, true);
}
