/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/disk_class.c - the class of a block device, by its name and by sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "disk.h"

/* By the driver's prefix (Documentation/admin-guide/devices.txt); the longest prefix decides. */
static const struct {
	const char *prefix, *class;
	bool memory, stacked;
} drivers[] = {
	{ "bcache", "bcache", false, true },
	{ "dasd", "dasd", false, false },
	{ "dm-", "dm", false, true },
	{ "drbd", "network", false, true }, /* also writes to a device below */
	{ "etherd", "network", false, false },
	{ "fd", "floppy", false, false },
	{ "loop", "loop", false, true },
	{ "md", "md", false, true },
	{ "mmcblk", "mmc", false, false },
	{ "mtdblock", "mtd", false, false },
	{ "nbd", "network", false, false },
	{ "nvme", "nvme", false, false },
	{ "pmem", "pmem", false, false },
	{ "ram", "ram", true, false },
	{ "rbd", "network", false, false },
	{ "sd", "scsi", false, false },
	{ "sr", "optical", false, false },
	{ "ublkb", "ublk", false, true },
	{ "ubi", "ubi", false, true },
	{ "vd", "virtio", false, false },
	{ "xvd", "xen", false, false },
	{ "zd", "zfs", false, true },
	{ "zram", "zram", true, false },
};

/* A line of /sys/class/block/NAME/FILE without its end; false: no such file. */
static bool read_line(const char *root, const char *name, const char *file, char *ret, size_t room)
{
	char path[4096];
	FILE *f;
	bool ok;

	if ((size_t)snprintf(path, sizeof(path), "%s/sys/class/block/%s/%s", root, name, file) >= sizeof(path))
		return false;
	f = fopen(path, "re");
	if (!f)
		return false;
	ok = fgets(ret, (int)room, f) != NULL;
	fclose(f);
	if (!ok)
		return false;
	ret[strcspn(ret, "\n")] = '\0';
	for (size_t n = strlen(ret); n > 0 && ret[n - 1] == ' '; n--)
		ret[n - 1] = '\0'; /* SCSI pads with spaces */
	return true;
}

/* Does the folder of the device have that file? */
static bool has(const char *root, const char *name, const char *file)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof(path), "%s/sys/class/block/%s/%s", root, name, file) >= sizeof(path))
		return false;
	return access(path, F_OK) == 0;
}

static bool has_slaves(const char *root, const char *name)
{
	char path[4096];
	struct dirent *e;
	bool some = false;
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s/sys/class/block/%s/slaves", root, name) >= sizeof(path))
		return false;
	dir = opendir(path);
	if (!dir)
		return false;
	while (!some && (e = readdir(dir)))
		some = e->d_name[0] != '.';
	closedir(dir);
	return some;
}

/*
 * NVMe multipath: nvme1n1 has no requests of its own, its paths nvme1c0n1 and nvme1c2n1 have them.  The paths are
 * hidden block devices.
 */
static bool nvme_has_paths(const char *root, const char *name)
{
	unsigned subsystem, space, s, c, n;
	char path[4096], rest;
	bool found = false;
	struct dirent *e;
	DIR *dir;

	if (sscanf(name, "nvme%un%u%c", &subsystem, &space, &rest) != 2)
		return false;
	if ((size_t)snprintf(path, sizeof(path), "%s/sys/class/block", root) >= sizeof(path))
		return false;
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (e = readdir(dir)))
		found = sscanf(e->d_name, "nvme%uc%un%u%c", &s, &c, &n, &rest) == 3 && s == subsystem && n == space;
	closedir(dir);
	return found;
}

void disk_describe(struct disk *d, const char *root)
{
	char name[sizeof(d->name)], line[64];
	size_t best = 0;

	memcpy(name, d->name, sizeof(name));
	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '!'; /* cciss/c0d0 in sysfs */
	d->class = "other";
	d->memory = d->stacked = d->rotational = false;
	d->model[0] = '\0';
	d->partition = has(root, name, "partition");
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		size_t n = strlen(drivers[i].prefix);

		if (n > best && strncmp(name, drivers[i].prefix, n) == 0) {
			best = n;
			d->class = drivers[i].class;
			d->memory = drivers[i].memory;
			d->stacked = drivers[i].stacked;
		}
	}
	d->stacked = d->stacked || has_slaves(root, name) || nvme_has_paths(root, name);
	d->rotational = read_line(root, name, "queue/rotational", line, sizeof(line)) && strcmp(line, "1") == 0;
	/* NVMe and SCSI have a model; of a virtio disk the serial number, which the owner of the host chooses */
	if (!read_line(root, name, "device/model", d->model, sizeof(d->model)))
		d->model[0] = '\0';
	/* nvme over a fabric */
	if (read_line(root, name, "device/transport", line, sizeof(line)) && strcmp(line, "pcie") != 0)
		d->class = "network";
}
