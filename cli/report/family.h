/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/report/family.h - the tree of a report's processes, each with its images, for the report's failures and tree.
 */
#ifndef SKEP_CLI_FAMILY_H
#define SKEP_CLI_FAMILY_H

#include <skep/hash.h>

#include "lake/lake.h"

#define FAMILY_NONE ((size_t)-1)

struct family_member {          /* one process, with all its images */
	size_t first, last;     /* its images: indices into report->processes */
	size_t parent;          /* a member with a lower index; or FAMILY_NONE */
	size_t child, youngest; /* its first and last child, by start; or FAMILY_NONE */
	size_t sibling;         /* the parent's next child; or FAMILY_NONE */
	uint64_t start_ns, end_ns;
};

struct family {
	const struct lake_report *report; /* borrowed */
	struct skep_hash_key key;
	size_t n;
	struct family_member *members; /* by start */
	size_t *member_of;             /* by image: its member */
	size_t *next_image;            /* by image: the same process's next one; or FAMILY_NONE */
	size_t root;                   /* the run's root; or FAMILY_NONE */
};

/* 0 or -ENOMEM. */
int family_new(const struct lake_report *, struct family **ret);
struct family *family_free(struct family *);
/* The member's last image, which was running at its end. */
const struct lake_process *family_last(const struct family *, size_t member);

#endif
