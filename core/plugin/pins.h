/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/pins.h - the folder in a BPF filesystem that holds pinned BPF objects while skepd restarts: its
 * lock, the plugin host's own maps, and its removal. Plugins manage their own pins in it (skep/pins.h).
 */
#ifndef SKEP_CORE_PINS_H
#define SKEP_CORE_PINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PINS_DIR_DEFAULT "/sys/fs/bpf/skep"

struct pins {
	char *dir; /* NULL: skepd pins nothing */
	int fd;    /* of dir; holds the lock as long as skepd runs */
};

/* A map of the plugin host. */
struct pins_map {
	const char *name;
	uint32_t type, key_size, value_size, max_entries, flags;
	int fd; /* pins_maps() sets it */
};

/*
 * Creates the folder if it is missing, and locks it. When another user owns an object in it, empties the folder
 * and logs that. 0, or a negative errno with the cause in why. -EBUSY: another skepd uses the folder. -ENOTSUP:
 * the folder is not in a BPF filesystem. -EPERM: other users can change the folder or a folder above it. After
 * an error *p is as for dir NULL: nothing is pinned.
 */
int pins_open(struct pins *p, const char *dir, char *why, size_t size);
void pins_close(struct pins *p);

/*
 * Adopts all the maps that the previous skepd pinned (*ret_adopted), or creates all of them. Pins the new maps
 * where p has a folder; p NULL: pins nothing. group: the first part of their names in the folder. 0, or a
 * negative errno with the failing map in *ret_failed; then no fd is open.
 */
int pins_maps(const struct pins *p, const char *group, struct pins_map *maps, size_t n, bool *ret_adopted,
	      const char **ret_failed);

/*
 * The path of the folder for an instance's pins; does not create it. *ret is NULL where p has no folder; the
 * caller frees *ret. 0 or -ENOMEM.
 */
int pins_instance(const struct pins *p, const char *instance, char **ret);

/*
 * Removes the folder with all its content. Returns the number of removed objects, or a negative errno; -EBUSY:
 * a skepd uses the folder.
 */
int pins_remove(const char *dir);

#endif
