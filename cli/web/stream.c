/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/web/stream.c - see cli/web/stream.h.
 *
 * Events: without a name, an answer, whose id is its tag; "partial": what the next answer lacks; "failure": why there is
 * no answer.
 */
#include "cli/web/stream.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "cli/web/server.h"
#include "cli/web/worker.h"

#define STEP_MS  500 /* how soon the stream notices that its client has left, and a change */
#define BUSY_MS  1000 /* until the next try, which waits for its turn itself */
#define ALIVE_MS (SERVER_IDLE_S * 1000 / 2) /* libmicrohttpd ends a connection after SERVER_IDLE_S without a byte */

struct stream {
	struct request_command command;
	struct stream_options o;
	char tag[WORKER_TAG];   /* of the answer that the page has */
	char text[2 * WORKER_WHY]; /* what stands before or behind an answer */
	size_t at, len;
	int fd;                 /* of the answer that is being sent; -1: none */
	off_t from, size;
	uint64_t seen;          /* the state of the lake before the last answer */
	int64_t next_ms, said_ms;
	ZSTD_CCtx *zstd;        /* NULL: the stream leaves as it is */
	ZSTD_inBuffer in;
	bool rest, over;        /* zstd has more to write; the plain stream has ended */
	char plain[65536];      /* what `in` reads */
};

/* The state of the lake's files: a writer appends to them, or begins the log anew. 0: not known. */
static uint64_t state_of(const char *folder)
{
	DIR *dir = folder ? opendir(folder) : NULL;
	const struct dirent *entry;
	uint64_t sum = 1;

	while (dir && (entry = readdir(dir)) != NULL) {
		uint64_t file = worker_hash(WORKER_HASH, entry->d_name, strlen(entry->d_name));
		struct stat st;

		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
			continue;
		file = worker_hash(file, &st.st_size, sizeof(st.st_size));
		sum += worker_hash(file, &st.st_mtim, sizeof(st.st_mtim)); /* the order of entries does not matter */
	}
	if (!dir)
		return 0;
	closedir(dir);
	return sum ? sum : 1;
}

int stream_new(const char *path, const struct request_value *values, size_t n, const char *lake,
	       const struct stream_options *o, struct stream **ret, char *why, size_t room)
{
	struct stream *s = calloc(1, sizeof(*s));
	int err = s ? request_route(path, values, n, lake, &s->command, why, room) : -ENOMEM;

	if (!err && o->packed && !(s->zstd = ZSTD_createCCtx()))
		err = -ENOMEM;
	if (err) {
		free(s);
		return err;
	}
	if (s->zstd) { /* a small window: there is one for each connection */
		(void)ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_compressionLevel, 1);
		(void)ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_windowLog, 17);
	}
	s->o = *o;
	s->o.had = NULL;
	s->fd = -1;
	snprintf(s->tag, sizeof(s->tag), "%s", o->had ? o->had : "");
	s->len = (size_t)snprintf(s->text, sizeof(s->text), "retry: 1000\n\n");
	s->said_ms = worker_now_ms();
	*ret = s;
	return 0;
}

void stream_free(struct stream *s)
{
	if (s && s->fd >= 0)
		close(s->fd);
	if (s)
		ZSTD_freeCCtx(s->zstd);
	free(s);
}

static void say(struct stream *s, const char *event, const char *data)
{
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "event: %s\ndata: %s\n\n", event, data);
}

static void say_failure(struct stream *s, const char *why)
{
	s->tag[0] = '\0'; /* the next answer says that this is over */
	say(s, "failure", why);
}

static void say_answer(struct stream *s, struct worker_answer *a)
{
	char tag[WORKER_TAG];

	worker_one_line(a->why);
	if (!worker_whole(a)) {
		say_failure(s, worker_reason(a));
		close(a->fd);
		return;
	}
	worker_tag(a, tag);
	if (strcmp(tag, s->tag) == 0) {
		close(a->fd);
		return;
	}
	if (a->status)
		say(s, "partial", a->why);
	memcpy(s->tag, tag, sizeof(tag));
	s->len += (size_t)snprintf(s->text + s->len, sizeof(s->text) - s->len, "id: %s\ndata: ", tag);
	s->fd = a->fd;
	s->from = 0;
	s->size = a->size;
}

