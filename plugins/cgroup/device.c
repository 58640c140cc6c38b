/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/device.c - the block devices that count. The kernel charges a request to a device-mapper, md or loop
 * device there and again at the device below: the sum of both would count every byte twice.
 */
#include <string.h>
#include <unistd.h>

#include "sdk/probe/block_class.h"
#include "sdk/probe/text.h"
#include "state.h"

static bool counts(const char *root, unsigned major, unsigned minor)
{
	char path[512], target[4096];
	struct skep_block_class is;
	const char *slash;
	ssize_t n;

	if (!skep_text_format(path, sizeof(path), "%s/sys/dev/block/%u:%u", root, major, minor))
		return true;
	n = readlink(path, target, sizeof(target) - 1); /* ../../devices/virtual/block/dm-0 */
	if (n < 0)
		return true; /* removed */
	target[n] = '\0';
	slash = strrchr(target, '/');
	skep_block_classify(root, slash ? slash + 1 : target, &is);
	return !is.charged_elsewhere;
}

bool cgroup_device_counts(void *arg, unsigned major, unsigned minor)
{
	struct cgroup_devices *d = arg;
	unsigned i;

	for (i = 0; i < d->n; i++)
		if (d->known[i].major == major && d->known[i].minor == minor)
			return d->known[i].counts;
	if (d->n == CGROUP_DEVICES) /* drops all entries: each costs only another look at sysfs */
		d->n = 0;
	i = d->n++;
	d->known[i].major = major;
	d->known[i].minor = minor;
	d->known[i].counts = counts(d->root, major, minor);
	return d->known[i].counts;
}
