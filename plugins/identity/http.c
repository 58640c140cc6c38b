/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/http.c - one HTTP/1.1 request and its answer (RFC 9110, RFC 9112).
 *
 * Not libcurl: that is 230 lines shorter, but every skepd and every `skep run` would map it and 27 more libraries, 6
 * MiB of 26, for an option that is off by default.
 */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- the answer ---------------------------------------------------------------- */

struct head {
	bool chunked, has_length;
	uint64_t length;
};

/* Reads a line that ends in CR LF. -EAGAIN: the line is incomplete. */
static int crlf_line(struct text *t, struct text *ret)
{
	struct text rest = *t, line;

	if (skep_text_len(rest) == 0 || !memchr(rest.at, '\n', skep_text_len(rest)))
		return -EAGAIN;
	skep_text_line(&rest, &line);
	if (line.at == line.end || line.end[-1] != '\r')
		return -EBADMSG;
	line.end--;
	if (skep_text_len(line) &&
	    (memchr(line.at, '\r', skep_text_len(line)) || memchr(line.at, '\0', skep_text_len(line))))
		return -EBADMSG;
	*ret = line;
	*t = rest;
	return 0;
}

/* "HTTP/1.1 200 OK" */
static int status_line(struct text line, unsigned *ret)
{
	struct text word;
	uint64_t status;

	if (!skep_text_skip(&line, "HTTP/1.") || !skep_text_word(&line, &word) || skep_text_len(word) != 1 ||
	    (*word.at != '0' && *word.at != '1'))
		return -EBADMSG;
	if (!skep_text_u64(&line, &status) || status < 100 || status > 599)
		return -EBADMSG;
	*ret = (unsigned)status;
	return 0;
}

static bool same(struct text t, const char *name)
{
	return skep_text_len(t) == strlen(name) && strncasecmp(t.at, name, skep_text_len(t)) == 0;
}

static int header_line(struct text line, struct head *h, struct http_reply *r)
{
	const char *colon = memchr(line.at, ':', skep_text_len(line));
	struct text name, value;
	uint64_t length;

	/* a name without blanks; this also refuses a continued line, which RFC 9112 calls obsolete */
	if (!colon || colon == line.at)
		return -EBADMSG;
	name = (struct text){ line.at, colon };
	if (memchr(name.at, ' ', skep_text_len(name)) || memchr(name.at, '\t', skep_text_len(name)))
		return -EBADMSG;
	value = skep_text_trim((struct text){ colon + 1, line.end });
	if (same(name, "content-length")) {
		struct text number = value;

		if (!skep_text_u64(&number, &length) || number.at != number.end ||
		    (h->has_length && length != h->length))
			return -EBADMSG;
		h->has_length = true;
		h->length = length;
	} else if (same(name, "transfer-encoding")) {
		if (!same(value, "chunked"))
			return -EBADMSG;
		h->chunked = true;
	} else if (same(name, "metadata-flavor")) {
		r->google = same(value, "google");
	}
	return 0;
}

