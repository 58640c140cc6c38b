/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/io/fs_stats.c - reads the counters of the clients of network and parallel file systems.  Each client has a
 * format of its own:
 *
 *   nfs      /proc/self/mountstats              bytes and operations sent to the server, times
 *   cifs     /proc/fs/cifs/Stats                bytes and operations sent to the server
 *   lustre   (debugfs or proc) llite/FS-ID/stats  bytes and calls of programs, cached ones included
 *   ceph     debugfs ceph/FSID.CLIENT/metrics/size  bytes and operations sent to the servers (since 5.14)
 *   fuse     /sys/fs/fuse/connections/N/waiting   only how many requests wait
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fs.h"

#define MS 1000000u

/* ---- NFS -------------------------------------------------------------------- */

static struct fs *by_mount(struct filesystems *t, const char *mount)
{
	for (size_t i = 0; i < t->n; i++)
		if (strcmp(t->at[i].mount, mount) == 0 && strncmp(t->at[i].type, "nfs", 3) == 0)
			return &t->at[i];
	return NULL;
}

/* "device SOURCE mounted on MOUNT with fstype TYPE statvers=1.1", escaped as in mountinfo */
static struct fs *nfs_device(struct filesystems *t, char *line)
{
	char *mount = strstr(line, " mounted on "), *end;

	if (!mount)
		return NULL;
	mount += strlen(" mounted on ");
	end = strstr(mount, " with fstype ");
	if (!end)
		return NULL;
	*end = '\0';
	skep_mountinfo_unescape(mount);
	return by_mount(t, mount);
}

/* "READ: operations transmissions timeouts bytes_sent bytes_received queue_ms rtt_ms execute_ms [errors]" */
static void nfs_operation(struct fs_counters *c, const char *name, size_t len, const char *numbers)
{
	uint64_t v[9] = { 0 };
	int n = sscanf(numbers,
		       "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		       " %" SCNu64,
		       &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8]);

	if (n < 8)
		return;
	if (len == 4 && memcmp(name, "READ", 4) == 0)
		c->read_operations += v[0];
	else if (len == 5 && memcmp(name, "WRITE", 5) == 0)
		c->write_operations += v[0];
	else
		c->other_operations += v[0];
	c->retransmissions += v[1] > v[0] ? v[1] - v[0] : 0;
	c->timeouts += v[2];
	c->queue_ns += v[5] * MS;
	c->rtt_ns += v[6] * MS;
	c->errors += v[8]; /* since 5.3 */
}

void fs_read_nfs(struct filesystems *t, FILE *file)
{
	struct fs *f = NULL;
	bool operations = false;

	while (getline(&t->line, &t->line_room, file) > 0) {
		char *at = t->line + strspn(t->line, " \t"), *colon;
		uint64_t read_bytes, write_bytes;

		if (strncmp(at, "device ", 7) == 0) {
			f = nfs_device(t, at);
			operations = false;
			if (f) {
				f->now = (struct fs_counters){ 0 };
				f->counted = true;
			}
		} else if (f && strncmp(at, "bytes:", 6) == 0) {
			/* normal read, written, direct read, written, server read, written, pages read, written */
			if (sscanf(at + 6, "%*u %*u %*u %*u %" SCNu64 " %" SCNu64, &read_bytes, &write_bytes) == 2) {
				f->now.read_bytes = read_bytes;
				f->now.write_bytes = write_bytes;
			}
		} else if (f && strncmp(at, "per-op", 6) == 0) {
			operations = true;
		} else if (f && operations && (colon = strchr(at, ':'))) {
			nfs_operation(&f->now, at, (size_t)(colon - at), colon + 1);
		}
	}
}

/* ---- CIFS -------------------------------------------------------------------- */

/* mountinfo names "1) \\server\share" as "//server/share[/folder]" */
static bool same_share(const char *unc, const char *source)
{
	size_t i;

	for (i = 0; unc[i] && unc[i] != '\n' && unc[i] != '\t'; i++) {
		char c = unc[i] == '\\' ? '/' : unc[i];

		if (source[i] != c)
			return false;
	}
	return i > 2 && (source[i] == '\0' || source[i] == '/');
}

