/* SPDX-License-Identifier: Apache-2.0 */
/*
 * core/identify/engine_file.c - reads engines' control files as the user whose task they describe.
 *
 * The worker changes its file-system user (setfsuid), not its real one: the user can neither signal nor trace it, and
 * a FUSE server of that user, which may never answer, refuses it.
 */
#include "core/identify/engine_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <skep/procfile.h>
#include <skep/utf8.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/identify/engine_log.h"

#define GROUPS_MOST 256u
#define MTIME_SLACK_NS 5000000000u /* between this host's clock and a file server's */

/* ---- messages --------------------------------------------------------------------- */

struct head {
	uint32_t uid, gid, pid, has_path, has_where, has_log, standard_error, n_values, n_wanted;
};
struct wanted_head {
	uint64_t since_ns;
	uint32_t len, cut;
};

static bool put(char *room, size_t size, size_t *at, const void *bytes, size_t len)
{
	if (len > size - *at)
		return false;
	if (len)
		memcpy(room + *at, bytes, len);
	*at += len;
	return true;
}

ssize_t engine_file_pack(const struct engine_file *f, char *room, size_t size)
{
	struct head head = { .uid = f->uid,
			     .gid = f->gid,
			     .pid = f->pid,
			     .has_path = f->path != NULL,
			     .has_where = f->where != NULL,
			     .has_log = f->log != NULL,
			     .standard_error = f->standard_error,
			     .n_wanted = f->n_wanted };
	const char *const texts[] = { f->path, f->where, f->log };
	size_t at = 0;
	bool fits;

	while (head.n_values < ENGINE_FILE_VALUES && f->values[head.n_values])
		head.n_values++;
	fits = put(room, size, &at, &head, sizeof(head));
	for (uint32_t i = 0; i < f->n_wanted && fits; i++) {
		const struct engine_file_wanted *w = &f->wanted[i];
		const struct wanted_head one = { w->since_ns, w->text.len, w->cut };

		fits = put(room, size, &at, &one, sizeof(one)) && put(room, size, &at, w->text.ptr, w->text.len);
	}
	for (size_t i = 0; i < 3 && fits; i++)
		fits = !texts[i] || put(room, size, &at, texts[i], strlen(texts[i]) + 1);
	for (uint32_t i = 0; i < head.n_values && fits; i++)
		fits = put(room, size, &at, f->values[i], strlen(f->values[i]) + 1);
	return fits ? (ssize_t)at : -EMSGSIZE;
}

static bool get(const char *message, size_t len, size_t *at, void *ret, size_t size)
{
	if (size > len - *at)
		return false;
	memcpy(ret, message + *at, size);
	*at += size;
	return true;
}

/* A text that ends in a 0; NULL: none is left. */
static const char *get_text(const char *message, size_t len, size_t *at)
{
	const char *text = message + *at, *end = *at < len ? memchr(text, '\0', len - *at) : NULL;

	if (!end)
		return NULL;
	*at += (size_t)(end - text) + 1;
	return text;
}

int engine_file_unpack(const char *message, size_t len, struct engine_file *ret)
{
	struct engine_file f = { 0 };
	struct head head;
	size_t at = 0;

	if (!get(message, len, &at, &head, sizeof(head)) || head.n_values > ENGINE_FILE_VALUES ||
	    head.n_wanted == 0 || head.n_wanted > ENGINE_FILE_WANTED)
		return -EBADMSG;
	f.uid = head.uid;
	f.gid = head.gid;
	f.pid = head.pid;
	f.standard_error = head.standard_error != 0;
	f.n_wanted = head.n_wanted;
	for (uint32_t i = 0; i < head.n_wanted; i++) {
		struct wanted_head one;

		if (!get(message, len, &at, &one, sizeof(one)) || one.len > len - at)
			return -EBADMSG;
		f.wanted[i] = (struct engine_file_wanted){ .text = { message + at, one.len, one.len },
							   .since_ns = one.since_ns,
							   .cut = one.cut };
		at += one.len;
	}
	f.path = head.has_path ? get_text(message, len, &at) : NULL;
	f.where = head.has_where ? get_text(message, len, &at) : NULL;
	f.log = head.has_log ? get_text(message, len, &at) : NULL;
	if ((head.has_path && (!f.path || f.path[0] != '/')) || (head.has_where && (!f.path || !f.where)) ||
	    (head.has_log && (!f.log || f.log[0] != '/')) || (!f.path && !f.log && !f.standard_error))
		return -EBADMSG;
	for (uint32_t i = 0; i < head.n_values; i++) {
		f.values[i] = get_text(message, len, &at);
		if (!f.values[i])
			return -EBADMSG;
	}
	*ret = f;
	return 0;
}

