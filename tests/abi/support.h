/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/support.h - helpers that the tests of the loader and of instances share: the folder of the built test
 * plugins, files and folders of a test, an instance from configuration text.
 */
#ifndef SKEP_TESTS_ABI_SUPPORT_H
#define SKEP_TESTS_ABI_SUPPORT_H

#include "core/plugin/plugin.h"

/* Each of these fails the test when a system call fails. */

/* A new folder that only this user can write, as the loader demands; support_dir_remove() removes it. */
char *support_dir_new(void);
char *support_dir_remove(char *dir); /* with everything in it; returns NULL */
/* "dir/name", to be freed. */
char *support_path(const char *dir, const char *name);
/* The whole file, to be freed. */
char *support_read(const char *path, size_t *ret_size);
void support_write(const char *path, const void *bytes, size_t size, unsigned mode);
/*
 * A copy of the built plugin NAME.so: from $SKEP_TEST_PLUGIN_DIRS (one folder), or plugins-test below the working
 * directory.
 */
char *support_plugin_bytes(const char *name, size_t *ret_size);
/* Puts NAME.so, unchanged, into dir. */
void support_plugin_copy(const char *name, const char *dir);

/* The text of the diag's only error. */
const char *support_error(const struct diag *diag);

/* An instance with the options of `json`, an object without "plugin": "{ \"path\": \"/x\" }". Options must be right. */
struct skep_instance *support_instance(uv_loop_t *loop, struct plugin *plugin, const char *json,
				       const struct instance_ops *ops, void *owner);
/* stop, run the loop until it has stopped, free. Returns NULL. */
struct skep_instance *support_instance_end(struct skep_instance *inst);
/* Runs the loop until *flag, at most 10 s. */
void support_loop_until(uv_loop_t *loop, const bool *flag);
/* Closes the loop: EBUSY, a handle left open, is a failure. */
void support_loop_close(uv_loop_t *loop);

#endif
