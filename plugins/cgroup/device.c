/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/cgroup/device.c - the block devices that count. The kernel accounts a request to a device-mapper or md device
 * there and again at the device below: the sum of both would count every byte twice.
 */
#include <dirent.h>
#include <stdio.h>

#include "state.h"

static bool lies_on_others(const char *root, unsigned major, unsigned minor)
{
	const struct dirent *entry;
	bool found = false;
	char path[512];
	DIR *dir;

	if (snprintf(path, sizeof(path), "%s/sys/dev/block/%u:%u/slaves", root, major, minor) >= (int)sizeof(path))
		return false;
	dir = opendir(path); /* partitions have none */
	if (!dir)
		return false;
	while (!found && (entry = readdir(dir)))
		found = entry->d_name[0] != '.';
	closedir(dir);
	return found;
}

bool cgroup_device_counts(void *arg, unsigned major, unsigned minor)
{
	struct cgroup_devices *d = arg;
	unsigned i;

	for (i = 0; i < d->n; i++)
		if (d->known[i].major == major && d->known[i].minor == minor)
			return d->known[i].counts;
	if (d->n == CGROUP_DEVICES) /* drops all entries: each costs only another look at a folder */
		d->n = 0;
	i = d->n++;
	d->known[i].major = major;
	d->known[i].minor = minor;
	d->known[i].counts = !lies_on_others(d->root, major, minor);
	return d->known[i].counts;
}
