/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/faultd.h - tests/faults/faultd for a unit test: started, asked what it took, ended.
 */
#ifndef SKEP_TESTS_FAULTD_H
#define SKEP_TESTS_FAULTD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct faultd {
	pid_t pid;
	int in; /* it ends when this is closed */
	char dir[64];
	char log[96];
	int http, https, blackhole, refuse; /* ports; https 0: not asked for */
};

/*
 * tls: with the certificates of tests/faults/certificates in dir; client: it wants a client's. False: cannot be had
 * here, why is printed.
 */
bool faultd_start(struct faultd *, bool tls, bool client, const char *id);
void faultd_stop(struct faultd *);
/* Requests so far, in their order: an array of the log's objects; json_decref() it. */
json_t *faultd_log(const struct faultd *);
void faultd_forget(const struct faultd *); /* empties the log */

#endif
