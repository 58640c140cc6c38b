/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/config/moved.h - options and details that one probe had and another has now, so that skepd names the remedy to
 * an operator with an older configuration.
 */
#ifndef SKEP_CORE_MOVED_H
#define SKEP_CORE_MOVED_H

#include <stddef.h>

struct moved {
	const char *from, *option, *to;
	const char *detail; /* moved with the option, or NULL */
};

const struct moved *moved_get(size_t i); /* NULL: the table has no more */
/* The probe that has that detail now.  NULL: it did not move. */
const char *moved_detail(const char *detail);

#endif
