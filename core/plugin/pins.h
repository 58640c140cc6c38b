/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/pins.h - the folder in a BPF filesystem where the kernel side stays while skepd is restarted: its
 * lock, the host's own maps in it, and how it is emptied.  What plugins keep there is theirs (skep/pins.h).
 */
#ifndef SKEP_CORE_PINS_H
#define SKEP_CORE_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PINS_DIR_DEFAULT "/sys/fs/bpf/skep"

struct pins {
	char *dir; /* NULL: nothing is pinned */
	int fd;    /* of dir, locked as long as we live */
};

/* What a map of the host's is. */
struct pins_map {
	const char *name;
	uint32_t type, key_size, value_size, max_entries, flags;
	int fd; /* set by pins_maps() */
};

/*
 * Makes the folder where it is not there, and locks it.  Empties it, and logs that, when an object in it is another
 * user's. 0, or a negative errno and why in words: -EBUSY: another skepd has it; -ENOTSUP: not in a BPF filesystem;
 * -EPERM: other users can change the folder or one above it.  p is then as if nobody had asked for pins.
 */
int pins_open(struct pins *p, const char *dir, char *why, size_t size);
void pins_close(struct pins *p);

/*
 * p NULL: nothing is pinned.  Those maps, as a skepd before has left them (*ret_adopted), all or none, or new ones,
 * pinned where p has a folder. group: their name there.  0 or a negative errno, with which map in *ret_failed; then no
 * fd is open.
 */
int pins_maps(const struct pins *p, const char *group, struct pins_map *maps, size_t n, bool *ret_adopted,
	      const char **ret_failed);

/* The folder for an instance's pins, not made yet; to be freed. NULL where p has none. 0, -ENOMEM. */
int pins_instance(const struct pins *p, const char *instance, char **ret);

/*
 * Removes everything from the folder, and the folder. How many objects, or a negative errno: -EBUSY: a skepd uses it.
 */
int pins_remove(const char *dir);

#endif
