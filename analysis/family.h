/* SPDX-License-Identifier: Apache-2.0 */
/*
 * analysis/family.h - the tree of a report's processes, each with its images.
 */
#ifndef SKEP_ANALYSIS_FAMILY_H
#define SKEP_ANALYSIS_FAMILY_H

#include "lake/lake.h"

#define FAMILY_NONE UINT32_MAX

/* One process, with all its images.  32 bits: a run of a million processes has a million of them. */
struct family_member {
	uint32_t first, last;     /* its images: indices into report->processes */
	uint32_t parent;          /* a member with a lower index; or FAMILY_NONE */
	uint32_t child, youngest; /* its first and last child, by start; or FAMILY_NONE */
	uint32_t sibling;         /* the parent's next child; or FAMILY_NONE */
};

struct family {
	const struct lake_report *report; /* borrowed */
	size_t n;
	struct family_member *members; /* by start */
	uint32_t *member_of;           /* by image: its member */
	uint32_t *next_image;          /* by image: the same process's next one; or FAMILY_NONE */
	size_t root;                   /* the run's root; or FAMILY_NONE */
};

/* 0 or -ENOMEM. */
int family_new(const struct lake_report *, struct family **ret);
struct family *family_free(struct family *);
/* The member's last image, which was running at its end. */
const struct lake_process *family_last(const struct family *, size_t member);
uint64_t family_start_ns(const struct family *, size_t member);
uint64_t family_end_ns(const struct family *, size_t member);

#endif
