/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/base/own_runs.c - asks skepd for a copy of the user's own runs.
 */
#include "cli/base/own_runs.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/base/answer.h"
#include "cli/base/ctl.h"
#include "cli/base/skep.h"
#include "lake/copy.h"

#define ANSWER_MS 10000
#define COPY_MS   40000 /* skepd gives up after 30 s */
#define AGAIN_MS  250   /* skepd makes few copies at once, and one for each user */
#define TRIES     120

static int receive(struct ctl *ctl, int timeout_ms, json_t **ret)
{
	int err;

	do
		err = ctl_receive(ctl, timeout_ms, ret);
	while (err == -EINTR);
	return err;
}

/* Is this a skepd that writes the lake, and whose lake this user may not read? */
static bool is_closed(struct ctl *ctl, const char *lake)
{
	json_t *version = NULL;
	bool closed;

	if (ctl_send(ctl, json_pack("{s:s}", "request", "version")) < 0 || receive(ctl, ANSWER_MS, &version) < 0)
		return false;
	closed = json_is_false(json_object_get(version, "member")) && *answer_text(version, "lake") &&
		 (!lake || strcmp(lake, answer_text(version, "lake")) == 0);
	json_decref(version);
	return closed;
}

static json_t *request_of(const char *run, uint64_t since_ns)
{
	json_t *request = json_pack("{s:s, s:I}", "request", "lake_copy", "since_ns", (json_int_t)since_ns);

	if (request && run && json_object_set_new(request, "run", json_string(run)) < 0) { /* not UTF-8 */
		json_decref(request);
		return NULL;
	}
	return request;
}

static const char *folder(void)
{
	const char *dir = getenv("TMPDIR");

	return dir && *dir == '/' ? dir : "/tmp";
}

/* 0 and the line before the copy's bytes; -EBUSY: ask again; -ENOTSUP; -errno with the reason in why. */
static int ask(const char *run, uint64_t since_ns, const char *lake, struct ctl *ctl, json_t **ret, char *why,
	       size_t why_size)
{
	json_t *line = NULL;
	int err = is_closed(ctl, lake) ? 0 : -ENOTSUP;
	const char *code;

	if (err == 0)
		err = ctl_send(ctl, request_of(run, since_ns));
	if (err == 0)
		err = receive(ctl, COPY_MS, &line);
	if (err < 0) {
		snprintf(why, why_size, "skepd sent no copy of your runs: %s",
			 err == -EAGAIN ? "no answer" : err == -EPIPE ? "it closed the connection" : strerror(-err));
		return err;
	}
	if (json_is_true(json_object_get(line, "ok"))) {
		*ret = line;
		return 0;
	}
	code = answer_text(line, "code");
	snprintf(why, why_size, "%s", answer_text(line, "error"));
	err = strcmp(code, "busy") == 0 ? -EBUSY : strcmp(code, "not_found") == 0 ? -ENOENT : -EIO;
	json_decref(line);
	return err;
}

static int fetch(struct ctl *ctl, const json_t *line, struct lake **ret, char *why, size_t why_size)
{
	int fd = lake_copy_file(folder()), err;

	if (fd < 0) {
		snprintf(why, why_size, "cannot keep the copy of your runs in %s: %s; set TMPDIR", folder(),
			 strerror(-fd));
		return fd;
	}
	err = ctl_receive_file(ctl, answer_u64(line, "bytes"), ANSWER_MS, fd);
	if (err < 0) {
		close(fd);
		snprintf(why, why_size, "the copy of your runs is not whole: %s", strerror(-err));
		return err;
	}
	err = lake_open_copy(fd, ret);
	if (err < 0)
		snprintf(why, why_size, "out of memory");
	return err;
}

static void say(const char *command, const json_t *line)
{
	unsigned long long left_out = answer_u64(line, "left_out");

	skep_say(command, "your own runs only: the lake of skepd is for members of group skep (sudo usermod -aG skep NAME, "
			  "and log in again)");
	if (left_out > 0)
		skep_say(command, "without your %llu oldest runs, for which a copy has no room", left_out);
}

int own_runs_open(const char *command, const char *run, uint64_t since_ns, const char *lake, struct lake **ret,
		  char *why, size_t why_size)
{
	const struct timespec pause = { .tv_nsec = AGAIN_MS * 1000000 };
	int err = -EBUSY;

	for (int i = 0; i < TRIES && err == -EBUSY; i++) {
		struct ctl *ctl = NULL;
		json_t *line = NULL;

		if (i > 0)
			nanosleep(&pause, NULL);
		if (!ctl_try_own(NULL, &ctl)) {
			snprintf(why, why_size, "skepd does not answer: see systemctl status skepd");
			return -ENOTSUP;
		}
		err = ask(run, since_ns, lake, ctl, &line, why, why_size);
		if (err == 0)
			err = fetch(ctl, line, ret, why, why_size);
		if (err == 0 && command)
			say(command, line);
		json_decref(line);
		ctl_close(ctl);
	}
	return err;
}
