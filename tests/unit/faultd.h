/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/faultd.h - starts tests/faults/faultd for a unit test, reads its log and ends it.
 */
#ifndef SKEP_TESTS_FAULTD_H
#define SKEP_TESTS_FAULTD_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

struct faultd {
	pid_t pid;
	int in; /* faultd ends when the test closes this pipe */
	char dir[64];
	char log[96];
	int http, https, blackhole, refuse; /* ports; https 0: not asked for */
};

/*
 * tls: serve with the certificates of tests/faults/certificates in dir. client: demand a client certificate. Returns
 * false, after printing the reason, when this machine cannot start faultd.
 */
bool faultd_start(struct faultd *, bool tls, bool client, const char *id);
void faultd_stop(struct faultd *);
/* The requests so far, in order: an array of the log's objects; json_decref() it. */
json_t *faultd_log(const struct faultd *);
void faultd_forget(const struct faultd *); /* empties the log */

#endif
