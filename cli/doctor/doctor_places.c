/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/doctor/doctor_places.c - checks permissions and free space of skepd's files and folders.
 */
#include "cli/doctor/doctor_places.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/human.h"
#include "cli/base/json_out.h"
#include "cli/base/text.h"
#include "cli/doctor/doctor_tables.h"
#include "core/config/config.h"
#include "core/control/control.h"

#define CONFIG_FILE SKEP_SYSCONF_DIR "/skepd.conf"
#define SPACE_LEAST (UINT64_C(1) << 30)
#define SPACE_LEAST_PERCENT 5u

/* Appends a fact and frees the text; NULL: no memory, leaves the fact out. */
static void say(json_t *list, const char *fact, const char *state, char *text)
{
	if (text)
		json_array_append_new(list, json_pack("{s:s, s:s, s:o}", "fact", fact, "state", state, "text",
						      json_out_string(text)));
	free(text);
}

/* 0 or -errno. */
static int look(const char *root, const char *path, struct stat *ret)
{
	char *whole = text_format("%s%s", root, path);
	int err = !whole ? -ENOMEM : stat(whole, ret) < 0 ? -errno : 0;

	free(whole);
	return err;
}

/* Names the users, other than root and the daemon's, who may change it; NULL: none. */
static const char *others_write(const struct stat *st)
{
	if (st->st_mode & S_IWOTH)
		return "everybody";
	return st->st_mode & S_IWGRP ? "its group" : NULL;
}

static void judge_config(json_t *list, const char *root, const char *file)
{
	struct stat st;
	int err = look(root, file, &st);

	if (err == -ENOENT)
		say(list, "configuration", "off",
		    text_format("%s does not exist: skepd needs one, skep run does not", file));
	else if (err < 0)
		say(list, "configuration", "partial", text_format("%s: %s", file, strerror(-err)));
	else if (others_write(&st))
		say(list, "configuration", "missing",
		    text_format("%s is writable by %s (mode %04o): skepd refuses it; chmod go-w %s", file,
				others_write(&st), (unsigned)(st.st_mode & 07777), file));
	else
		say(list, "configuration", "ok",
		    text_format("%s, mode %04o, uid %u%s", file, (unsigned)(st.st_mode & 07777), (unsigned)st.st_uid,
				st.st_mode & S_IROTH ? "; every user can read it, so keep secrets out of it" : ""));
}

static void judge_plugin_dirs(json_t *list, const char *root, const char *const *dirs)
{
	unsigned there = 0;

	for (; dirs && *dirs; dirs++) {
		struct stat st;
		int err = look(root, *dirs, &st);

		if (err == -ENOENT)
			continue;
		there++;
		if (err < 0)
			say(list, "plugin folder", "partial", text_format("%s: %s", *dirs, strerror(-err)));
		else if (others_write(&st))
			say(list, "plugin folder", "missing",
			    text_format(
				    "%s is writable by %s (mode %04o): every plugin in it is refused; chmod go-w %s",
				    *dirs, others_write(&st), (unsigned)(st.st_mode & 07777), *dirs));
		else
			say(list, "plugin folder", "ok",
			    text_format("%s, mode %04o, uid %u", *dirs, (unsigned)(st.st_mode & 07777),
					(unsigned)st.st_uid));
	}
	if (there == 0)
		say(list, "plugin folder", "missing", strdup("no folder of plugin_dirs exists: skepd has no plugin to load"));
}

static void judge_socket(json_t *list, const char *root, const char *path)
{
	struct stat st;
	int err = look(root, path, &st);

	if (err == -ENOENT)
		say(list, "control socket", "off",
		    text_format("%s does not exist: no skepd runs, or it has another socket", path));
	else if (err < 0)
		say(list, "control socket", "partial",
		    text_format("%s: %s%s", path, strerror(-err),
				err == -EACCES ? "; members of group skep may ask" : ""));
	else if (st.st_mode & S_IWOTH)
		say(list, "control socket", "partial",
		    text_format("%s has mode %04o: skepd made it 0660 and still checks each client; chmod 0660 "
			"it", path,
				(unsigned)(st.st_mode & 07777)));
	else
		say(list, "control socket", "ok",
		    text_format("%s, mode %04o, gid %u", path, (unsigned)(st.st_mode & 07777), (unsigned)st.st_gid));
}

/* The socket at which users who are not in group skep ask for their own runs. */
static void judge_open_socket(json_t *list, const char *root, const char *members)
{
	char *path = text_format("%s%s", members, CONTROL_OPEN_ENDING), *folder = strdup(members), *slash;
	struct stat st, above;

	slash = folder ? strrchr(folder, '/') : NULL;
	if (slash)
		*slash = '\0';
	if (path && slash && look(root, path, &st) == 0 && look(root, *folder ? folder : "/", &above) == 0) {
		if ((above.st_mode & S_IXOTH) && (st.st_mode & S_IWOTH))
			say(list, "own runs", "ok",
			    text_format("%s: users who are not in group skep see their own runs", path));
		else
			say(list, "own runs", "off",
			    text_format("%s is closed (mode %04o, its folder %04o): users who are not in group skep see no "
					"runs", path, (unsigned)(st.st_mode & 07777), (unsigned)(above.st_mode & 07777)));
	}
	free(path);
	free(folder);
}

