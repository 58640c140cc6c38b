/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/probe/block_class.c - what a block device is, by its name and by sysfs.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "block_class.h"
#include "text.h"

enum { MEMORY = 1, STACKED = 2, CHARGED_BELOW = 4 };

/* By the driver's prefix (Documentation/admin-guide/devices.txt); the longest prefix decides. */
static const struct {
	const char *prefix, *class;
	unsigned flags;
} drivers[] = {
	{ "bcache", "bcache", STACKED | CHARGED_BELOW },
	{ "dasd", "dasd", 0 },
	{ "dm-", "dm", STACKED | CHARGED_BELOW },
	{ "drbd", "network", STACKED | CHARGED_BELOW }, /* also writes to a device below */
	{ "etherd", "network", 0 },
	{ "fd", "floppy", 0 },
	{ "loop", "loop", STACKED | CHARGED_BELOW }, /* since 5.14, before only with direct I/O */
	{ "md", "md", STACKED | CHARGED_BELOW },
	{ "mmcblk", "mmc", 0 },
	{ "mtdblock", "mtd", 0 },
	{ "nbd", "network", 0 },
	{ "nvme", "nvme", 0 },
	{ "pmem", "pmem", 0 },
	{ "ram", "ram", MEMORY },
	{ "rbd", "network", 0 },
	{ "sd", "scsi", 0 },
	{ "sr", "optical", 0 },
	{ "ublkb", "ublk", STACKED },
	{ "ubi", "ubi", STACKED },
	{ "vd", "virtio", 0 },
	{ "xvd", "xen", 0 },
	{ "zd", "zfs", STACKED },
	{ "zram", "zram", MEMORY },
};

static unsigned by_driver(const char *name, const char **ret_class)
{
	unsigned flags = 0;
	size_t best = 0;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		size_t n = strlen(drivers[i].prefix);

		if (n > best && strncmp(name, drivers[i].prefix, n) == 0) {
			best = n;
			*ret_class = drivers[i].class;
			flags = drivers[i].flags;
		}
	}
	return flags;
}

static DIR *open_folder(const char *root, const char *name, const char *folder)
{
	char path[4096];

	return skep_text_format(path, sizeof(path), "%s/sys/class/block%s%s", root, name, folder) ? opendir(path) : NULL;
}

/* name: with a slash in front */
static bool has_slaves(const char *root, const char *name)
{
	DIR *dir = open_folder(root, name, "/slaves"); /* partitions have none */
	const struct dirent *e;
	bool some = false;

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
static bool is_nvme_path(const char *name, unsigned *ret_subsystem, unsigned *ret_space)
{
	unsigned controller;
	char rest;

	return sscanf(name, "nvme%uc%un%u%c", ret_subsystem, &controller, ret_space, &rest) == 3;
}

static bool nvme_has_paths(const char *root, const char *name)
{
	unsigned subsystem, space, s, n;
	const struct dirent *e;
	bool found = false;
	char rest;
	DIR *dir;

	if (sscanf(name, "nvme%un%u%c", &subsystem, &space, &rest) != 2)
		return false;
	dir = open_folder(root, "", "");
	if (!dir)
		return false;
	while (!found && (e = readdir(dir)))
		found = is_nvme_path(e->d_name, &s, &n) && s == subsystem && n == space;
	closedir(dir);
	return found;
}

void skep_block_classify(const char *root, const char *name, struct skep_block_class *ret)
{
	char in_sysfs[256], path[4096], line[64];
	unsigned flags, ignored;
	bool slaves;

	*ret = (struct skep_block_class){ .class = "other" };
	if (!skep_text_format(in_sysfs, sizeof(in_sysfs), "/%s", name))
		return;
	for (char *c = in_sysfs + 1; *c; c++)
		if (*c == '/')
			*c = '!'; /* cciss/c0d0 in sysfs */
	flags = by_driver(name, &ret->class);
	slaves = has_slaves(root, in_sysfs);
	ret->memory = flags & MEMORY;
	ret->stacked = flags & STACKED || slaves || nvme_has_paths(root, name);
	/* From an NVMe head to a path a request keeps its mark that it is charged: the head has its bytes. */
	ret->charged_elsewhere = flags & CHARGED_BELOW || slaves || is_nvme_path(name, &ignored, &ignored);
	if (skep_text_format(path, sizeof(path), "%s/sys/class/block%s/partition", root, in_sysfs))
		ret->partition = access(path, F_OK) == 0;
	/* nvme over a fabric */
	if (skep_text_format(path, sizeof(path), "%s/sys/class/block%s/device/transport", root, in_sysfs) &&
	    skep_text_line_at(AT_FDCWD, path, line, sizeof(line)) == 0 && strcmp(line, "pcie") != 0)
		ret->class = "network";
}