static struct fs *by_share(struct filesystems *t, const char *unc)
{
	for (size_t i = 0; i < t->n; i++)
		if ((strcmp(t->at[i].type, "cifs") == 0 || strcmp(t->at[i].type, "smb3") == 0) &&
		    same_share(unc, t->at[i].source) && !t->at[i].counted)
			return &t->at[i];
	return NULL;
}

void fs_read_cifs(struct filesystems *t, FILE *file)
{
	struct fs *f = NULL;

	while (getline(&t->line, &t->line_room, file) > 0) {
		uint64_t a, b;
		int at = 0;

		if (sscanf(t->line, "%*u) %n", &at) == 0 && at > 0) {
			f = by_share(t, t->line + at);
			if (f) {
				f->now = (struct fs_counters){ 0 };
				f->counted = true;
			}
		} else if (!f) {
			continue;
		} else if (sscanf(t->line, "Bytes read: %" SCNu64 " Bytes written: %" SCNu64, &a, &b) == 2) {
			f->now.read_bytes = a;
			f->now.write_bytes = b;
		} else if (sscanf(t->line, "Reads: %" SCNu64 " %*s %" SCNu64 " failed", &a, &b) == 2) {
			f->now.read_operations = a; /* "total" up to 6.0, "sent" after */
			f->now.errors += b;
		} else if (sscanf(t->line, "Writes: %" SCNu64 " %*s %" SCNu64 " failed", &a, &b) == 2) {
			f->now.write_operations = a;
			f->now.errors += b;
		} else if (sscanf(t->line, "%*[A-Za-z]: %" SCNu64 " %*s %" SCNu64 " failed", &a, &b) == 2) {
			f->now.other_operations += a;
			f->now.errors += b;
		}
	}
}

/* ---- Lustre ------------------------------------------------------------------- */

void fs_read_lustre(struct fs *f, FILE *file)
{
	struct fs_counters c = { 0 };
	char line[512], name[64], unit[32];
	bool some = false;

	while (fgets(line, sizeof(line), file)) {
		uint64_t samples, sum = 0;
		/*
		 * "read_bytes 25673 samples [bytes] 1 3366225 145121869", without the last three where the unit is
		 * [regs]
		 */
		int n = sscanf(line, "%63s %" SCNu64 " samples %31s %*u %*u %" SCNu64, name, &samples, unit, &sum);

		if (n < 3)
			continue;
		some = true;
		if (strcmp(name, "read_bytes") == 0) {
			c.read_operations = samples;
			c.read_bytes = sum;
		} else if (strcmp(name, "write_bytes") == 0) {
			c.write_operations = samples;
			c.write_bytes = sum;
		} else if (strcmp(name, "read") != 0 &&
			   strcmp(name, "write") != 0) { /* times of the same calls, since 2.13 */
			c.other_operations += samples;
		}
	}
	if (some) {
		f->now = c;
		f->counted = true;
	}
}

/* ---- Ceph --------------------------------------------------------------------- */

void fs_read_ceph(struct fs *f, FILE *file)
{
	struct fs_counters c = { 0 };
	char line[512], name[64];
	bool some = false;

	while (fgets(line, sizeof(line), file)) {
		uint64_t total, sum;

		/* item total average smallest largest sum */
		if (sscanf(line, "%63s %" SCNu64 " %*u %*u %*u %" SCNu64, name, &total, &sum) != 3)
			continue;
		if (strcmp(name, "read") == 0) {
			c.read_operations = total;
			c.read_bytes = sum;
			some = true;
		} else if (strcmp(name, "write") == 0) {
			c.write_operations = total;
			c.write_bytes = sum;
			some = true;
		}
	}
	if (some) {
		f->now = c;
		f->counted = true;
	}
}

/* ---- the files of each client ------------------------------------------------------------- */

