/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/pods.h - names of Kubernetes pods and their containers, from the names of the files in which the
 * kubelet keeps their logs. No file is opened, and no API is asked:
 *
 *    FOLDER/pods/NAMESPACE_POD_UID
 *    FOLDER/containers/POD_NAMESPACE_CONTAINER-ID.log
 *
 * A thread of libuv's pool lists the folders, because a file system can block.
 */
#ifndef SKEP_CORE_PODS_H
#define SKEP_CORE_PODS_H

#include <skep/record.h>
#include <uv.h>

struct pods;

/* Empty: not known. */
struct pod_names {
	struct skep_str pod, name_space, container;
};

/* folder: /var/log on a node. Does no I/O. NULL: no memory. */
struct pods *pods_new(uv_loop_t *, const char *folder);
void pods_stop(struct pods *); /* lists no folder any more; NULL is fine */
bool pods_listing(const struct pods *); /* whether the pool still lists one; NULL is fine */
/* Frees it at once, or in the turn of the loop in which the pool has listed the folders. NULL is fine. */
void pods_close(struct pods *);

/*
 * Names of the pod and the container with these ids (empty: none), borrowed until the next turn of the loop. An
 * unknown id makes skep list the folders: at most once a second, and for one id at last once a minute.
 */
void pods_find(struct pods *, const struct skep_str *pod_uid, const struct skep_str *container_id, uint64_t now_ns,
	       struct pod_names *ret);

struct pod_entry {
	const char *id, *pod, *name_space, *container; /* container: NULL for a pod */
};
/* Splits such a name in place. false: another form. */
bool pods_parse(char *name, bool is_container, struct pod_entry *ret);

#endif