struct skep_str engine_file_value(const struct skep_str *answer, size_t i)
{
	const char *at = answer->ptr, *end = at ? at + answer->len : NULL;

	while (at < end) {
		uint32_t len = (uint32_t)strnlen(at, (size_t)(end - at));

		if (i-- == 0)
			return (struct skep_str){ at, len, len };
		at += len + 1;
	}
	return (struct skep_str){ "", 0, 0 };
}

/* ---- JSON ------------------------------------------------------------------------- */

const char *engine_file_pointer_error(const char *text)
{
	if (*text != '/')
		return "is no JSON pointer: begin it with \"/\", as in \"/Config/Image\"";
	for (const char *at = text; (at = strchr(at, '~')); at++)
		if (at[1] != '0' && at[1] != '1')
			return "is no JSON pointer: \"~\" stands only in \"~0\" (for ~) and \"~1\" (for /)";
	return NULL;
}

/* Follows a JSON pointer.  NULL: it leads nowhere. */
static json_t *follow(json_t *json, const char *pointer)
{
	char key[256], *end;

	while (json && *pointer == '/') {
		size_t n = 0;

		for (pointer++; *pointer && *pointer != '/'; pointer++) {
			char c = *pointer;

			if (c == '~' && (pointer[1] == '0' || pointer[1] == '1'))
				c = *++pointer == '1' ? '/' : '~';
			if (n + 1 >= sizeof(key))
				return NULL;
			key[n++] = c;
		}
		key[n] = '\0';
		if (json_is_array(json)) {
			unsigned long i = strtoul(key, &end, 10);

			json = *key && !*end ? json_array_get(json, i) : NULL;
		} else {
			json = json_object_get(json, key); /* NULL for all but an object */
		}
	}
	return json;
}

bool engine_file_pointer(json_t *json, const char *pointer, char ret[ENGINE_FILE_VALUE])
{
	json_t *value = follow(json, pointer);

	if (json_is_string(value)) {
		size_t len = skep_utf8_cut(json_string_value(value), json_string_length(value), ENGINE_FILE_VALUE - 1);

		memcpy(ret, json_string_value(value), len);
		ret[len] = '\0';
	} else if (json_is_integer(value)) {
		snprintf(ret, ENGINE_FILE_VALUE, "%lld", (long long)json_integer_value(value));
	} else if (json_is_real(value)) {
		snprintf(ret, ENGINE_FILE_VALUE, "%.17g", json_real_value(value));
	} else {
		return false;
	}
	return *ret;
}

struct skep_str engine_file_trim(struct skep_str s)
{
	while (s.len && strchr(" \t\r\n", *s.ptr))
		s.ptr++, s.len--;
	while (s.len && strchr(" \t\r\n", s.ptr[s.len - 1]))
		s.len--;
	return s;
}

bool engine_file_is(json_t *json, const char *where, const struct engine_file_wanted *wanted)
{
	json_t *value = follow(json, where);
	uint32_t len = (uint32_t)json_string_length(value);
	struct skep_str has = { json_string_value(value), len, len }, want = engine_file_trim(wanted->text);

	if (!has.ptr || !want.len)
		return false;
	has = engine_file_trim(has);
	return (wanted->cut ? has.len >= want.len : has.len == want.len) && memcmp(has.ptr, want.ptr, want.len) == 0;
}

