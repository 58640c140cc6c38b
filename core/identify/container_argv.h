/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/container_argv.h - what the arguments of a container runtime's own processes say about the container
 * that they start: conmon -c ID -n NAME; podman run IMAGE; apptainer exec IMAGE.
 */
#ifndef SKEP_CORE_CONTAINER_ARGV_H
#define SKEP_CORE_CONTAINER_ARGV_H

#include <skep/record.h>
#include <stdbool.h>

/* Borrowed from the arguments; ptr NULL: they do not say. */
struct container_argv {
	struct skep_str id, name, image;
	bool no_id; /* a runtime whose containers have no id: its descendants are in the container */
};

/* The runtime of this binary, by its path's last component; false: no runtime that skep knows. */
bool container_argv_runtime(const char *exe);
/* argv: "a\0b\0", may be cut. false: nothing said. */
bool container_argv_read(const char *exe, const struct skep_str *argv, struct container_argv *ret);

#endif
