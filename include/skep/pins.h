/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/pins.h - keeps a BPF object in the kernel while skepd restarts: pins its maps, programs and links in a BPF
 * filesystem, from which the next skepd adopts them. Link libskep-probe (pkg-config skep-probe).  Loop thread; every
 * int function returns 0 or a negative errno.
 *
 *	open the object and set all of its options; then
 *	skep_pins_load(&pins, host, "name", skeleton)    instead of NAME_bpf__load()
 *	skep_pins_attach(&pins, skeleton)                instead of NAME_bpf__attach()
 *	skep_pins_leave(&pins, host, inst, skeleton)     in stop(), instead of NAME_bpf__detach()
 *
 * skepd adopts an object only if it is the same to the last byte: ELF image, constants, sizes of maps, programs chosen,
 * and the host's maps that it shares.  A hash of these is the key in the folder's name. skep_pins_others() handles
 * folders of another key: the plugin attaches its own object first, so that it misses no event, and then reads or
 * counts the records of the other.
 *
 * skep_pins_attach() fills a folder under another name and renames it at the end (rename(2), which bpffs has had since
 * 4.4): the next skepd ignores a folder that a dying skepd left half full.
 */
#ifndef SKEP_PINS_H
#define SKEP_PINS_H

#include <skep/kept.h>
#include <skep/plugin.h>
#include <stdbool.h>
#include <stdint.h>

struct bpf_object_skeleton; /* <bpf/libbpf.h> */
struct bpf_program;

#ifdef __cplusplus
extern "C" {
#endif

#define SKEP_PINS_PATH 512

struct skep_pins {
	char folder[SKEP_PINS_PATH]; /* "": nothing is pinned */
	char name[64];
	uint64_t key;
	uint64_t until_ns; /* of struct skep_kept; 0: not set yet, or without end */
	bool adopted;
};

/*
 * Removes the pins of a folder whose names begin with `begin`.  "link_" detaches the programs and keeps the maps.
 * Always removes the pins of programs first: if this skepd dies halfway, no other skepd adopts a folder without them.
 */
void skep_pins_unpin(const char *folder, const char *begin);

/*
 * Opens the pin "KIND_NAME" of a folder (KIND: map, prog or link).  A descriptor, which the caller closes, or a
 * negative errno.
 */
int skep_pins_open(const char *folder, const char *kind, const char *name);

/* Reads the map "kept" of a folder.  -ENOENT: the folder has no such map. */
int skep_pins_kept(const char *folder, struct skep_kept *ret);

/*
 * Loads the object, or adopts the object that the previous skepd pinned.  Without a folder for pins, only loads.
 * -ESTALE: the adoption failed halfway, and the pins are removed: open the object again, and load it.
 */
int skep_pins_load(struct skep_pins *p, const struct skep_host *host, const char *name, struct bpf_object_skeleton *s);

/*
 * Attaches the loaded object and pins it.  *ret_unpinned: 0, or the errno of a failed pin; the object then records
 * without pins.
 */
int skep_pins_attach(struct skep_pins *p, struct bpf_object_skeleton *s, int *ret_unpinned);
/*
 * Logs the warning that events during a restart of skepd will not be `done` ("counted").  Logs nothing if unpinned is
 * 0.
 */
void skep_pins_warn(const struct skep_host *host, struct skep_instance *inst, int unpinned, const char *done);

/*
 * true: the object stays attached for the next skepd.  false: it is detached, and the kernel frees it when the skeleton
 * is destroyed.
 */
bool skep_pins_leave(struct skep_pins *p, const struct skep_host *host, struct skep_instance *inst,
		     struct bpf_object_skeleton *s);

/*
 * Opens a program of a folder (NULL: our own), as the skeleton of an adopted object has none.  The caller closes the
 * descriptor.
 */
int skep_pins_program(const struct skep_pins *p, const char *folder, const char *name);
/* Opens a program of our own object, loaded or adopted; the caller closes it.  < 0: this kernel runs without it. */
int skep_pins_own_program(const struct skep_pins *p, const struct bpf_program *prog, const char *name);

/*
 * For each of the plugin's kinds in struct skep_unattended: the stream that loses a record for each event that a hook
 * did not record.
 */
struct skep_pins_kinds {
	unsigned n;
	unsigned stream[SKEP_KEPT_UNCOUNTED];
};

/*
 * Lets the kernel side record for another pin_for; a plugin calls this after each read of the records.  kept,
 * unattended: descriptors of these maps.  true: the kernel side had expired before, and events are missing.
 */
bool skep_pins_touch(struct skep_pins *p, const struct skep_host *host, struct skep_instance *inst, int kept,
		     uint32_t layout, int unattended, const struct skep_pins_kinds *kinds);

/*
 * For the callback of skep_pins_others(): reports the events that the detached object of that folder did not record.
 * k: its map "kept".
 */
void skep_pins_other_unattended(const struct skep_host *host, struct skep_instance *inst, const char *folder,
				const struct skep_kept *k, const struct skep_pins_kinds *kinds);

/*
 * For the callback of skep_pins_others(), in a plugin that attaches its new object asleep (skep_kept_sleep()): puts the
 * object of that folder to sleep, wakes our own, and reports the events that the other object did not record.  kept:
 * our map "kept".  true: the other's maps and records have our layout.
 */
bool skep_pins_take_over(const struct skep_host *host, struct skep_instance *inst, const char *folder, int kept,
			 uint32_t layout, const struct skep_pins_kinds *kinds);

/*
 * Calls cb(arg, folder) for each other folder of that name: one that an upgrade or a change of options left, or one of
 * our own build that expired.  Then removes the folder and, with it, the object.  cb() may open the folder's pins
 * (skep_pins_open()).  Does nothing unless the host allows adoption (pin_adopts).
 */
void skep_pins_others(const struct skep_pins *p, const struct skep_host *host,
		      void (*cb)(void *arg, const char *folder), void *arg);

#ifdef __cplusplus
}
#endif

#endif
