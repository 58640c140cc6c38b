/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/plugin/plugin.c - finds, checks and loads plugin files.
 *
 * skepd executes none of a plugin's code before it has checked the file, the directory and the note. It checks
 * them all on one open file descriptor. The load itself uses the path, not /proc/self/fd/N. glibc recognizes a
 * loaded object by comparing names first, so a reused descriptor number would return the earlier plugin; and
 * maps, gdb and backtraces would show no readable name. The path stays safe: skepd checks that only root and
 * its own user can write the file and every directory above it (after a privileged start only root). After the
 * load it checks again that the file has not changed.
 */
#include "core/plugin/plugin.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/log.h"
#include "core/plugin/note.h"
#include "core/base/trust.h"
#include "filters/suggest.h"

#define WHY_SIZE 1024 /* for messages; snprintf truncates, and no code parses them */

/* Loaded plugins; they stay loaded. Loop thread only. */
static struct plugin *plugin_loaded;

/* An open plugin file. */
struct plugin_file {
	char *path;
	int fd;
	struct stat st;
};

static void plugin_file_close(struct plugin_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	file->fd = -1;
	file->path = NULL;
}

/* The owner must be trusted, and no other user may have write permission. */
static int plugin_check_owner(const struct stat *st, const char *path, const char *what, char *why, size_t why_size)
{
	if (!trust_uid(st->st_uid)) {
		snprintf(why, why_size, "%s: %s is owned by uid %u, not by root%s; chown root it, or remove it", path,
			 what, (unsigned)st->st_uid,
			 privileged_start()  ? " (a program with file capabilities loads only root's)"
			 : geteuid() != 0 ? " or by who runs this"
					  : "");
		return -EPERM;
	}
	if (st->st_mode & (S_IWGRP | S_IWOTH)) {
		snprintf(why, why_size,
			 "%s: %s is writable by %s (mode %04o); its writers can run code as this daemon; chmod go-w it",
			 path, what, st->st_mode & S_IWOTH ? "everybody" : "its group",
			 (unsigned)(st->st_mode & 07777));
		return -EPERM;
	}
	return 0;
}

/*
 * Opens DIR/NAME.so and checks the file and DIR. -ENOENT with an empty why: the file or the directory does not
 * exist.
 */
static int plugin_file_open(const char *dir, const char *file_name, struct plugin_file *ret, char *why, size_t why_size)
{
	struct plugin_file file = { .fd = -1 };
	struct stat dir_st;
	char *real = NULL;
	int dir_fd = -1;
	int err = 0;

	why[0] = '\0';
	/* Symlinks may lead to the directory (merged /usr); the checks apply to their target. */
	real = realpath(dir, NULL);
	if (!real) {
		err = -errno;
		if (err != -ENOENT && err != -ENOTDIR)
			snprintf(why, why_size, "%s: plugin directory cannot be reached: %s", dir, strerror(-err));
		else
			err = -ENOENT;
		goto out;
	}
	if (asprintf(&file.path, "%s/%s", real, file_name) < 0) {
		file.path = NULL;
		err = -ENOMEM;
		snprintf(why, why_size, "%s: out of memory", dir);
		goto out;
	}
	dir_fd = open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir_fd < 0 || fstat(dir_fd, &dir_st) < 0) {
		err = -errno;
		if (err == -ENOTDIR)
			err = -ENOENT;
		else
			snprintf(why, why_size, "%s: plugin directory cannot be opened: %s", real, strerror(-err));
		goto out;
	}
	/* O_NONBLOCK: open() of a FIFO must not block skepd. */
	file.fd = openat(dir_fd, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (file.fd < 0) {
		err = -errno;
		if (err == -ELOOP) {
			err = -EPERM;
			snprintf(why, why_size,
				 "%s: a symbolic link; plugins must be regular files: copy the file itself there",
				 file.path);
		} else if (err != -ENOENT) {
			snprintf(why, why_size, "%s: cannot be opened: %s", file.path, strerror(-err));
		}
		goto out;
	}
	if (fstat(file.fd, &file.st) < 0) {
		err = -errno;
		snprintf(why, why_size, "%s: cannot be examined: %s", file.path, strerror(-err));
		goto out;
	}
	if (!S_ISREG(file.st.st_mode)) {
		err = -EPERM;
		snprintf(why, why_size, "%s: not a regular file; plugins must be regular files", file.path);
		goto out;
	}
	err = plugin_check_owner(&dir_st, real, "the plugin directory", why, why_size);
	if (err < 0)
		goto out;
	err = plugin_check_owner(&file.st, file.path, "the plugin", why, why_size);
	if (err < 0)
		goto out;
	err = trust_folders(real, why, why_size);
	if (err < 0)
		goto out;
	*ret = file;
	file = (struct plugin_file) { .fd = -1 };
out:
	if (dir_fd >= 0)
		close(dir_fd);
	free(real);
	plugin_file_close(&file);
	return err;
}

