/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container_state.h - names and images of containers, from the state files of their runtimes: key "state"
 * of etc/containers.json.
 *
 * The process that reads engines' files reads them as root: the table alone gives the paths, and the cgroup's path only
 * the container's id, which is hex.  skep asks when it meets the container's first process.
 */
#ifndef SKEP_CORE_CONTAINER_STATE_H
#define SKEP_CORE_CONTAINER_STATE_H

#include "core/identify/container.h"

struct container_states;

/* Requests a read: the answer comes to container_states_answer(token, ...) in a later turn of the loop.  Or -errno. */
typedef int (*container_states_read)(void *arg, const struct engine_file *, void *token);

struct container_states *container_states_new(container_states_read, void *arg); /* NULL: no memory */
struct container_states *container_states_free(struct container_states *); /* after the last answer; NULL is fine */

/*
 * Returns the names in this container's state file; empty: not known, or not known yet.  Borrowed until the next call.
 * Requests the file of an unknown container: at once, then after pauses that grow to a minute.
 */
void container_states_find(struct container_states *, const struct container_layer *, uint64_t now_ns,
			   struct skep_str ret[CONTAINER_NAMES]);
void container_states_answer(void *token, int error, const struct skep_str *answer);

#endif
