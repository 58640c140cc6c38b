/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/collect/collector_types.c - the kernel's type information for probes (skep_host.kernel_types): reads it when the
 * first probe asks, once for all that start together, and frees it with the next tick.
 */
#include <errno.h>
#include <skep/types.h>
#include <string.h>

#include "core/base/log.h"
#include "core/collect/collector_priv.h"

const struct skep_kernel_types *collector_types(struct collector *c)
{
	int err;

	if (c->types || c->types_refused)
		return c->types;
	err = skep_types_read(SKEP_TYPES_PATH, &c->types);
	if (err) {
		c->types = NULL;
		c->types_refused = true;
		log_debug("cannot read the kernel's types, " SKEP_TYPES_PATH ": %s", strerror(-err));
	}
	return c->types;
}

void collector_types_free(struct collector *c)
{
	skep_types_free(c->types);
	c->types = NULL;
	c->types_refused = false;
}