/* Reads the note of an open file. Checks its kind (0: any) and that NAME.so contains the plugin NAME. */
static int plugin_file_note(const struct plugin_file *file, const char *file_name, uint32_t kind,
			    struct skep_plugin_note *ret_note, bool *ret_read, char *why, size_t why_size)
{
	size_t stem = strlen(file_name) - strlen(".so");
	int err;

	*ret_read = false;
	err = note_read_fd(file->fd, file->path, ret_note, why, why_size);
	if (err < 0)
		return err;
	*ret_read = true;
	err = note_compatible(ret_note, file->path, kind, why, why_size);
	if (err < 0)
		return err;
	if (strlen(ret_note->name) != stem || memcmp(ret_note->name, file_name, stem) != 0) {
		snprintf(why, why_size, "%s: carries the plugin \"%s\"; name the file %s.so", file->path,
			 ret_note->name, ret_note->name);
		return -ENOEXEC;
	}
	return 0;
}

static bool plugin_unchanged(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static struct plugin *plugin_free(struct plugin *plugin)
{
	if (plugin) {
		free(plugin->path);
		free(plugin);
	}
	return NULL;
}

/* Calls dlopen and the entry function: from here on the plugin's code runs. */
static int plugin_file_load(const struct plugin_file *file, const struct skep_plugin_note *note, struct diag *diag,
			    struct plugin **ret)
{
	struct plugin *plugin = NULL;
	skep_plugin_entry_fn entry;
	char why[WHY_SIZE];
	struct stat st;
	void *handle;
	int err;

	plugin = calloc(1, sizeof(*plugin));
	if (!plugin || !(plugin->path = strdup(file->path))) {
		err = -ENOMEM;
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "%s: out of memory", file->path);
		goto out;
	}
	/*
	 * RTLD_NOW: a symbol that this machine's libraries lack causes an error with its name now, not a crash
	 * later.
	 */
	handle = dlopen(file->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!handle) {
		err = -ENOEXEC;
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "%s: cannot be loaded: %s", file->path, dlerror());
		goto out;
	}
	if (stat(file->path, &st) < 0 || !plugin_unchanged(&file->st, &st)) {
		err = -EPERM;
		diag_add(diag, DIAG_ERROR, NULL, 0, 0,
			 "%s: the file changed while it was loaded; restart skepd when the copy is "
			 "complete", file->path);
		goto out;
	}
	/* ISO C has no cast from void * to a function pointer; POSIX recommends this form. */
	*(void **)&entry = dlsym(handle, SKEP_ENTRY_SYMBOL);
	if (!entry) {
		err = -ENOEXEC;
		diag_add(diag, DIAG_ERROR, NULL, 0, 0,
			 "%s: does not export " SKEP_ENTRY_SYMBOL "(); use SKEP_PLUGIN() once, and link "
			 "with that symbol visible",
			 file->path);
		goto out;
	}
	/* No instance exists yet, so there is no host table; entry functions of ABI 1.x ignore the argument. */
	plugin->desc = entry(NULL);
	err = plugin_check_descriptor(plugin->desc, note, file->path, why, sizeof(why));
	if (err < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "%s", why);
		goto out;
	}
	plugin->note = *note;
	plugin->dev = st.st_dev;
	plugin->ino = st.st_ino;
	*ret = plugin;
	plugin = NULL;
	err = 0;
out:
	plugin_free(plugin);
	return err;
}

static void plugin_add_not_found(const char *const *dirs, const char *name, struct diag *diag);