/* Checks a mounted file system: user skep cannot use a mount that is read-only, or for root only. */
static void judge_access(json_t *list, const char *root, const json_t *facts, const char *fact, const char *use)
{
	const char *at = answer_text(facts, fact);
	char *name = text_format("%s access", fact), *whole = text_format("%s%s", root, at);
	struct stat st;

	if (*at && name && whole && stat(whole, &st) == 0) {
		if (access(whole, R_OK | W_OK | X_OK) == 0)
			say(list, name, "ok",
			    text_format("%s, mode %04o, uid %u: this user may use it", at,
					(unsigned)(st.st_mode & 07777), (unsigned)st.st_uid));
		else
			say(list, name, "partial",
			    text_format("%s, mode %04o, uid %u: this user may not (%s), %s", at,
					(unsigned)(st.st_mode & 07777), (unsigned)st.st_uid, strerror(errno), use));
	}
	free(name);
	free(whole);
}

static void judge_space(json_t *list, const char *root, const char *lake)
{
	char *path = text_format("%s%s", root, lake), *slash, buf[HUMAN_SIZE], all[HUMAN_SIZE];
	struct statvfs fs;
	uint64_t space, size;
	bool found;

	/* skepd creates the folder at its first start: before that, check the folder above. */
	while (!(found = path && statvfs(path, &fs) == 0) && path && errno == ENOENT && (slash = strrchr(path, '/')) &&
	       slash != path)
		*slash = '\0';
	if (found) {
		space = (uint64_t)fs.f_bavail * fs.f_frsize;
		size = (uint64_t)fs.f_blocks * fs.f_frsize;
		human_bytes(space, 0, buf);
		human_bytes(size, 0, all);
		if (space < SPACE_LEAST || space < size / 100 * SPACE_LEAST_PERCENT)
			say(list, "space for the lake", "partial",
			    text_format("%s: %s free of %s: make room, or remove the oldest lake-*.db", lake, buf,
					all));
		else
			say(list, "space for the lake", "ok", text_format("%s: %s free of %s", lake, buf, all));
		if ((uint64_t)fs.f_files > 0 && fs.f_favail < 100)
			say(list, "space for the lake", "partial",
			    text_format("%s: %" PRIu64 " inodes free", lake, (uint64_t)fs.f_favail));
	}
	free(path);
}

/* The path of the first sink "lake". */
static const char *lake_of(const struct config *config)
{
	for (size_t i = 0; config && i < config->n_sinks; i++) {
		const char *path = json_string_value(json_object_get(config->sinks[i].options, "path"));

		if (config->sinks[i].plugin && strcmp(config->sinks[i].plugin, "lake") == 0 && path)
			return path;
	}
	return SKEP_STATE_DIR "/lake";
}

void doctor_places(json_t *judged, const char *root, const json_t *facts, const char *config_file, const char *socket)
{
	static const char nothing[] = "{}";
	const char *file = config_file ? config_file : CONFIG_FILE;
	struct config *config = NULL;
	struct diag ignored; /* skepd -t reports it, with file and line */
	char *whole = text_format("%s%s", root, file);

	diag_init(&ignored);
	if (whole && access(whole, R_OK) == 0)
		config = config_load(whole, &ignored);
	if (!config)
		config = config_parse(nothing, sizeof(nothing) - 1, "defaults", &ignored);
	diag_clear(&ignored);
	free(whole);
	judge_config(judged, root, file);
	judge_plugin_dirs(judged, root, config ? config->plugin_dirs : NULL);
	if (!socket)
		socket = getenv("SKEP_SOCKET");
	if (!socket)
		socket = config && config->control_socket ? config->control_socket : CONTROL_SOCKET_DEFAULT;
	judge_socket(judged, root, socket);
	judge_open_socket(judged, root, socket);
	judge_access(judged, root, facts, "bpffs", "so nothing can be kept over a restart");
	judge_access(judged, root, facts, "tracefs", "so classic tracepoints cannot be attached");
	judge_space(judged, root, lake_of(config));
	doctor_tables(judged, config);
	config_free(config);
}

char *doctor_config_of_daemon(struct ctl *ctl)
{
	const int pid = ctl_peer_pid(ctl);
	json_t *answer = NULL;
	const char *at;
	char *file = NULL;

	if (ctl_send(ctl, json_pack("{s:s}", "request", "status")) == 0 && ctl_receive(ctl, 10000, &answer) == 0) {
		at = answer_text(answer, "config");
		/* these are files of the process that opens them */
		if (*at == '/' && strncmp(at, "/dev/", 5) != 0 && strncmp(at, "/proc/", 6) != 0)
			file = strdup(at);
		else if (*at && *at != '/' && pid > 0)
			file = text_format("/proc/%d/cwd/%s", pid, at);
	}
	json_decref(answer);
	return file;
}
