/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/http.c - loads libcurl by name and sends requests with it.
 */
#include "lake/http.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <skep/ca_file.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

int lake_http_password(const char *file, char **ret, char *why, size_t room)
{
	FILE *f = fopen(file, "re");
	char *password = NULL;
	size_t size = 0;
	ssize_t n;
	int err;

	if (!f) {
		err = -errno;
		snprintf(why, room, "%s: %s", file, strerror(-err));
		return err;
	}
	n = getline(&password, &size, f);
	fclose(f);
	if (n < 0)
		n = 0;
	while (n > 0 && isspace((unsigned char)password[n - 1]))
		password[--n] = '\0';
	if (n == 0) {
		free(password);
		snprintf(why, room, "%s: is empty", file);
		return -EINVAL;
	}
	*ret = password;
	return 0;
}

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

#define REPLY_MOST (1u << 20) /* of lake_http_post, and of an error */
#define TIMEOUT_S  60u

static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

/* libcurl's functions, while the library is loaded. */
static struct {
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *, CURLoption, ...);
	CURLcode (*getinfo)(CURL *, CURLINFO, ...);
	void (*cleanup)(CURL *);
	const char *(*strerror)(CURLcode);
	CURLcode (*global_init)(long);
	char *(*escape)(CURL *, const char *, int);
	void (*free)(void *);
	CURLM *(*multi_init)(void);
	CURLMcode (*multi_add)(CURLM *, CURL *);
	CURLMcode (*multi_remove)(CURLM *, CURL *);
	CURLMcode (*multi_perform)(CURLM *, int *);
	CURLMcode (*multi_wait)(CURLM *, struct curl_waitfd *, unsigned, int, int *);
	CURLMsg *(*multi_read)(CURLM *, int *);
	CURLMcode (*multi_cleanup)(CURLM *);
} lib;

struct lake_http_reply {
	struct lake_http *http;
	CURL *easy;
	char error[CURL_ERROR_SIZE];
	char *bytes;
	size_t n, room;
	bool given;  /* the caller has the bytes */
	bool ended, whole;
	bool framed; /* HTTP/2, or a header for the length or chunks: else a cut answer looks whole to libcurl */
	bool nomem;
	time_t heard; /* monotonic time of the server's last bytes */
	CURLcode code;
};

int lake_http_open(struct lake_http *h, char *why, size_t room)
{
	const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{ "curl_easy_init", &lib.init },
		{ "curl_easy_setopt", &lib.setopt },
		{ "curl_easy_getinfo", &lib.getinfo },
		{ "curl_easy_cleanup", &lib.cleanup },
		{ "curl_easy_strerror", &lib.strerror },
		{ "curl_global_init", &lib.global_init },
		{ "curl_easy_escape", &lib.escape },
		{ "curl_free", &lib.free },
		{ "curl_multi_init", &lib.multi_init },
		{ "curl_multi_add_handle", &lib.multi_add },
		{ "curl_multi_remove_handle", &lib.multi_remove },
		{ "curl_multi_perform", &lib.multi_perform },
		{ "curl_multi_wait", &lib.multi_wait },
		{ "curl_multi_info_read", &lib.multi_read },
		{ "curl_multi_cleanup", &lib.multi_cleanup },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !h->library; i++)
		h->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!h->library) {
		snprintf(
			why, room,
			"libcurl cannot be loaded (%s); remedy: apt-get install -y libcurl4, or dnf install -y libcurl",
			dlerror());
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(h->library, symbols[i].name);

		if (!found) {
			snprintf(why, room, "libcurl has no %s", symbols[i].name);
			lake_http_close(h);
			return -ENOENT;
		}
		memcpy(symbols[i].to, &found, sizeof(found));
	}
	h->connections = lib.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK ? lib.multi_init() : NULL;
	if (!h->connections) {
		snprintf(why, room, "libcurl cannot be initialised");
		lake_http_close(h);
		return -ENOMEM;
	}
	return 0;
}

void lake_http_close(struct lake_http *h)
{
	if (h->connections)
		lib.multi_cleanup(h->connections);
	h->connections = NULL;
	if (h->library)
		dlclose(h->library);
	h->library = NULL;
}

/* ---- an answer in pieces ------------------------------------------------------------- */