int plugin_load(const char *const *dirs, const char *name, uint32_t kind, struct diag *diag, struct plugin **ret)
{
	struct plugin_file file = { .path = NULL, .fd = -1 };
	struct skep_plugin_note note;
	struct plugin *plugin;
	char *file_name = NULL;
	char why[WHY_SIZE];
	bool was_read;
	int err = -ENOENT;

	if (option_text_check(&config_plugin_name, name) < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0,
			 "plugin name \"%s\": 1 to %zu letters, digits, _ and - are accepted; "
			 "directories go into plugin_dirs",
			 name, sizeof(note.name) - 1);
		return -EINVAL;
	}
	if (asprintf(&file_name, "%s.so", name) < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "plugin \"%s\": out of memory", name);
		return -ENOMEM;
	}
	/* The first directory that has the file decides: a later directory does not replace a refused file. */
	for (size_t i = 0; dirs[i]; i++) {
		err = plugin_file_open(dirs[i], file_name, &file, why, sizeof(why));
		if (err != -ENOENT)
			break;
	}
	if (err == -ENOENT) {
		plugin_add_not_found(dirs, name, diag);
		goto out;
	}
	if (err < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "%s", why);
		goto out;
	}
	assert(file.path); /* plugin_file_open sets it on success */
	for (plugin = plugin_loaded; plugin; plugin = plugin->next) {
		if (strcmp(plugin->path, file.path) != 0)
			continue;
		if (plugin->dev != file.st.st_dev || plugin->ino != file.st.st_ino)
			log_notice("%s: the file was replaced; skepd uses the loaded one until a restart",
				   file.path);
		err = note_compatible(&plugin->note, file.path, kind, why, sizeof(why));
		if (err < 0)
			diag_add(diag, DIAG_ERROR, NULL, 0, 0, "%s", why);
		else
			*ret = plugin;
		goto out;
	}
	err = plugin_file_note(&file, file_name, kind, &note, &was_read, why, sizeof(why));
	if (err < 0) {
		diag_add(diag, DIAG_ERROR, NULL, 0, 0, "%s", why);
		goto out;
	}
	err = plugin_file_load(&file, &note, diag, &plugin);
	if (err < 0)
		goto out;
	plugin->next = plugin_loaded;
	plugin_loaded = plugin;
	*ret = plugin;
out:
	plugin_file_close(&file);
	free(file_name);
	return err;
}

static int plugin_is_so(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 3 && strcmp(entry->d_name + len - 3, ".so") == 0;
}

void plugin_list(const char *const *dirs,
		 void (*cb)(const char *path, const struct skep_plugin_note *, const char *why, void *arg), void *arg)
{
	for (size_t i = 0; dirs[i]; i++) {
		struct dirent **entries;
		int n = scandir(dirs[i], &entries, plugin_is_so, alphasort);

		for (int k = 0; k < n; k++) {
			struct plugin_file file = { .path = NULL, .fd = -1 };
			struct skep_plugin_note note;
			bool was_read = false;
			char why[WHY_SIZE];
			char *path = NULL;
			int err = plugin_file_open(dirs[i], entries[k]->d_name, &file, why, sizeof(why));

			if (err == 0)
				err = plugin_file_note(&file, entries[k]->d_name, 0, &note, &was_read, why,
						       sizeof(why));
			else if (err == -ENOENT)
				snprintf(why, sizeof(why), "%s/%s: removed while skepd read the "
					"folder", dirs[i], entries[k]->d_name);
			if (!file.path && asprintf(&path, "%s/%s", dirs[i], entries[k]->d_name) < 0)
				path = NULL;
			cb(file.path ? file.path
			   : path    ? path
				     : entries[k]->d_name,
			   was_read ? &note : NULL, err < 0 ? why : NULL, arg);
			free(path);
			plugin_file_close(&file);
			free(entries[k]);
		}
		if (n >= 0)
			free(entries);
	}
}

/* Names of valid plugins, for a suggestion. */
struct plugin_names {
	char **names; /* NULL-terminated */
	size_t n;
};

static void plugin_collect_name(const char *path, const struct skep_plugin_note *note, const char *why, void *arg)
{
	struct plugin_names *names = arg;
	char **more;

	(void)path;
	if (!note || why)
		return;
	more = realloc(names->names, (names->n + 2) * sizeof(*more));
	if (!more)
		return;
	names->names = more;
	more[names->n] = strdup(note->name);
	if (more[names->n])
		names->n++;
	more[names->n] = NULL;
}

/* The default of plugin_dirs has one folder twice in an installation below /usr/local. */
static bool is_listed_before(const char *const *dirs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(dirs[k], dirs[i]) == 0)
			return true;
	return false;
}

static void plugin_add_not_found(const char *const *dirs, const char *name, struct diag *diag)
{
	struct plugin_names names = { NULL, 0 };
	const char *near = NULL;
	char *where = NULL;
	size_t size = 0;
	FILE *f;

	plugin_list(dirs, plugin_collect_name, &names);
	if (names.names)
		near = suggest_nearest(name, (const char *const *)names.names);
	f = open_memstream(&where, &size);
	if (f) {
		for (size_t i = 0; dirs[i]; i++)
			if (!is_listed_before(dirs, i))
				fprintf(f, "%s%s", i > 0 ? ", " : "", dirs[i]);
		if (fclose(f) != 0) {
			free(where);
			where = NULL;
		}
	}
	diag_add(diag, DIAG_ERROR, NULL, 0, 0, "no plugin \"%s\": there is no %s.so in %s; %s%s%s", name, name,
		 where && where[0] ? where : "plugin_dirs",
		 near ? "did you mean \"" : "plugin_dirs or SKEP_PLUGIN_DIRS names its folder", near ? near : "",
		 near ? "\"?" : "");
	for (size_t i = 0; i < names.n; i++)
		free(names.names[i]);
	free(names.names);
	free(where);
}
