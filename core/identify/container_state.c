/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container_state.c - requests the state files of containers, and caches their names by container id.
 */
#include "core/identify/container_state.h"

#include <errno.h>
#include <skep/hash.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 1024u /* of two containers in one slot the newer stays */
#define ID_MOST 64u
#define AGAIN_NS 1000000000u
#define AGAIN_MOST_NS 60000000000u

struct slot {
	char id[ID_MOST + 1];
	bool asked;        /* a request is under way */
	unsigned char of[ENGINE_FILE_VALUES]; /* of this request */
	uint64_t again_ns, pause_ns;
	char *texts[CONTAINER_NAMES]; /* NULL: not in the file */
	bool known;
};

struct container_states {
	container_states_read read;
	void *arg;
	struct skep_hash_key key; /* users choose the names of cgroups */
	struct slot slots[SLOTS];
};

struct container_states *container_states_new(container_states_read read, void *arg)
{
	struct container_states *s = calloc(1, sizeof(*s));

	if (s) {
		s->read = read;
		s->arg = arg;
		s->key = skep_hash_key_new();
	}
	return s;
}

static void forget(struct slot *slot)
{
	for (unsigned i = 0; i < CONTAINER_NAMES; i++)
		free(slot->texts[i]);
	memset(slot, 0, sizeof(*slot));
}

struct container_states *container_states_free(struct container_states *s)
{
	for (unsigned i = 0; s && i < SLOTS; i++)
		forget(&s->slots[i]);
	free(s);
	return NULL;
}

/* No other id may become part of a path: users choose the names of their cgroups. */
static bool is_hex(const struct skep_str *id)
{
	return id->len > 0 && id->len <= ID_MOST && strspn(id->ptr, "0123456789abcdef") == id->len;
}

static struct slot *slot_of(struct container_states *s, const struct skep_str *id)
{
	return &s->slots[skep_hash(&s->key, id->ptr, id->len) % SLOTS];
}

/* The path of the state file; NULL: no memory.  The caller frees it. */
static char *path_of(const struct container_state *state, const struct skep_str *id)
{
	const char *mark = strstr(state->path, CONTAINER_STATE_ID);
	size_t before = (size_t)(mark - state->path), after = strlen(mark) - strlen(CONTAINER_STATE_ID);
	char *path = malloc(before + id->len + after + 1);

	if (!path)
		return NULL;
	memcpy(path, state->path, before);
	memcpy(path + before, id->ptr, id->len);
	memcpy(path + before + id->len, mark + strlen(CONTAINER_STATE_ID), after + 1);
	return path;
}

static void ask(struct container_states *s, struct slot *slot, const struct container_layer *at, uint64_t now_ns)
{
	char *path = path_of(at->state, &at->id);
	struct engine_file file = { .uid = 0, .gid = 0, .path = path, .n_wanted = 1 };

	slot->pause_ns = slot->pause_ns ? 2 * slot->pause_ns : AGAIN_NS;
	if (slot->pause_ns > AGAIN_MOST_NS)
		slot->pause_ns = AGAIN_MOST_NS;
	slot->again_ns = now_ns + slot->pause_ns;
	if (!path)
		return;
	memcpy(file.values, at->state->values, sizeof(file.values));
	memcpy(slot->of, at->state->of, sizeof(slot->of));
	slot->asked = s->read(s->arg, &file, slot) == 0;
	free(path);
}

void container_states_find(struct container_states *s, const struct container_layer *at, uint64_t now_ns,
			   struct skep_str ret[CONTAINER_NAMES])
{
	struct slot *slot;

	for (unsigned i = 0; i < CONTAINER_NAMES; i++)
		ret[i] = (struct skep_str){ "", 0, 0 };
	if (!at->state || !is_hex(&at->id))
		return;
	slot = slot_of(s, &at->id);
	if (strlen(slot->id) != at->id.len || memcmp(slot->id, at->id.ptr, at->id.len) != 0) {
		if (slot->asked)
			return;
		forget(slot);
		memcpy(slot->id, at->id.ptr, at->id.len);
	}
	if (!slot->known && !slot->asked && now_ns >= slot->again_ns)
		ask(s, slot, at, now_ns);
	for (unsigned i = 0; i < CONTAINER_NAMES; i++)
		if (slot->texts[i])
			ret[i] = (struct skep_str){ slot->texts[i], (uint32_t)strlen(slot->texts[i]),
						    (uint32_t)strlen(slot->texts[i]) };
}

void container_states_answer(void *token, int error, const struct skep_str *answer)
{
	struct slot *slot = token;

	slot->asked = false;
	slot->known = error == 0; /* a runtime may write the file a moment after it made the cgroup */
	for (unsigned i = 0; i < ENGINE_FILE_VALUES && slot->known; i++) {
		struct skep_str value = engine_file_value(answer, i);
		char **text = &slot->texts[slot->of[i]];

		if (value.len && *value.ptr == '/' && slot->of[i] == CONTAINER_NAME)
			value.ptr++, value.len--; /* Docker's "/web" */
		if (value.len && !*text)
			*text = strndup(value.ptr, value.len);
	}
}