/* ---- as which user ---------------------------------------------------------------- */

bool engine_file_permitted(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
	const uint32_t both = 1u << CAP_SETUID | 1u << CAP_SETGID;

	return syscall(SYS_capget, &header, data) == 0 && (data[0].permitted & both) == both;
}

/* A line of numbers in /proc/PID/status.  Returns how many there are. */
static size_t numbers(const char *status, const char *name, gid_t *ret, size_t most)
{
	const char *at = strstr(status, name);
	size_t n = 0;
	char *end;

	for (at = at ? at + strlen(name) : ""; n < most; at = end) {
		while (*at == ' ' || *at == '\t')
			at++;
		if (*at < '0' || *at > '9')
			break;
		ret[n++] = (gid_t)strtoul(at, &end, 10);
	}
	return n;
}

/* The group and the further groups of a live process of the user.  Returns the number of further groups. */
static size_t groups_of(const struct engine_file *f, gid_t *ret_gid, gid_t groups[GROUPS_MOST])
{
	char status[16384];
	gid_t ids[4];
	ssize_t n = f->pid ? skep_procfile_read(f->pid, "status", status, sizeof(status) - 1) : 0;

	*ret_gid = f->gid;
	if (n <= 0)
		return 0;
	status[n] = '\0';
	/* A set-uid program has groups of another user; a pid that is in use again may be another user's. */
	if (numbers(status, "\nUid:", ids, 4) != 4)
		return 0;
	for (unsigned i = 0; i < 4; i++)
		if (ids[i] != f->uid)
			return 0;
	if (numbers(status, "\nGid:", ids, 4) == 4)
		*ret_gid = ids[0];
	return numbers(status, "\nGroups:", groups, GROUPS_MOST);
}

static int become(const struct engine_file *f)
{
	gid_t gid, groups[GROUPS_MOST];
	size_t n;

	if (f->uid == geteuid())
		return 0;
	n = groups_of(f, &gid, groups);
	if (setgroups(n, groups) < 0)
		return -errno;
	setfsgid(gid);
	setfsuid(f->uid);
	/* Both return the id before the call, and no error. */
	return (uid_t)setfsuid((uid_t)-1) == f->uid && (gid_t)setfsgid((gid_t)-1) == gid ? 0 : -EPERM;
}

static void become_again(const struct engine_file *f)
{
	if (f->uid == geteuid())
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	(void)setgroups(0, NULL);
}

/* ---- files ------------------------------------------------------------------------ */

/*
 * Opens an absolute path without a symbolic link in it, and without "..": a walk, because openat2() needs Linux 5.6.
 * O_NONBLOCK: a FIFO must not block.
 */
static int open_path(const char *path, int flags)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), err = fd < 0 ? -errno : 0;
	char part[NAME_MAX + 1];

	while (!err) {
		size_t len;
		int next;
		bool last;

		path += strspn(path, "/");
		len = strcspn(path, "/");
		last = path[len + strspn(path + len, "/")] == '\0';
		if (len == 0 || len > NAME_MAX || (len == 2 && memcmp(path, "..", 2) == 0)) {
			err = -EINVAL;
			break;
		}
		memcpy(part, path, len);
		part[len] = '\0';
		path += len;
		next = openat(fd, part, O_CLOEXEC | O_NOFOLLOW | (last ? flags : O_PATH | O_DIRECTORY));
		err = next < 0 ? -errno : 0;
		close(fd);
		fd = next;
		if (last && !err)
			return fd;
	}
	if (fd >= 0)
		close(fd);
	return err;
}

#define READ_FLAGS (O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW | O_CLOEXEC)

enum { READ_BEGIN, READ_ALL, READ_END };