static FILE *open_below(const char *root, const char *path, const char *name, const char *file)
{
	char whole[4096];

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s/%s/%s", root, path, name, file) >= sizeof(whole))
		return NULL;
	return fopen(whole, "re");
}

static void with_file(const char *root, const char *path, struct filesystems *t,
		      void (*read)(struct filesystems *, FILE *))
{
	char whole[4096];
	FILE *f;

	if ((size_t)snprintf(whole, sizeof(whole), "%s%s", root, path) >= sizeof(whole))
		return;
	f = fopen(whole, "re");
	if (!f)
		return;
	read(t, f);
	fclose(f);
}

/*
 * Finds the client of this mount in a folder of clients.  A Lustre client has the name "FSNAME-" and an address, and
 * the source of the mount ends in ":/FSNAME".  mountinfo has nothing of the names of Ceph clients, so a mount of Ceph
 * finds its client only when the folder has a single one.
 */
static bool client_of(const struct fs *f, const char *entry)
{
	const char *name;
	size_t len;

	if (entry[0] == '.')
		return false;
	if (strcmp(f->type, "lustre") != 0)
		return true;
	name = strstr(f->source, ":/");
	if (!name)
		return false;
	name += 2;
	len = strcspn(name, "/");
	return len > 0 && strncmp(entry, name, len) == 0 && entry[len] == '-';
}

static bool read_client(struct fs *f, const char *root, const char *folder, const char *file,
			void (*read)(struct fs *, FILE *))
{
	char path[4096], name[256] = "";
	unsigned clients = 0;
	struct dirent *e;
	FILE *stats;
	DIR *dir;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", root, folder) >= sizeof(path))
		return false;
	dir = opendir(path);
	if (!dir)
		return false;
	while ((e = readdir(dir)))
		if (client_of(f, e->d_name) && clients++ == 0)
			snprintf(name, sizeof(name), "%s", e->d_name);
	closedir(dir);
	if (clients != 1)
		return false; /* none, or several */
	stats = open_below(root, folder, name, file);
	if (!stats)
		return false;
	read(f, stats);
	fclose(stats);
	return true;
}

static void read_waiting(struct fs *f, const char *root)
{
	uint64_t waiting;
	char number[16];
	FILE *file;

	/* the name of a connection is the device number of its super block, whose major number is 0 */
	snprintf(number, sizeof(number), "%" PRIu32, f->minor);
	file = open_below(root, "/sys/fs/fuse/connections", number, "waiting");
	if (!file)
		return;
	if (fscanf(file, "%" SCNu64, &waiting) == 1) {
		f->now.waiting = waiting;
		f->counted = true;
	}
	fclose(file);
}

void fs_stats_pass(struct filesystems *t, const char *root)
{
	bool nfs = false, cifs = false;

	for (size_t i = 0; i < t->n; i++) {
		struct fs *f = &t->at[i];

		f->counted = false;
		if (strncmp(f->type, "nfs", 3) == 0) {
			nfs = true;
		} else if (strcmp(f->type, "cifs") == 0 || strcmp(f->type, "smb3") == 0) {
			cifs = true;
		} else if (strcmp(f->type, "lustre") == 0) {
			if (!read_client(f, root, "/sys/kernel/debug/lustre/llite", "stats", fs_read_lustre))
				read_client(f, root, "/proc/fs/lustre/llite", "stats", fs_read_lustre); /* up to 2.10 */
		} else if (strcmp(f->type, "ceph") == 0) {
			read_client(f, root, "/sys/kernel/debug/ceph", "metrics/size", fs_read_ceph);
		} else if (strncmp(f->type, "fuse", 4) == 0 || strcmp(f->type, "virtiofs") == 0) {
			read_waiting(f, root);
		}
	}
	if (nfs)
		with_file(root, "/proc/self/mountstats", t, fs_read_nfs);
	if (cifs)
		with_file(root, "/proc/fs/cifs/Stats", t, fs_read_cifs);
}
