/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/disk_class.c - the description of a block device: its class, and what sysfs has about the hardware.
 */
#include <fcntl.h>
#include <string.h>

#include "disk.h"
#include "sdk/probe/block_class.h"
#include "sdk/probe/text.h"

/* A line of /sys/class/block/NAME/FILE without blanks at its ends (SCSI pads with them); "": no such file. */
static void read_line(const char *root, const char *name, const char *file, char *ret, size_t room)
{
	char path[4096];

	if (!skep_text_format(path, sizeof(path), "%s/sys/class/block/%s/%s", root, name, file) ||
	    skep_text_line_at(AT_FDCWD, path, ret, room))
		ret[0] = '\0';
}

void disk_describe(struct disk *d, const char *root)
{
	char name[sizeof(d->name)], line[64];
	struct skep_block_class is;

	memcpy(name, d->name, sizeof(name));
	for (char *c = name; *c; c++)
		if (*c == '/')
			*c = '!'; /* cciss/c0d0 in sysfs */
	skep_block_classify(root, name, &is);
	d->class = is.class;
	d->partition = is.partition;
	d->stacked = is.stacked;
	d->memory = is.memory;
	read_line(root, name, "queue/rotational", line, sizeof(line));
	d->rotational = strcmp(line, "1") == 0;
	/* NVMe and SCSI have a model; of a virtio disk the serial number, which the owner of the host chooses */
	read_line(root, name, "device/model", d->model, sizeof(d->model));
}