/* The hexadecimal size of a chunk; extensions behind a semicolon are ignored. */
static int chunk_size(struct text line, size_t *ret)
{
	size_t size = 0;
	unsigned digits = 0;

	for (; line.at < line.end && *line.at != ';' && *line.at != ' '; line.at++) {
		char c = *line.at;
		unsigned v;

		if (c >= '0' && c <= '9')
			v = (unsigned)(c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = (unsigned)((c | 32) - 'a') + 10;
		else
			return -EBADMSG;
		size = size * 16 + v;
		if (++digits > 8)
			return -EBADMSG;
	}
	if (!digits)
		return -EBADMSG;
	*ret = size;
	return 0;
}

/* Copies all chunks to `to`. With NULL it only checks that all of them have arrived. */
static int chunks(struct text t, char *to, size_t *ret_len)
{
	struct text line;
	size_t len = 0, size;
	int err;

	for (;;) {
		err = crlf_line(&t, &line);
		if (!err)
			err = chunk_size(line, &size);
		if (err)
			return err;
		if (size == 0)
			break;
		if (skep_text_len(t) < size)
			return -EAGAIN;
		if (to)
			memmove(to + len, t.at, size);
		len += size;
		t.at += size;
		err = crlf_line(&t, &line);
		if (err)
			return err;
		if (skep_text_len(line))
			return -EBADMSG;
	}
	/* trailers, to the empty line */
	do {
		err = crlf_line(&t, &line);
		if (err)
			return err;
	} while (skep_text_len(line));
	*ret_len = len;
	return 0;
}

static int body(struct text t, const struct head *h, bool closed, char *data, struct http_reply *r)
{
	size_t len;
	int err;

	if (r->status == 204 || r->status == 304) {
		r->body = (struct text){ t.at, t.at };
		return 0;
	}
	if (h->chunked) {
		char *to = data + (t.at - data); /* the same bytes as t, writable */

		err = chunks(t, NULL, &len);
		if (err)
			return err;
		chunks(t, to, &len);
		r->body = (struct text){ to, to + len };
		return 0;
	}
	if (h->has_length) {
		if (skep_text_len(t) < h->length)
			return -EAGAIN;
		r->body = (struct text){ t.at, t.at + h->length };
		return 0;
	}
	r->body = t;
	return closed ? 0 : -EAGAIN;
}

int http_parse(char *data, size_t n, bool closed, struct http_reply *ret)
{
	struct text t = { data, data + n }, line;
	struct http_reply r = { 0 };
	struct head h = { 0 };
	int err = crlf_line(&t, &line);

	if (!err)
		err = status_line(line, &r.status);
	while (!err) {
		err = crlf_line(&t, &line);
		if (err || skep_text_len(line) == 0)
			break;
		err = header_line(line, &h, &r);
	}
	if (!err && (h.chunked && h.has_length))
		err = -EBADMSG; /* two lengths are request smuggling (RFC 9112, 6.1) */
	if (!err)
		err = body(t, &h, closed, data, &r);
	if (err)
		return err == -EAGAIN && closed ? -EBADMSG : err;
	*ret = r;
	return 0;
}

/* ---- the connection ------------------------------------------------------------ */

int http_endpoint(const char *text, struct sockaddr_in *ret)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	const char *colon = strchr(text, ':');
	struct text port = skep_text_of(colon ? colon + 1 : "80");
	char address[INET_ADDRSTRLEN];
	uint64_t number;

	if (!skep_text_format(address, sizeof(address), "%.*s", colon ? (int)(colon - text) : (int)strlen(text), text))
		return -EINVAL;
	if (inet_pton(AF_INET, address, &to.sin_addr) != 1 || !skep_text_u64(&port, &number) || skep_text_len(port) ||
	    number == 0 || number > 65535)
		return -EINVAL;
	to.sin_port = htons((uint16_t)number);
	*ret = to;
	return 0;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int wait_for(int fd, short events, uint64_t until_ns)
{
	for (;;) {
		struct pollfd p = { .fd = fd, .events = events };
		uint64_t at = now();
		int n;

		if (at >= until_ns)
			return -ETIMEDOUT;
		n = poll(&p, 1, (int)((until_ns - at) / 1000000 + 1));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
	}
}

static int connected(int fd, const struct sockaddr_in *to, uint64_t until_ns)
{
	int err, soerr = 0;
	socklen_t len = sizeof(soerr);

	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return -errno;
	err = wait_for(fd, POLLOUT, until_ns);
	if (err)
		return err;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &soerr, &len) < 0)
		return -errno;
	return -soerr;
}

static int put(int fd, const char *data, size_t n, uint64_t until_ns)
{
	while (n) {
		ssize_t put = send(fd, data, n, MSG_NOSIGNAL);

		if (put >= 0) {
			data += put;
			n -= (size_t)put;
		} else if (errno == EAGAIN) {
			int err = wait_for(fd, POLLOUT, until_ns);

			if (err)
				return err;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

static int get(int fd, uint64_t until_ns, char *data, struct http_reply *ret)
{
	size_t n = 0;

	for (;;) {
		int err = wait_for(fd, POLLIN, until_ns);
		ssize_t got;

		if (err)
			return err;
		got = recv(fd, data + n, HTTP_MOST - n, 0);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got < 0)
			return -errno;
		n += (size_t)got;
		err = http_parse(data, n, got == 0, ret);
		if (err != -EAGAIN)
			return err;
		if (n == HTTP_MOST)
			return -EFBIG;
	}
}

int http_ask(const struct http_request *q, char data[HTTP_MOST], struct http_reply *ret)
{
	uint64_t until_ns = now() + q->within_ns;
	char text[2048];
	int fd, err;

	/* a PUT without a body has a length all the same (RFC 9110, 8.6) */
	if (!skep_text_format(text, sizeof(text),
			      "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: skep\r\nConnection: close\r\n%s%s%s\r\n", q->method,
			      q->path, q->host, q->header ? q->header : "", q->header ? "\r\n" : "",
			      strcmp(q->method, "PUT") == 0 ? "Content-Length: 0\r\n" : ""))
		return -EMSGSIZE;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connected(fd, &q->to, until_ns);
	if (!err)
		err = put(fd, text, strlen(text), until_ns);
	if (!err)
		err = get(fd, until_ns, data, ret);
	close(fd);
	return err;
}