int64_t stream_pause_ms(int err, int64_t took_ms, unsigned every_s)
{
	const int64_t every = (int64_t)every_s * 1000;

	if (err == -EBUSY)
		return BUSY_MS;
	/* an answer that takes long, again and again, must not occupy a core */
	return 4 * took_ms > every ? 4 * took_ms : every;
}

/* false: the stream ends. */
static bool ask(struct stream *s)
{
	struct worker_answer a = { 0 };
	int err;

	s->seen = state_of(s->o.folder); /* before the answer: a change meanwhile makes another one */
	err = worker_run(s->command.argv, s->o.client, &a);
	if (err == -EPIPE || err == -ECANCELED)
		return false;
	if (err)
		say_failure(s, worker_error(err));
	else
		say_answer(s, &a);
	s->next_ms = worker_now_ms() + stream_pause_ms(err, a.took_ms, s->o.every_s);
	return true;
}

static bool is_due(const struct stream *s)
{
	uint64_t state;

	if (worker_now_ms() < s->next_ms)
		return false;
	if (!s->next_ms || s->command.of_skepd || !s->tag[0])
		return true;
	state = state_of(s->o.folder);
	return !state || state != s->seen;
}

/* Waits until there is something to send. false: the stream ends. */
static bool wait_for_text(struct stream *s)
{
	struct pollfd client = { .fd = s->o.client, .events = POLLRDHUP };

	s->at = s->len = 0;
	for (;;) {
		if (is_due(s) && !ask(s))
			return false;
		if (!s->len && worker_now_ms() - s->said_ms >= ALIVE_MS)
			s->len = (size_t)snprintf(s->text, sizeof(s->text), ":\n\n");
		if (s->len) {
			s->said_ms = worker_now_ms();
			return true;
		}
		if ((poll(&client, 1, STEP_MS) > 0 && client.revents) || worker_cancelled())
			return false;
	}
}

static ssize_t read_plain(struct stream *s, char *buf, size_t room)
{
	size_t n;
	ssize_t got;

	if (s->at == s->len && s->fd < 0 && !wait_for_text(s))
		return -1;
	if (s->at < s->len) {
		n = s->len - s->at < room ? s->len - s->at : room;
		memcpy(buf, s->text + s->at, n);
		s->at += n;
		return (ssize_t)n;
	}
	if (s->from < s->size) {
		got = pread(s->fd, buf, room, s->from);
		if (got <= 0)
			return -1;
		for (ssize_t i = 0; i < got; i++) /* a line ends an event's data; within a text JSON has no newline */
			buf[i] = buf[i] == '\n' || buf[i] == '\r' ? ' ' : buf[i];
		s->from += got;
		return got;
	}
	close(s->fd);
	s->fd = -1;
	s->said_ms = worker_now_ms();
	s->at = 0;
	s->len = (size_t)snprintf(s->text, sizeof(s->text), "\n\n");
	return read_plain(s, buf, room);
}

ssize_t stream_read(struct stream *s, char *buf, size_t room)
{
	ZSTD_outBuffer out = { buf, room, 0 };
	ssize_t n;
	size_t left;

	if (!s->zstd)
		return read_plain(s, buf, room);
	while (!out.pos) {
		if (s->over && !s->rest)
			return -1;
		if (!s->rest) {
			n = read_plain(s, s->plain, sizeof(s->plain));
			s->over = n <= 0;
			s->in = (ZSTD_inBuffer){ s->plain, s->over ? 0 : (size_t)n, 0 };
		}
		/* The flush lets each event leave at once. */
		left = ZSTD_compressStream2(s->zstd, &out, &s->in, s->over ? ZSTD_e_end : ZSTD_e_flush);
		if (ZSTD_isError(left))
			return -1;
		s->rest = left > 0 || s->in.pos < s->in.size;
	}
	return (ssize_t)out.pos;
}