static time_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct lake_http_reply *r = arg;

	n *= one;
	r->heard = now();
	if (n > 5 && strncasecmp(line, "HTTP/", 5) == 0)
		r->framed = line[5] >= '2';
	if ((n > 15 && strncasecmp(line, "Content-Length:", 15) == 0) ||
	    (n > 18 && strncasecmp(line, "Transfer-Encoding:", 18) == 0))
		r->framed = true;
	return n;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	struct lake_http_reply *r = arg;
	size_t room = r->room ? r->room : 65536;
	char *grown;

	n *= one;
	r->heard = now();
	while (room < r->n + n)
		room *= 2;
	if (room > r->room) {
		grown = realloc(r->bytes, room);
		if (!grown) {
			r->nomem = true;
			return 0;
		}
		r->bytes = grown;
		r->room = room;
	}
	memcpy(r->bytes + r->n, data, n);
	r->n += n;
	return n;
}

static void set_options(struct lake_http_reply *r, const char *url, const char *text)
{
	const struct lake_http *h = r->http;
	const char *ca_file = h->ca_file ? h->ca_file : skep_ca_file();
	long timeout = h->timeout_s ? (long)h->timeout_s : (long)TIMEOUT_S;

	lib.setopt(r->easy, CURLOPT_URL, url);
	lib.setopt(r->easy, CURLOPT_POSTFIELDS, text);
	lib.setopt(r->easy, CURLOPT_CONNECTTIMEOUT, timeout < 10 ? timeout : 10L);
	lib.setopt(r->easy, CURLOPT_NOSIGNAL, 1L);
	lib.setopt(r->easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	lib.setopt(r->easy, CURLOPT_USERAGENT, "skep/" SKEP_VERSION);
	lib.setopt(r->easy, CURLOPT_ERRORBUFFER, r->error);
	lib.setopt(r->easy, CURLOPT_HEADERFUNCTION, on_header);
	lib.setopt(r->easy, CURLOPT_HEADERDATA, r);
	lib.setopt(r->easy, CURLOPT_WRITEFUNCTION, on_body);
	lib.setopt(r->easy, CURLOPT_WRITEDATA, r);
	if (ca_file)
		lib.setopt(r->easy, CURLOPT_CAINFO, ca_file);
	if (h->user || h->password) {
		lib.setopt(r->easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		lib.setopt(r->easy, CURLOPT_USERNAME, h->user ? h->user : "default");
		lib.setopt(r->easy, CURLOPT_PASSWORD, h->password ? h->password : "");
	}
}

int lake_http_begin(struct lake_http *h, const char *database, const char *text, struct lake_http_reply **ret,
		    char *why, size_t room)
{
	struct lake_http_reply *r = calloc(1, sizeof(*r));
	char *url = NULL, *name = NULL;

	if (!r)
		goto nomem;
	r->http = h;
	r->easy = lib.init();
	if (r->easy && database)
		name = lib.escape(r->easy, database, 0);
	if (!r->easy || (database && !name) ||
	    asprintf(&url, "%s%swait_end_of_query=1%s%s", h->url, strchr(h->url, '?') ? "&" : "?",
		     name ? "&database=" : "", name ? name : "") < 0) {
		url = NULL;
		goto nomem;
	}
	set_options(r, url, text);
	if (lib.multi_add(h->connections, r->easy) != CURLM_OK)
		goto nomem;
	lib.free(name);
	free(url);
	*ret = r;
	return 0;
nomem:
	snprintf(why, room, "out of memory");
	if (name)
		lib.free(name);
	free(url);
	if (r && r->easy)
		lib.cleanup(r->easy);
	free(r);
	return -ENOMEM;
}

/* Lets libcurl send and receive; waits if it has nothing to do. */
static void turn(struct lake_http_reply *r)
{
	CURLM *m = r->http->connections;
	const size_t had = r->n;
	int running = 0, left;
	CURLMsg *message;
	CURLMcode code = lib.multi_perform(m, &running);

	while ((message = lib.multi_read(m, &left))) {
		if (message->msg != CURLMSG_DONE || message->easy_handle != r->easy)
			continue;
		r->ended = true;
		r->code = message->data.result;
	}
	if (code != CURLM_OK) {
		r->ended = true;
		r->code = CURLE_OUT_OF_MEMORY;
	}
	if (!r->ended && r->n == had)
		lib.multi_wait(m, NULL, 0, 1000, NULL);
}

static void one_line(char *text)
{
	size_t n = strcspn(text, "\r\n");

	text[n < 600 ? n : 600] = '\0';
}

/* The server's own words for an error. */
static int refused(struct lake_http_reply *r, long status, char *why, size_t room)
{
	if (on_body((char[]){ 0 }, 1, 1, r) != 1) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	one_line(r->bytes);
	snprintf(why, room, "answers %ld: %s", status, r->bytes);
	return -EPROTO;
}

static int failed(const struct lake_http_reply *r, char *why, size_t room)
{
	if (r->nomem || r->code == CURLE_OUT_OF_MEMORY) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	snprintf(why, room, "%s", r->error[0] ? r->error : lib.strerror(r->code));
	switch (r->code) {
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_OPERATION_TIMEDOUT:
		return -ECONNREFUSED;
	case CURLE_PARTIAL_FILE:
	case CURLE_GOT_NOTHING:
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return -EPIPE;
	default:
		return -EIO;
	}
}

int lake_http_read(struct lake_http_reply *r, const char **ret, size_t *ret_n, char *why, size_t room)
{
	/* libcurl's own limit for a slow server takes five seconds more */
	const time_t timeout = r->http->timeout_s ? r->http->timeout_s : TIMEOUT_S;
	long status = 0;

	r->heard = now();
	if (r->given)
		r->n = 0;
	r->given = false;
	while (!r->whole) {
		if (!r->ended)
			turn(r);
		lib.getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
		if (r->n && status == 200) {
			*ret = r->bytes;
			*ret_n = r->n;
			r->given = true;
			return 1;
		}
		if (!r->ended && now() - r->heard > timeout) {
			snprintf(why, room, "the server has sent nothing for %lld s", (long long)timeout);
			return -ETIMEDOUT;
		}
		if (!r->ended && r->n <= REPLY_MOST)
			continue;
		if (r->ended && r->code != CURLE_OK)
			return failed(r, why, room);
		if (status != 200)
			return refused(r, status, why, room);
		if (!r->framed) {
			snprintf(why, room, "the answer does not say how long it is: it may have broken off");
			return -EPIPE;
		}
		r->whole = true;
	}
	return 0;
}

struct lake_http_reply *lake_http_end(struct lake_http_reply *r)
{
	if (!r)
		return NULL;
	lib.multi_remove(r->http->connections, r->easy);
	lib.cleanup(r->easy);
	free(r->bytes);
	free(r);
	return NULL;
}

/* ---- a short answer -------------------------------------------------------------------- */

int lake_http_post(struct lake_http *h, const char *database, const char *text, char **ret, char *why, size_t room)
{
	struct lake_http_reply *r = NULL;
	const char *bytes = NULL;
	char *reply = NULL;
	size_t n = 0, all = 0;
	FILE *out = open_memstream(&reply, &all);
	int err = out ? lake_http_begin(h, database, text, &r, why, room) : -ENOMEM;

	while (!err && (err = lake_http_read(r, &bytes, &n, why, room)) > 0) {
		err = fwrite(bytes, 1, n, out) == n && ftell(out) <= (long)REPLY_MOST ? 0 : -EFBIG;
		if (err)
			snprintf(why, room, "its answer is too long");
	}
	lake_http_end(r);
	if (!out || fclose(out) != 0) {
		snprintf(why, room, "out of memory");
		err = -ENOMEM;
	}
	if (err) {
		free(reply);
		return err;
	}
	*ret = reply;
	return 0;
}

#else

int lake_http_open(struct lake_http *h, char *why, size_t room)
{
	(void)h;
	snprintf(
		why, room,
		"this skep was built without libcurl; remedy: apt-get install -y libcurl4-openssl-dev, and build again");
	return -ENOSYS;
}

void lake_http_close(struct lake_http *h)
{
	(void)h;
}

int lake_http_post(struct lake_http *h, const char *database, const char *text, char **ret, char *why, size_t room)
{
	(void)h;
	(void)database;
	(void)text;
	(void)ret;
	snprintf(why, room, "built without libcurl");
	return -ENOSYS;
}

int lake_http_begin(struct lake_http *h, const char *database, const char *text, struct lake_http_reply **ret,
		    char *why, size_t room)
{
	(void)ret;
	return lake_http_post(h, database, text, NULL, why, room);
}

int lake_http_read(struct lake_http_reply *r, const char **ret, size_t *ret_n, char *why, size_t room)
{
	(void)r;
	(void)ret;
	(void)ret_n;
	(void)why;
	(void)room;
	return -ENOSYS;
}

struct lake_http_reply *lake_http_end(struct lake_http_reply *r)
{
	(void)r;
	return NULL;
}

#endif
