/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/test_control.c - the control socket of a collector with test plugins: answers, details for the client that
 * attached them, and clients that misbehave.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/collect/collector_priv.h"
#include "core/control/control_priv.h"
#include "core/delivery/delivery_priv.h"
#include "core/base/log.h"
#include "core/plugin/plugin.h"
#include "tests/abi/collector_fixture.h"
#include "tests/abi/support.h"

static struct control *control;
static char *path;

struct client {
	int fd;
	char buf[1 << 20];
	size_t len;
};

static int connect_to(const char *to)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", to);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	close(fd);
	return -errno;
}

static struct client *client_new(void)
{
	struct client *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	c->fd = connect_to(path);
	assert_true(c->fd >= 0);
	return c;
}

static void client_free(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c);
}

static void say(struct client *c, const char *text)
{
	assert_int_equal(send(c->fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* The next line, at most 5 s; NULL: the connection is closed. */
static json_t *hear(struct client *c)
{
	for (int i = 0; i < 1000; i++) {
		char *end = memchr(c->buf, '\n', c->len);
		ssize_t n;

		if (end) {
			json_t *line = json_loadb(c->buf, (size_t)(end - c->buf), 0, NULL);

			assert_non_null(line);
			c->len -= (size_t)(end + 1 - c->buf);
			memmove(c->buf, end + 1, c->len);
			return line;
		}
		n = recv(c->fd, c->buf + c->len, sizeof(c->buf) - c->len, 0);
		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return NULL;
		if (n > 0)
			c->len += (size_t)n;
		else
			run_for(5);
	}
	fail_msg("no answer within 5 s");
	return NULL;
}

static json_t *ask(struct client *c, const char *line)
{
	say(c, line);
	say(c, "\n");
	return hear(c);
}

static void assert_ok(struct client *c, const char *line)
{
	json_t *o = ask(c, line);

	if (!json_is_true(json_object_get(o, "ok")))
		fail_msg("%s: %s", line, string(o, "error"));
	json_decref(o);
}

static void assert_error(struct client *c, const char *line, const char *code, const char *words)
{
	json_t *o = ask(c, line);

	assert_true(json_is_false(json_object_get(o, "ok")));
	assert_string_equal(string(o, "code"), code);
	if (!strstr(string(o, "error"), words))
		fail_msg("\"%s\" lacks \"%s\"", string(o, "error"), words);
	json_decref(o);
}

static json_t *status(void)
{
	struct client *c = client_new();
	json_t *o = ask(c, "{\"request\":\"status\"}");

	client_free(c);
	assert_non_null(o);
	return o;
}

static size_t attached(void)
{
	json_t *o = status();
	size_t n = json_array_size(json_object_get(o, "attached"));

	json_decref(o);
	return n;
}

static long long clients(const char *key)
{
	json_t *o = status();
	long long n = number(json_object_get(o, "clients"), key);

	json_decref(o);
	return n;
}

static int set_up_control(void **state)
{
	char why[512] = "";

	set_up(state);
	script("0 live pid=100 start=0 parent=1 exe=/bin/sh cpu_ns=1ms cgroup_id=55\n0 sweep_begin\n0 sweep_end complete=1\n");
	assert_int_equal(make(false, "{ \"plugin\": \"detail\" }, " PROBE, SINK), 0);
	path = support_path(t.dir, "s.sock");
	if (control_new(&t.loop, path, t.collector, &control, why, sizeof(why)) < 0)
		fail_msg("%s", why);
	assert_int_equal(collector_start(t.collector, &t.diag), 0);
	log_level(SKEP_LOG_ERROR);
	return 0;
}

static int tear_down_control(void **state)
{
	struct stat st;
	char *all = NULL;

	if (!t.stopped)
		stop(0);
	control_close(control);
	control = NULL;
	run_for(20);
	assert_int_equal(lstat(path, &st), -1); /* the collector removed the file */
	assert_true(asprintf(&all, "%s" CONTROL_OPEN_ENDING, path) > 0);
	assert_int_equal(lstat(all, &st), -1);
	free(all);
	free(path);
	return tear_down(state);
}

/* ---- answers --------------------------------------------------------------------- */

static void answers(void **state)
{
	struct client *c = client_new();
	json_t *o, *one;
	struct stat st;

	(void)state;
	assert_int_equal(lstat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0660);

	/* until the second sample, which delivers the first interval of the ledger */
	for (int i = 0;; i++) {
		run_for(250);
		o = ask(c, "{\"request\":\"status\"}");
		if (i == 20 || json_array_size(json_object_get(json_object_get(o, "ledger"), "lines")) == 4)
			break;
		json_decref(o);
	}
	assert_string_equal(string(o, "request"), "status");
	assert_int_equal(number(o, "pid"), getpid());
	assert_int_equal(number(o, "processes"), 1);
	assert_int_equal(number(o, "interval_ns"), 100000000);
	assert_int_equal(json_array_size(json_object_get(o, "instances")), 3);
	assert_true(number(json_object_get(o, "cost"), "rss_bytes") > 1 << 20);
	assert_true(json_array_size(json_object_get(o, "streams")) > 3);
	/* the test's account: half of the whole belongs to an item, the other half to none */
	json_t *lines = json_object_get(json_object_get(o, "ledger"), "lines");

	assert_int_equal(json_array_size(lines), 4);
	assert_string_equal(string(json_array_get(lines, 3), "item"), "unattributed");
	assert_int_equal(number(json_array_get(lines, 3), "amount"), 500);
	json_decref(o);

	o = ask(c, "{\"request\":\"plugins\"}");
	one = json_array_get(json_object_get(o, "plugins"), 0);
	assert_string_equal(string(one, "name"), "detail");
	assert_string_equal(string(one, "state"), "running");
	assert_int_equal(json_array_size(json_object_get(one, "details")), 2);
	assert_true(json_array_size(json_object_get(one, "signals")) > 0);
	one = json_array_get(json_object_get(o, "plugins"), 1);
	assert_string_equal(string(one, "name"), "fake");
	assert_int_equal(number(json_object_get(json_object_get(one, "counters"), "fake.played"), "value"), 1);
	json_decref(o);

	o = ask(c, "{\"request\":\"details\"}");
	one = json_array_get(json_object_get(o, "details"), 0);
	assert_string_equal(string(one, "name"), "width");
	assert_string_equal(string(one, "stream"), "detail.width");
	assert_int_equal(json_array_size(json_object_get(one, "scopes")), 3);
	json_decref(o);

	o = ask(c, "{\"request\":\"loglevel\",\"level\":\"warning\"}");
	assert_string_equal(string(o, "before"), "error");
	assert_int_equal(log_level_now(), SKEP_LOG_WARNING);
	json_decref(o);
	assert_ok(c, "{\"request\":\"loglevel\",\"level\":\"error\"}");
	assert_ok(c, "{\"request\":\"runs\"}");
	client_free(c);
}

static void errors(void **state)
{
	struct client *c = client_new();

	(void)state;
	assert_error(c, "{\"request\":\"reboot\"}", "bad_request", "unknown request \"reboot\"");
	assert_error(c, "rubbish", "bad_request", "not a JSON object");
	assert_error(c, "{\"request\":\"attach\",\"detail\":\"nosuch\"}", "not_found", "\"nosuch\"");
	assert_error(c, "{\"request\":\"attach\",\"detail\":\"refuses\"}", "not_supported", "not on this machine");
	assert_error(c, "{\"request\":\"attach\",\"detail\":\"width\",\"pid\":100}", "not_supported", "a process");
	assert_error(c, "{\"request\":\"attach\",\"detail\":\"width\",\"run\":\"r9\"}", "not_found", "r9");
	assert_error(c, "{\"request\":\"detach\",\"id\":5}", "not_found", "id 5");
	assert_ok(c, "{\"request\":\"status\"}"); /* still works after all that */
	client_free(c);
}

static void lines_in_pieces(void **state)
{
	struct client *c = client_new();
	json_t *o;

	(void)state;
	say(c, "\n\r\n{\"request\":\"ru");
	run_for(20);
	say(c, "ns\"}\r\n{\"request\":\"details\"}\n{\"request\":\"plugins\"}\n{\"req");
	for (int i = 0; i < 3; i++) {
		static const char *const order[] = { "runs", "details", "plugins" };

		o = hear(c);
		assert_string_equal(string(o, "request"), order[i]);
		json_decref(o);
	}
	/* requests before the end of input are answered; half a request is not */
	say(c, "uest\":\"runs\"}\n{\"request\"");
	assert_int_equal(shutdown(c->fd, SHUT_WR), 0);
	o = hear(c);
	assert_string_equal(string(o, "request"), "runs");
	json_decref(o);
	assert_null(hear(c));
	client_free(c);
}

static void too_long(void **state)
{
	struct client *c = client_new();
	char *line = malloc(CONTROL_LINE_MAX + 1);
	json_t *o;

	(void)state;
	assert_non_null(line);
	memset(line, ' ', CONTROL_LINE_MAX);
	line[CONTROL_LINE_MAX] = '\0';
	/* the longest valid line */
	memcpy(line, "{\"request\":\"runs\"}", 18);
	line[CONTROL_LINE_MAX - 1] = '\n';
	say(c, line);
	o = hear(c);
	assert_true(json_is_true(json_object_get(o, "ok")));
	json_decref(o);
	line[CONTROL_LINE_MAX - 1] = ' ';
	say(c, line);
	o = hear(c);
	assert_string_equal(string(o, "code"), "bad_request");
	json_decref(o);
	assert_null(hear(c));
	free(line);
	client_free(c);
}

static void too_many(void **state)
{
	struct client *all[CONTROL_CLIENTS_MAX], *c;
	json_t *o;

	(void)state;
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		all[i] = client_new();
	assert_ok(all[0], "{\"request\":\"runs\"}");
	c = client_new();
	o = hear(c);
	assert_string_equal(string(o, "code"), "busy");
	json_decref(o);
	assert_null(hear(c));
	client_free(c);
	client_free(all[1]);
	run_for(20);
	c = client_new(); /* a place is free again */
	assert_ok(c, "{\"request\":\"runs\"}");
	client_free(c);
	for (size_t i = 0; i < CONTROL_CLIENTS_MAX; i++)
		if (i != 1)
			client_free(all[i]);
}

/* Another user, a member of group skep. */
static struct client *client_of(uid_t uid)
{
	struct client *c;

	control->doors[CONTROL_MEMBERS].file.group = 65534;
	assert_int_equal(chmod(path, 0666) || chmod(t.dir, 0711), 0);
	assert_int_equal(setegid(65534) || seteuid(uid), 0);
	c = client_new();
	assert_int_equal(seteuid(0) || setegid(0), 0);
	return c;
}

/* A user who is not in group skep, at the socket for all users. */
static struct client *stranger(uid_t uid)
{
	struct client *c = calloc(1, sizeof(*c));
	char *all = NULL;

	assert_non_null(c);
	assert_true(asprintf(&all, "%s" CONTROL_OPEN_ENDING, path) > 0);
	assert_int_equal(chmod(t.dir, 0711), 0);
	assert_int_equal(setegid(uid) || seteuid(uid), 0);
	c->fd = connect_to(all);
	assert_int_equal(seteuid(0) || setegid(0), 0);
	assert_true(c->fd >= 0);
	free(all);
	return c;
}

static void assert_busy(struct client *c, const char *words)
{
	json_t *o = hear(c);

	assert_string_equal(string(o, "code"), "busy");
	if (!strstr(string(o, "error"), words))
		fail_msg("%s", string(o, "error"));
	json_decref(o);
	assert_null(hear(c));
	client_free(c);
}

static void places_of_a_user(void **state)
{
	struct client *all[CONTROL_CLIENTS_MAX], *c;
	size_t n = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	while (n < CONTROL_CLIENTS_USER)
		all[n++] = client_of(1001);
	assert_ok(all[n - 1], "{\"request\":\"runs\"}");
	assert_busy(client_of(1001), "uid 1001 has 16 connections");
	while (n < CONTROL_CLIENTS_OTHERS)
		all[n++] = client_of(1002);
	assert_ok(all[n - 1], "{\"request\":\"runs\"}");
	assert_busy(client_of(1003), "28 clients are connected, the limit beside root");
	c = client_new(); /* root has places of its own */
	assert_ok(c, "{\"request\":\"runs\"}");
	client_free(c);
	while (n > 0)
		client_free(all[--n]);
}

/* Users who are not in group skep have requests and places of their own, and never those of members. */
static void users_outside_the_group(void **state)
{
	static const char *const for_members[] = { "status", "plugins", "details", "runs", "loglevel", "reload", "stats",
						   "rules" };
	struct client *all[CONTROL_STRANGERS], *flood[CONTROL_CLIENTS_MAX - 4], *c;
	struct stat st;
	char line[64], *file = NULL;
	json_t *o;
	size_t n = 0;

	(void)state;
	if (geteuid() != 0)
		skip();
	c = stranger(1001);
	for (size_t i = 0; i < sizeof(for_members) / sizeof(for_members[0]); i++) {
		snprintf(line, sizeof(line), "{\"request\":\"%s\"}", for_members[i]);
		assert_error(c, line, "permission", "sudo usermod -aG skep NAME");
	}
	assert_error(c, "{\"request\":\"attach\",\"detail\":\"width\"}", "permission", "uid 1001 may not ask `attach`");
	assert_error(c, "{\"request\":\"detach\",\"id\":1}", "permission", "usermod");
	assert_error(c, "{\"request\":\"recognize\",\"pid\":100}", "permission", "process 100 is another user's");
	assert_error(c, "{\"request\":\"recognize\",\"run\":\"last\"}", "not_found", "no such live run");
	assert_error(c, "{\"request\":\"lake_copy\"}", "not_supported", "no sink \"lake\" runs");
	assert_error(c, "{\"request\":\"task_begin\",\"task\":\"x\"}", "not_found", "does not record");
	o = ask(c, "{\"request\":\"version\"}");
	assert_true(json_is_false(json_object_get(o, "member")));
	json_decref(o);
	client_free(c);
	c = client_of(1001);
	o = ask(c, "{\"request\":\"version\"}");
	assert_true(json_is_true(json_object_get(o, "member")));
	json_decref(o);
	client_free(c);
	run_for(20);

	while (n < CONTROL_STRANGERS_USER)
		all[n++] = stranger(1001);
	assert_busy(stranger(1001), "uid 1001 has 6 connections");
	while (n < CONTROL_STRANGERS)
		all[n++] = stranger(1002);
	assert_busy(stranger(1003), "for users who are not in group skep");
	/* each is refused, and takes no place while its refusal is written */
	for (size_t i = 0; i < sizeof(flood) / sizeof(flood[0]); i++)
		flood[i] = stranger(1003);
	c = client_of(1004);
	assert_ok(c, "{\"request\":\"runs\"}");
	for (size_t i = 0; i < sizeof(flood) / sizeof(flood[0]); i++)
		client_free(flood[i]);
	client_free(c);
	while (n > 0)
		client_free(all[--n]);
	assert_true(asprintf(&file, "%s" CONTROL_OPEN_ENDING, path) > 0);
	assert_int_equal(lstat(file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0666);
	free(file);
}

/* ---- runs ------------------------------------------------------------------------ */

/* A child that waits at a gate, as the command of skep run does. */
static pid_t child_new(int *ret_gate)
{
	int gate[2];
	pid_t pid;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char byte;

		close(gate[1]);
		(void)!read(gate[0], &byte, 1);
		_exit(3);
	}
	close(gate[0]);
	*ret_gate = gate[1];
	return pid;
}

static int child_let_go(pid_t pid, int gate)
{
	int status;

	close(gate);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* Returns the id; free() it. */
static char *run_begun(struct client *c, pid_t pid)
{
	char line[200], *id;
	json_t *o;

	snprintf(line, sizeof(line),
		 "{\"request\":\"run_begin\",\"pid\":%d,\"name\":\"n\",\"argv\":[\"a\"],\"sink\":\"out\"}", pid);
	o = ask(c, line);
	if (!json_is_true(json_object_get(o, "ok")))
		fail_msg("%s", string(o, "error"));
	id = strdup(string(o, "run"));
	json_decref(o);
	return id;
}

static size_t named_runs(void)
{
	json_t *o = status(), *run;
	size_t i, n = 0;

	json_array_foreach(json_object_get(o, "runs"), i, run)
		n += json_is_false(json_object_get(run, "by_session"));
	json_decref(o);
	return n;
}

static void runs_of_clients(void **state)
{
	struct client *c = client_new(), *other;
	char line[200], *id;
	int gate, status;
	pid_t pid = child_new(&gate);
	json_t *o;

	(void)state;
	assert_error(c, "{\"request\":\"run_begin\",\"pid\":1,\"argv\":[\"a\"]}", "permission",
		     "process 1 is not a child of process");
	snprintf(line, sizeof(line), "{\"request\":\"run_begin\",\"pid\":%d,\"argv\":[\"a\"]}", getpid());
	assert_error(c, line, "permission", "is not a child of process");
	if (geteuid() == 0) { /* nor a process of another user, although it is a child of the connecting process */
		other = client_of(1001);
		snprintf(line, sizeof(line), "{\"request\":\"run_begin\",\"pid\":%d,\"argv\":[\"a\"]}", pid);
		assert_error(other, line, "permission", "that runs as uid 1001");
		client_free(other);
	}
	assert_error(c, "{\"request\":\"run_end\",\"run\":\"x\",\"status\":0}", "not_found", "has not begun a run");
	id = run_begun(c, pid);
	assert_int_equal(named_runs(), 1);
	assert_error(c, "{\"request\":\"run_begin\",\"pid\":5,\"argv\":[\"a\"]}", "busy", "begin another run on another connection");
	snprintf(line, sizeof(line), "{\"request\":\"run_end\",\"run\":\"%s\",\"status\":768,\"cpu_ns\":5000}", id);
	assert_error(c, line, "bad_request", "has not ended");
	status = child_let_go(pid, gate);
	assert_int_equal(status, 768);
	o = ask(c, line);
	assert_true(json_is_true(json_object_get(o, "ok")));
	assert_string_equal(string(o, "run"), id);
	json_decref(o);
	assert_int_equal(named_runs(), 0);
	assert_ok(c, "{\"request\":\"runs\"}"); /* the daemon still serves the connection */
	free(id);
	client_free(c);
}

static void runs_whose_client_goes(void **state)
{
	char line[200], *id;
	int gate;
	pid_t pid = child_new(&gate); /* before there is a connection whose descriptor the child would inherit */
	struct client *c = client_new(), *other;

	(void)state;
	id = run_begun(c, pid);
	snprintf(line, sizeof(line), "{\"request\":\"run_resume\",\"run\":\"%s\",\"pid\":%d}", id, pid);
	other = client_new();
	assert_error(other, line, "not_found", "or belongs to another connection");
	client_free(other);
	client_free(c);
	for (int i = 0; i < 100000 && control->n_runs > 0; i++)
		run_for(10);
	assert_int_equal(named_runs(), 1);
	if (geteuid() == 0) {
		other = client_of(1001);
		assert_error(other, line, "not_found", "no such run");
		client_free(other);
	}
	c = client_new();
	assert_ok(c, line);
	child_let_go(pid, gate);
	/* The client closes its connection while its run ends. */
	snprintf(line, sizeof(line), "{\"request\":\"run_end\",\"run\":\"%s\",\"status\":768}\n", id);
	say(c, line);
	run_for(20);
	client_free(c);
	for (int i = 0; i < 100000 && named_runs() > 0; i++)
		run_for(20);
	assert_int_equal(named_runs(), 0);
	free(id);
}

/* A run counts until it ends, whether its client stays or not. */
static void runs_without_their_clients(void **state)
{
	pid_t pids[CONTROL_RUNS_MAX + 1];
	int gates[CONTROL_RUNS_MAX + 1];
	struct client *c;
	char line[200];

	(void)state;
	for (size_t i = 0; i <= CONTROL_RUNS_MAX; i++)
		pids[i] = child_new(&gates[i]);
	for (size_t i = 0; i < CONTROL_RUNS_MAX; i++) {
		c = client_new();
		free(run_begun(c, pids[i]));
		client_free(c);
	}
	c = client_new();
	snprintf(line, sizeof(line), "{\"request\":\"run_begin\",\"pid\":%d,\"argv\":[\"a\"]}", pids[CONTROL_RUNS_MAX]);
	assert_error(c, line, "busy", "the limit");
	for (size_t i = CONTROL_RUNS_MAX + 1; i-- > 0;) /* the last one has inherited the gates of the others */
		child_let_go(pids[i], gates[i]);
	client_free(c);
}

/* A user that sends requests without a pause waits; other users do not. */
static void time_of_a_user(void **state)
{
	struct client *greedy, *root = client_new();
	uint64_t waited = 0;
	json_t *o;

	(void)state;
	if (geteuid() != 0)
		skip();
	greedy = client_of(1001);
	for (int i = 0; i < 20000 && !waited; i++) {
		say(greedy, "{\"request\":\"stats\"}\n");
		for (int turn = 0; turn < 4; turn++)
			uv_run(&t.loop, UV_RUN_NOWAIT);
		greedy->len = 0;
		recv(greedy->fd, greedy->buf, sizeof(greedy->buf), 0);
		waited = control->waited;
	}
	assert_int_equal(waited, 1);
	o = ask(root, "{\"request\":\"stats\"}");
	assert_int_equal(number(json_object_get(o, "clients"), "waited"), 1);
	/* root's answer came before the next second */
	assert_true(control->clients->waiting || control->clients->next->waiting);
	json_decref(o);
	o = hear(greedy); /* in the next second */
	assert_non_null(o);
	json_decref(o);
	client_free(greedy);
	client_free(root);
}

/* ---- details ----------------------------------------------------------------------- */

static uint64_t attach(struct client *c, const char *line)
{
	json_t *o = ask(c, line);
	uint64_t id;

	if (!json_is_true(json_object_get(o, "ok")))
		fail_msg("%s: %s", line, string(o, "error"));
	id = (uint64_t)number(o, "id");
	assert_string_equal(string(json_object_get(o, "stream"), "name"), "detail.width");
	assert_int_equal(json_array_size(json_object_get(json_object_get(o, "stream"), "fields")), 5);
	json_decref(o);
	return id;
}

/* Reads records, numbered from 1, until the end. Returns their number; `why` becomes the reason of the end. */
static unsigned follow(struct client *c, uint64_t id, char why[64])
{
	unsigned n = 0;

	for (;;) {
		json_t *o = hear(c), *end = json_object_get(o, "end");

		assert_non_null(o);
		if (json_object_get(o, "ok")) {
			json_decref(o);
			continue;
		}
		assert_int_equal(number(o, "id"), id);
		if (end) {
			snprintf(why, 64, "%s", json_string_value(end));
			assert_int_equal(number(o, "dropped"), 0);
			json_decref(o);
			return n;
		}
		assert_string_equal(string(o, "stream"), "detail.width");
		assert_int_equal(number(o, "n"), ++n);
		assert_int_equal(number(json_object_get(o, "widths"), "count"), n);
		json_decref(o);
	}
}

static void until_its_time(void **state)
{
	struct client *c = client_new();
	uint64_t id = attach(c, "{\"request\":\"attach\",\"detail\":\"width\",\"for_ns\":300000000}");
	char why[64];

	(void)state;
	assert_true(follow(c, id, why) >= 2);
	assert_string_equal(why, "its time is over");
	assert_int_equal(attached(), 0);
	assert_ok(c, "{\"request\":\"runs\"}"); /* the connection stays open */
	client_free(c);
}

static void detached_by_another(void **state)
{
	struct client *c = client_new(), *other = client_new();
	uint64_t id = attach(c, "{\"request\":\"attach\",\"detail\":\"width\",\"for_ns\":0}");
	char why[64], line[64];

	(void)state;
	assert_int_equal(attached(), 1);
	snprintf(line, sizeof(line), "{\"request\":\"detach\",\"id\":%llu}", (unsigned long long)id);
	assert_ok(other, line);
	assert_true(follow(c, id, why) >= 1); /* detaching sends the last one */
	assert_string_equal(why, "detached");
	client_free(c);
	client_free(other);
}

/* Two details on one connection, which the client closes without a request. */
static void who_vanishes_is_detached(void **state)
{
	struct client *c = client_new();

	(void)state;
	attach(c, "{\"request\":\"attach\",\"detail\":\"width\",\"for_ns\":0}");
	say(c, "{\"request\":\"attach\",\"detail\":\"width\"}\n");
	for (int i = 0; i < 100000 && attached() < 2; i++)
		run_for(5);
	assert_int_equal(attached(), 2);
	client_free(c);
	for (int i = 0; i < 100000 && attached() > 0; i++)
		run_for(5);
	assert_int_equal(attached(), 0);
}

/*
 * A client that does not read loses records, which its end counts.  The daemon disconnects it only after a while, and
 * sends nothing from inside the probe's callback.
 */
static void who_never_reads_is_dropped(void **state)
{
	struct client *c = client_new(), *stuck = client_new();
	struct skep_instance *probe = (struct skep_instance *)(uintptr_t)collector_instances(t.collector);
	uint64_t id = attach(c, "{\"request\":\"attach\",\"detail\":\"width\",\"for_ns\":0}");
	char line[64];
	long long heard = 0;
	json_t *o;

	(void)state;
	say(stuck, "{\"request\":\"attach\",\"detail\":\"width\",\"for_ns\":0}\n");
	for (int i = 0; i < 100000 && attached() < 2; i++)
		run_for(5);
	assert_string_equal(probe->name, "detail");
	/* 5 MiB of records for each: more than the socket and the daemon buffer */
	for (int i = 0; i < 25000; i++)
		instance_sample(probe);
	assert_int_equal(attached(), 2);
	snprintf(line, sizeof(line), "{\"request\":\"detach\",\"id\":%llu}\n", (unsigned long long)id);
	say(c, line);
	while ((o = hear(c)) && !json_object_get(o, "end")) {
		heard += json_object_get(o, "stream") != NULL;
		json_decref(o);
	}
	assert_non_null(o);
	assert_true(heard > 10000);
	assert_true(number(o, "dropped") > 1000);
	assert_true(number(o, "dropped") + heard >= 25000);
	json_decref(o);
	for (struct control_client *client = control->clients; client; client = client->next)
		if (client->attachments) /* the client that never reads: pretends that half a minute has passed */
			client->taken_ns -= CONTROL_STALLED_NS;
	for (int i = 0; i < 100000 && attached() > 0; i++)
		run_for(5);
	assert_int_equal(attached(), 0);
	assert_int_equal(clients("dropped"), 1);
	client_free(stuck);
	client_free(c);
}

/* The client also learns of an end that the collector causes. */
static void told_when_all_ends(void **state)
{
	struct client *c = client_new();
	uint64_t id = attach(c, "{\"request\":\"attach\",\"detail\":\"width\",\"for_ns\":0}");
	char why[64];

	(void)state;
	stop(0);
	follow(c, id, why);
	assert_true(*why);
	client_free(c);
}

/* ---- the file ------------------------------------------------------------------------- */

static int second(const char *at, char *why, size_t size)
{
	struct control *other = NULL;
	int err = control_new(&t.loop, at, t.collector, &other, why, size);

	control_close(other);
	run_for(20);
	return err;
}

static void a_live_one_is_not_replaced(void **state)
{
	struct client *c = client_new();
	char why[512];

	(void)state;
	assert_int_equal(second(path, why, sizeof(why)), -EADDRINUSE);
	assert_non_null(strstr(why, "another skepd listens at "));
	assert_ok(c, "{\"request\":\"runs\"}");
	client_free(c);
	c = client_new();
	assert_ok(c, "{\"request\":\"runs\"}");
	client_free(c);
}

static void a_dead_ones_file_is_replaced(void **state)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	char *stale = support_path(t.dir, "stale.sock"), why[512] = "";
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct stat st;

	(void)state;
	assert_true(fd >= 0);
	snprintf(at.sun_path, sizeof(at.sun_path), "%s", stale);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd); /* as after kill -9: the file stays */
	assert_int_equal(lstat(stale, &st), 0);
	if (second(stale, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	assert_int_equal(lstat(stale, &st), -1);
	free(stale);
}

static void other_files_are_left_alone(void **state)
{
	char *file = support_path(t.dir, "file"), *far = support_path(t.dir, "no/such/s.sock"), why[512];
	size_t size;
	char *text;

	(void)state;
	support_write(file, "precious", 8, 0600);
	assert_int_equal(second(file, why, sizeof(why)), -EEXIST);
	assert_non_null(strstr(why, "is not a socket"));
	text = support_read(file, &size);
	assert_int_equal(size, 8);
	assert_memory_equal(text, "precious", 8);
	/* the daemon makes one folder (/run/skep after a boot), not two */
	assert_int_equal(second(far, why, sizeof(why)), -ENOENT);
	assert_non_null(strstr(why, "no/such"));
	free(text);
	free(far);
	free(file);
}

/* The daemon does not remove a file that has replaced its own. */
static void the_successors_file_stays(void **state)
{
	char *at = support_path(t.dir, "mine.sock"), why[512];
	struct control *mine = NULL;
	struct stat st;

	(void)state;
	assert_int_equal(control_new(&t.loop, at, t.collector, &mine, why, sizeof(why)), 0);
	assert_int_equal(unlink(at), 0);
	support_write(at, "x", 1, 0600);
	control_close(mine);
	run_for(20);
	assert_int_equal(lstat(at, &st), 0);
	free(at);
}

/* Reads lines to the end of a list. Returns the number of processes in it; *ret_first: the first one. */
static size_t watched(struct client *c, json_t **ret_first)
{
	size_t n = 0;

	for (;;) {
		json_t *line = hear(c), *live = json_object_get(line, "live");
		bool over = json_object_get(line, "sampled_ns") != NULL;

		assert_non_null(line);
		if (live && !n)
			*ret_first = json_incref(json_array_get(live, 0));
		n += json_array_size(live);
		if (over)
			assert_int_equal(number(line, "dropped"), 0);
		json_decref(line);
		if (over)
			return n;
	}
}

/* A member gets every process once, then changed processes; a user outside the group gets no other user's process. */
static void processes_that_are_watched(void **state)
{
	struct client *c = client_new(), *other[CONTROL_WATCHES_STRANGERS + 1];
	json_t *first = NULL, *o;
	size_t n = 0;

	(void)state;
	run_for(50);
	assert_ok(c, "{\"request\":\"watch\"}");
	assert_int_equal(watched(c, &first), 1);
	assert_int_equal(number(first, "pid"), 100);
	assert_int_equal(number(first, "image"), 0);
	assert_string_equal(string(first, "exe"), "/bin/sh");
	assert_true(json_is_null(json_object_get(first, "net_rx_bytes")));
	json_decref(first);
	assert_error(c, "{\"request\":\"watch\"}", "busy", "watches processes already");
	assert_error(c, "{\"request\":\"watch\",\"pid\":1}", "bad_request", "no key");
	assert_ok(c, "{\"request\":\"runs\"}"); /* the connection serves requests meanwhile */
	assert_non_null(collector_track(t.collector));
	if (geteuid() == 0) {
		for (; n < CONTROL_WATCHES_STRANGERS; n++) {
			other[n] = stranger((uid_t)(1001 + n));
			o = ask(other[n], "{\"request\":\"watch\"}");
			assert_true(json_is_true(json_object_get(o, "ok")) && json_is_false(json_object_get(o, "member")));
			json_decref(o);
			assert_int_equal(watched(other[n], &first), 0);
		}
		other[n] = stranger(1001);
		assert_error(other[n++], "{\"request\":\"watch\"}", "busy", "too many clients");
		while (n > 0)
			client_free(other[--n]);
	}
	client_free(c);
	run_for(50);
	assert_int_equal(control->n_watches, 0); /* no watcher: the tracker sends nothing */
}

/* A watch closes no batch: any user could make the batches of all sinks small, and each a commit. */
static void a_watch_leaves_the_batches_open(void **state)
{
	static const char request[] = "{\"request\":\"watch\"}";
	const struct delivery *delivery = t.collector->delivery;
	struct client *c = client_new();

	(void)state;
	for (int i = 0; i < 5000 && !(delivery->open[0] && control->clients); i++)
		run_for(1);
	assert_non_null(delivery->open[0]);
	control->serve(control->clients, request, strlen(request));
	assert_int_equal(control->n_watches, 1);
	assert_non_null(delivery->open[0]);
	assert_false(delivery_closed_before(delivery, clock_boot_ns()));
	assert_true(delivery_closed_before(delivery, delivery->open[0]->born_ns - 1));
	client_free(c);
}

/* The rows of ended images count as the time of the watching user: without a share left skepd keeps 128 of them. */
static void rows_of_a_watch_cost_its_user(void **state)
{
	const struct record_process r = { 0 };
	json_t *first = NULL, *line;
	const struct proc *p;
	size_t ended = 0;
	struct client *c;

	(void)state;
	if (geteuid() != 0)
		skip();
	c = client_of(1001);
	run_for(50);
	assert_ok(c, "{\"request\":\"watch\"}");
	assert_int_equal(watched(c, &first), 1);
	p = proctab_find(track_table(collector_track(t.collector)),
			 &(struct skep_upid){ .pid = 100, .start_ns = (uint64_t)number(first, "start_boot_ns") });
	json_decref(first);
	assert_non_null(p);
	uv_timer_stop(&control->tick); /* this second does not end */
	control_share_renew(control);
	control->track_watch.ended(control, p, &r);
	assert_int_equal(control->n_shares, 1);
	assert_int_equal(control->shares[0].uid, 1001);
	assert_true(control->shares[0].ns > 0);
	control->shares[0].ns = CONTROL_SHARE_NS;
	for (int i = 1; i < 300; i++)
		control->track_watch.ended(control, p, &r);
	control_share_renew(control);
	for (bool over = false; !over; json_decref(line)) {
		line = hear(c);
		assert_non_null(line);
		ended += json_array_size(json_object_get(line, "ended"));
		over = ended > 0 && json_object_get(line, "sampled_ns");
		if (over)
			assert_int_equal(number(line, "dropped"), 300 - 128);
	}
	assert_int_equal(ended, 128);
	client_free(c);
}

#define TEST(f_) cmocka_unit_test_setup_teardown(f_, set_up_control, tear_down_control)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(answers),
		TEST(errors),
		TEST(lines_in_pieces),
		TEST(too_long),
		TEST(too_many),
		TEST(places_of_a_user),
		TEST(users_outside_the_group),
		TEST(processes_that_are_watched),
		TEST(a_watch_leaves_the_batches_open),
		TEST(rows_of_a_watch_cost_its_user),
		TEST(time_of_a_user),
		TEST(runs_of_clients),
		TEST(runs_whose_client_goes),
		TEST(runs_without_their_clients),
		TEST(until_its_time),
		TEST(detached_by_another),
		TEST(who_vanishes_is_detached),
		TEST(who_never_reads_is_dropped),
		TEST(told_when_all_ends),
		TEST(a_live_one_is_not_replaced),
		TEST(a_dead_ones_file_is_replaced),
		TEST(other_files_are_left_alone),
		TEST(the_successors_file_stays),
	};

	signal(SIGPIPE, SIG_IGN); /* as skepd does: libuv writes to a client that may be gone */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
