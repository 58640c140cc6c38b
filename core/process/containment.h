/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/process/containment.h - in which container, pod and unit the processes of a task or a run were.
 *
 * The root's value counts.  Where the root has none, as a task that starts a container, it is the value of the other
 * processes if all that have one have the same.
 */
#ifndef SKEP_CORE_CONTAINMENT_H
#define SKEP_CORE_CONTAINMENT_H

#include "core/base/intern.h"

enum contained_by {
	IN_CONTAINER, /* runtime id */
	IN_CONTAINER_NAME,
	IN_CONTAINER_IMAGE,
	IN_POD,
	IN_NAMESPACE,
	IN_UNIT, /* of systemd; empty for the unit that a container's runtime made for the container */
	CONTAINED_BY,
};

/* Of one process.  Borrowed; empty: none, or not known. */
struct contained {
	struct skep_str in[CONTAINED_BY];
};

struct containment {
	const struct interned *in[CONTAINED_BY]; /* NULL: none, or several */
	enum containment_from {
		CONTAINMENT_OF_NONE = 0,
		CONTAINMENT_OF_MEMBER,
		CONTAINMENT_OF_SEVERAL,
		CONTAINMENT_OF_ROOT,
	} from[CONTAINED_BY];
};

void containment_note(struct containment *, struct intern *, const struct contained *, bool root);
/* Fills the six fields of a record: struct record_task, struct record_run. Borrowed. */
void containment_read(const struct containment *, struct contained *ret);
void containment_clear(struct containment *, struct intern *);

/* The fields of `ret`, a struct of a record. */
#define CONTAINED_FIELDS(from_, ret_)                                     \
	do {                                                              \
		(ret_)->container = (from_)->in[IN_CONTAINER];             \
		(ret_)->container_name = (from_)->in[IN_CONTAINER_NAME];   \
		(ret_)->container_image = (from_)->in[IN_CONTAINER_IMAGE]; \
		(ret_)->pod = (from_)->in[IN_POD];                         \
		(ret_)->name_space = (from_)->in[IN_NAMESPACE];            \
		(ret_)->unit = (from_)->in[IN_UNIT];                       \
	} while (0)

#endif
