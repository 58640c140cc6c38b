/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/unit/host_fixture.h - the probe "host" on a tree of files that a test writes. The fixture keeps each emitted
 * record as text, field by field, so that a test reads like the record.
 */
#ifndef SKEP_TESTS_HOST_FIXTURE_H
#define SKEP_TESTS_HOST_FIXTURE_H

#include "plugins/host/state.h"
#include <skep/mock.h>

struct host_line {
	unsigned stream;
	char *text; /* "|system.device=vda|stacked=0|...|" */
};

struct host_fixture {
	struct skep_mock m;
	struct host_probe *st;
	char root[64]; /* a folder of its own below TMPDIR */
	struct host_line *line;
	size_t n, room;
	uint64_t lost;
	/* the calls of signal(), as "name=state how: why" */
	char signals[8192];
};

const struct skep_plugin *host_descriptor(void);

/* A machine with two CPUs, a disk with a partition, an interface with a device, and loopback. */
void host_fixture_init(struct host_fixture *);
void host_fixture_free(struct host_fixture *);
/* Writes a file below the root and makes the folders above it. */
void host_write(struct host_fixture *, const char *path, const char *text);
void host_remove(struct host_fixture *, const char *path);
void host_link(struct host_fixture *, const char *path, const char *to);

int host_begin(struct host_fixture *); /* open and start */
void host_forget(struct host_fixture *); /* clears the emitted records */
void host_step(struct host_fixture *); /* host_forget(), then one sample */

/*
 * The value of that field in the first record of that stream in which "|match|" occurs (match NULL: in any record).
 * NULL: no such record. Borrowed until the next call.
 */
const char *host_get(struct host_fixture *, unsigned stream, const char *match, const char *field);
unsigned host_count(struct host_fixture *, unsigned stream, const char *match);
/* The last amount that the probe posted to that account and item, with its flags. false: none. */
bool host_posted(struct host_fixture *, const char *account, const char *item, int64_t *ret_amount,
		 uint64_t *ret_flags);

/* /proc/stat of two CPUs: idle ticks of each, the other modes all 100. */
void host_write_stat(struct host_fixture *, const char *cpus, const char *total);
#define HOST_NET_HEAD \
	"Inter-|   Receive                                                |  Transmit\n" \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"

#endif
