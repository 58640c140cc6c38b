/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes the text of the label "host".
 */
#include "sinks/prometheus/settings.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

int settings_host(const struct settings *s, struct skep_instance *i, const struct skep_host *host, char **ret)
{
	char name[256] = "";

	if (!s->host_label && gethostname(name, sizeof(name)) != 0)
		return host->fail(i, -errno, "cannot read the host's name: %s; set \"host\"", strerror(errno));
	name[sizeof(name) - 1] = '\0';
	*ret = strdup(s->host_label ? s->host_label : name);
	return *ret ? 0 : host->fail(i, -ENOMEM, "out of memory");
}
