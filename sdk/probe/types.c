/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/types.c - gets the kernel's type information from the plugin host, or reads it for a host that has none.
 */
#include <errno.h>
#include <skep/types.h>
#include <string.h>

static const struct skep_kernel_types *of_host(struct skep_instance *inst, const struct skep_host *host)
{
	return host->kernel_types ? host->kernel_types(inst) : NULL;
}

int skep_types_get(struct skep_instance *inst, const struct skep_host *host, const struct skep_kernel_types **ret)
{
	struct skep_kernel_types *own;
	int err;

	*ret = of_host(inst, host);
	if (*ret)
		return 0;
	err = skep_types_read(SKEP_TYPES_PATH, &own);
	if (err == -ENOENT)
		return (host->fail)(
			inst, -EOPNOTSUPP,
			"the kernel carries no type information (" SKEP_TYPES_PATH "): "
			"needs CONFIG_DEBUG_INFO_BTF, which distributions have had since 5.8");
	if (err)
		return (host->fail)(inst, -EOPNOTSUPP, "cannot read the kernel's type information (%s): %s",
				    SKEP_TYPES_PATH, strerror(-err));
	*ret = own;
	return 0;
}

void skep_types_put(struct skep_instance *inst, const struct skep_host *host, const struct skep_kernel_types *types)
{
	if (types && types != of_host(inst, host))
		skep_types_free((struct skep_kernel_types *)(uintptr_t)types);
}

int skep_types_need(struct skep_instance *inst, const struct skep_host *host, const struct skep_kernel_types *types,
		    const char *const tracepoints[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!skep_types_has_tracepoint(types, tracepoints[i]))
			return (host->fail)(inst, -EOPNOTSUPP, "the kernel has no tracepoint %s", tracepoints[i]);
	return 0;
}