/*
 * Reads the begin or the end of a regular file, or all of it, into `size` bytes, and closes it.  -errno; -EFBIG: all
 * has more bytes.
 */
static ssize_t read_file(int fd, int what, char *ret, size_t size, struct timespec *ret_changed)
{
	struct stat st;
	ssize_t n, len = 0;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		len = -errno;
	else if (!S_ISREG(st.st_mode))
		len = -EINVAL;
	else if (what == READ_ALL && st.st_size > (off_t)size)
		len = -EFBIG;
	else if (what == READ_END && st.st_size > (off_t)size && lseek(fd, st.st_size - (off_t)size, SEEK_SET) < 0)
		len = -errno;
	while (len >= 0 && (size_t)len < size) {
		n = read(fd, ret + len, size - (size_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			len = -errno;
		if (n <= 0)
			break;
		len += n;
	}
	close(fd);
	if (len >= 0 && ret_changed)
		*ret_changed = st.st_mtim;
	return len;
}

static uint64_t ns_of(const struct timespec *t)
{
	return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_nsec;
}

/* The values found for each wanted text. */
struct found {
	char text[ENGINE_FILE_WANTED][ENGINE_FILE_VALUES][ENGINE_FILE_VALUE];
	bool disagrees[ENGINE_FILE_WANTED][ENGINE_FILE_VALUES];
	uint32_t files[ENGINE_FILE_WANTED];          /* of a folder, that have the text */
	char file[ENGINE_FILE_WANTED][NAME_MAX + 1]; /* one of them */
};

static void note_values(const struct engine_file *f, json_t *json, const char *name, uint32_t wanted,
			struct found *found)
{
	char value[ENGINE_FILE_VALUE];

	found->files[wanted]++;
	snprintf(found->file[wanted], sizeof(found->file[wanted]), "%s", name);
	for (unsigned i = 0; i < ENGINE_FILE_VALUES && f->values[i]; i++) {
		char *has = found->text[wanted][i];

		if (*f->values[i] != '/' || !engine_file_pointer(json, f->values[i], value))
			continue;
		if (*has && strcmp(has, value) != 0)
			found->disagrees[wanted][i] = true;
		memcpy(has, value, sizeof(value));
	}
}

/* Reads one JSON file; name: of a file of a folder.  0 or -errno. */
static int read_json(const struct engine_file *f, int fd, const char *name, struct found *found)
{
	static char text[ENGINE_FILE_MOST];
	struct timespec changed = { 0 };
	ssize_t n = read_file(fd, READ_ALL, text, sizeof(text), &changed);
	json_t *json;

	if (n < 0)
		return (int)n;
	json = json_loadb(text, (size_t)n, 0, NULL);
	if (!json)
		return -EBADMSG;
	for (uint32_t i = 0; i < f->n_wanted; i++)
		if (!f->where || (ns_of(&changed) + MTIME_SLACK_NS >= f->wanted[i].since_ns &&
				  engine_file_is(json, f->where, &f->wanted[i])))
			note_values(f, json, name, i, found);
	json_decref(json);
	return 0;
}

struct candidate {
	uint64_t changed_ns;
	char name[NAME_MAX + 1];
};

static int newest_first(const void *a, const void *b)
{
	uint64_t x = ((const struct candidate *)a)->changed_ns, y = ((const struct candidate *)b)->changed_ns;

	return x > y ? -1 : x < y;
}

/* Lists the newest files of the folder that changed late enough.  Returns their number. */
static size_t list_newest(DIR *dir, uint64_t since_ns, struct candidate list[ENGINE_FILE_READ])
{
	const struct dirent *entry;
	size_t n = 0, oldest = 0;

	for (unsigned seen = 0; seen < ENGINE_FILE_ENTRIES && (entry = readdir(dir)); seen++) {
		struct stat st;
		uint64_t changed;

		if (entry->d_name[0] == '.' || (entry->d_type != DT_REG && entry->d_type != DT_UNKNOWN) ||
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode))
			continue;
		changed = ns_of(&st.st_mtim);
		if (changed + MTIME_SLACK_NS < since_ns ||
		    (n == ENGINE_FILE_READ && changed <= list[oldest].changed_ns))
			continue;
		if (n < ENGINE_FILE_READ)
			oldest = n++;
		list[oldest].changed_ns = changed;
		snprintf(list[oldest].name, sizeof(list[oldest].name), "%s", entry->d_name);
		for (size_t i = 0; i < n && n == ENGINE_FILE_READ; i++)
			if (list[i].changed_ns < list[oldest].changed_ns)
				oldest = i;
	}
	qsort(list, n, sizeof(*list), newest_first);
	return n;
}

/* Opens a folder and lists its newest files, of which one may answer the request.  NULL: *ret_err. */
static DIR *open_folder(const struct engine_file *f, const char *path, struct candidate list[ENGINE_FILE_READ],
			size_t *ret_n, int *ret_err)
{
	int fd = open_path(path, O_RDONLY | O_DIRECTORY);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	uint64_t since = UINT64_MAX;

	if (!dir) {
		*ret_err = fd < 0 ? fd : -ENOMEM;
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	for (uint32_t i = 0; i < f->n_wanted; i++)
		since = f->wanted[i].since_ns < since ? f->wanted[i].since_ns : since;
	*ret_n = list_newest(dir, since, list);
	return dir;
}

static int read_folder(const struct engine_file *f, struct candidate list[ENGINE_FILE_READ], struct found *found)
{
	size_t n;
	int err;
	DIR *dir = open_folder(f, f->path, list, &n, &err);

	if (!dir)
		return err;
	/* A file that cannot be read, or that its engine is writing, is as if it were not there. */
	for (size_t i = 0; i < n; i++)
		(void)read_json(f, openat(dirfd(dir), list[i].name, READ_FLAGS), list[i].name, found);
	closedir(dir);
	return 0;
}

static const struct engine_log_job *find_job(const struct engine_file *f, const struct engine_log *log, uint32_t wanted,
					     const struct found *found)
{
	static char begin[ENGINE_FILE_MOST];
	struct engine_log_command command = { &f->wanted[wanted], found->file[wanted], found->files[wanted], { 0 } };
	char path[PATH_MAX];
	ssize_t n;

	if (engine_log_script(f->log, &command.text->text, path, sizeof(path))) {
		n = read_file(open_path(path, READ_FLAGS), READ_BEGIN, begin, sizeof(begin), NULL);
		command.script = (struct skep_str){ begin, n > 0 ? (uint32_t)n : 0, n > 0 ? (uint32_t)n : 0 };
	}
	return engine_log_find(log, &command);
}

/* Two Snakemakes may run in one folder, each with a log of its own. */
static int read_logs(const struct engine_file *f, struct candidate list[ENGINE_FILE_READ], struct found *found)
{
	static char text[ENGINE_FILE_LOGS][ENGINE_FILE_MOST];
	static struct engine_log log;
	size_t n, newest[ENGINE_FILE_LOGS], logs = 0, suffix = strlen(ENGINE_LOG_SUFFIX);
	int err;
	DIR *dir = open_folder(f, f->log, list, &n, &err);

	if (!dir)
		return err;
	for (size_t i = 0; i < n && logs < ENGINE_FILE_LOGS; i++) {
		size_t len = strlen(list[i].name);

		if (len > suffix && strcmp(list[i].name + len - suffix, ENGINE_LOG_SUFFIX) == 0)
			newest[logs++] = i;
	}
	log.n = 0;
	while (logs-- > 0) {
		ssize_t len = read_file(openat(dirfd(dir), list[newest[logs]].name, READ_FLAGS), READ_END, text[logs],
					sizeof(text[logs]), NULL);

		if (len > 0)
			engine_log_add(&log, text[logs], (size_t)len);
	}
	closedir(dir);
	for (uint32_t i = 0; i < f->n_wanted && log.n; i++) {
		const struct engine_log_job *job = find_job(f, &log, i, found);

		for (unsigned k = 0; job && k < ENGINE_FILE_VALUES && f->values[k]; k++)
			if (*f->values[k] != '/')
				engine_log_value(job, f->values[k], found->text[i][k]);
	}
	return 0;
}

static ssize_t write_answer(const struct engine_file *f, const struct found *found, char *ret)
{
	size_t len = 0;

	for (uint32_t i = 0; i < f->n_wanted; i++)
		for (unsigned k = 0; k < ENGINE_FILE_VALUES && f->values[k]; k++) {
			const char *text = found->disagrees[i][k] ? "" : found->text[i][k];

			memcpy(ret + len, text, strlen(text) + 1);
			len += strlen(text) + 1;
		}
	return (ssize_t)len;
}

/* The last line with the text; empty: none. */
static struct skep_str last_line(const char *text, size_t len, const struct skep_str *wanted)
{
	const char *end = text + len, *at = NULL, *begin = text;

	while (wanted->len && (begin = memmem(begin, (size_t)(end - begin), wanted->ptr, wanted->len)))
		at = begin++;
	if (!at)
		return (struct skep_str){ "", 0, 0 };
	begin = memrchr(text, '\n', (size_t)(at - text));
	begin = begin ? begin + 1 : text;
	at = memchr(at, '\n', (size_t)(end - at));
	len = (size_t)((at ? at : end) - begin);
	return (struct skep_str){ begin, (uint32_t)len, (uint32_t)len };
}

/*
 * Lines of the end of the file that is the process's standard error.  The link in /proc is read, and not followed: the
 * path is opened like any other.  The kernel lets no user read the links of another's process, nor the worker those of
 * a process with more capabilities, as root's.
 */
static ssize_t read_error_lines(const struct engine_file *f, char *ret)
{
	static char text[ENGINE_FILE_MOST];
	char link[40], path[PATH_MAX];
	size_t len = 0;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%u/fd/2", f->pid);
	n = f->pid ? readlink(link, path, sizeof(path) - 1) : -1;
	if (n <= 0 || path[0] != '/')
		return -ENOENT;
	path[n] = '\0';
	n = read_file(open_path(path, READ_FLAGS), READ_END, text, sizeof(text), NULL);
	for (uint32_t i = 0; i < f->n_wanted && n >= 0; i++) {
		struct skep_str line = last_line(text, (size_t)n, &f->wanted[i].text);
		size_t cut = strnlen(line.ptr, skep_utf8_cut(line.ptr, line.len, ENGINE_FILE_VALUE - 1));

		memcpy(ret + len, line.ptr, cut);
		ret[len + cut] = '\0';
		len += cut + 1;
	}
	return n < 0 ? n : (ssize_t)len;
}

static ssize_t read_as_user(const struct engine_file *f, char *ret)
{
	static struct found found;
	static struct candidate list[ENGINE_FILE_READ];
	int err = 0, of_log = -ENOENT;

	if (f->standard_error)
		return read_error_lines(f, ret);
	if (!f->values[0])
		return read_file(f->path ? open_path(f->path, READ_FLAGS) : -EINVAL, READ_BEGIN, ret, ENGINE_FILE_HEAD,
				 NULL);
	memset(&found, 0, sizeof(found));
	if (f->path)
		err = f->where ? read_folder(f, list, &found) : read_json(f, open_path(f->path, READ_FLAGS), "", &found);
	if (f->log)
		of_log = read_logs(f, list, &found);
	if (!f->path || of_log == 0)
		err = of_log;
	return err < 0 ? err : write_answer(f, &found, ret);
}

ssize_t engine_file_read(const struct engine_file *f, char ret[ENGINE_FILE_ANSWER])
{
	ssize_t n = become(f);

	if (n == 0)
		n = read_as_user(f, ret);
	become_again(f);
	return n;
}
