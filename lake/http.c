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

/*
 * With wait_end_of_query the server appends no exception to rows, but a proxy may take that parameter away.  The
 * exception then follows the bytes that were sent before, perhaps in the middle of a row.  Later versions give it a
 * frame, which is in no row: TabSeparated escapes each \r.
 */
const char *lake_http_exception(const char *text)
{
	static const char frame[] = "\r\n__exception__\r\n", mark[] = "Code: ";
	static const char *const then[] = { ". DB::Exception: ", ", e.displayText() = DB::Exception: " };
	const char *from = strstr(text, frame);

	if (from) {
		const char *words = strstr(from, mark);

		return words ? words : from + strlen(frame);
	}
	for (from = text; (from = strstr(from, mark)) != NULL; from++) {
		const char *line_end = strchr(from, '\n');
		bool last = !line_end || !line_end[1], first = from == text || from[-1] == '\n';
		char *end;

		/* the text may be of a process's arguments: in the middle of a row, or before other rows */
		if (strchr(from, '\t') || (!first && !last))
			continue;
		strtoul(from + strlen(mark), &end, 10);
		for (size_t i = 0; i < sizeof(then) / sizeof(then[0]); i++)
			if (strncmp(end, then[i], strlen(then[i])) == 0)
				return from;
	}
	return NULL;
}

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

#define REPLY_MOST (1u << 20) /* of lake_http_post, and of an error */
#define TIMEOUT_S  60u
#define LEAST      1024u /* bytes that a server sends in that time, or its answer ends: it cannot drip for ever */
#define TAIL       4096 /* bytes of an answer's end, in which an exception is sought */

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
	bool rows;   /* the caller wants TabSeparated */
	unsigned exception; /* code in the answer's headers; 0: none */
	char type[64];      /* Content-Type, cut; "" without one */
	char tail[TAIL + 1]; /* the end of the answer so far */
	size_t tail_n;
	time_t heard; /* monotonic time of the server's first byte, and of each LEAST bytes since */
	time_t given_at;
	size_t since; /* bytes since then */
	bool began;
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

/* Finds the value of the header `name`; false: the line is another header. */
static bool header(const char *line, size_t n, const char *name, const char **ret, size_t *ret_n)
{
	size_t from = strlen(name);

	if (n <= from || line[from] != ':' || strncasecmp(line, name, from) != 0)
		return false;
	for (from++; from < n && isblank((unsigned char)line[from]); from++)
		;
	while (n > from && isspace((unsigned char)line[n - 1]))
		n--;
	*ret = line + from;
	*ret_n = n - from;
	return true;
}

static void hear(struct lake_http_reply *r, size_t n)
{
	r->since += n;
	if (r->began && r->since < LEAST)
		return;
	r->began = true;
	r->since = 0;
	r->heard = now();
}

/* libcurl calls this function for each header of the answer, also for trailers behind the body. */
static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct lake_http_reply *r = arg;
	const char *value;
	char number[16];
	size_t len;

	n *= one;
	hear(r, n);
	if (n > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		r->framed = line[5] >= '2';
		r->exception = 0;
		r->type[0] = '\0';
	} else if (header(line, n, "Content-Length", &value, &len) || header(line, n, "Transfer-Encoding", &value, &len)) {
		r->framed = true;
	} else if (header(line, n, "Content-Type", &value, &len)) {
		snprintf(r->type, sizeof(r->type), "%.*s", (int)len, value);
	} else if (header(line, n, "X-ClickHouse-Exception-Code", &value, &len)) {
		snprintf(number, sizeof(number), "%.*s", (int)len, value);
		r->exception = (unsigned)strtoul(number, NULL, 10);
	}
	return n;
}

static void keep_tail(struct lake_http_reply *r, const char *data, size_t n)
{
	size_t old = r->tail_n;

	if (n >= TAIL) {
		data += n - TAIL;
		n = TAIL;
		old = 0;
	} else if (old + n > TAIL) {
		memmove(r->tail, r->tail + old + n - TAIL, TAIL - n);
		old = TAIL - n;
	}
	memcpy(r->tail + old, data, n);
	r->tail_n = old + n;
	r->tail[r->tail_n] = '\0';
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	struct lake_http_reply *r = arg;
	size_t room = r->room ? r->room : 65536;
	char *grown;

	n *= one;
	hear(r, n);
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
	keep_tail(r, data, n);
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

static int begin(struct lake_http *h, const char *database, const char *text, bool rows, struct lake_http_reply **ret,
		 char *why, size_t room)
{
	struct lake_http_reply *r = calloc(1, sizeof(*r));
	char *url = NULL, *name = NULL;

	if (!r)
		goto nomem;
	r->http = h;
	r->rows = rows;
	r->heard = r->given_at = now();
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

int lake_http_begin(struct lake_http *h, const char *database, const char *text, struct lake_http_reply **ret,
		    char *why, size_t room)
{
	return begin(h, database, text, true, ret, why, room);
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

static bool is_tab_separated(const char *type)
{
	static const char name[] = "text/tab-separated-values";

	return strncasecmp(type, name, strlen(name)) == 0;
}

/* A proxy or a log-in page answers 200, too, but not in TabSeparated. Statements have other content types. */
static bool is_answer(const struct lake_http_reply *r, long status)
{
	return status == 200 && !r->exception &&
	       (r->rows ? !*r->type || is_tab_separated(r->type) : !strcasestr(r->type, "html"));
}

/* The server's own words for an error, as one line. text: where they begin; NULL: the answer is nothing else. */
static int refused(struct lake_http_reply *r, long status, const char *text, char *why, size_t room)
{
	char with[128] = "", words[600];
	size_t n = 0;

	if (!text && on_body((char[]){ 0 }, 1, 1, r) != 1) {
		snprintf(why, room, "out of memory");
		return -ENOMEM;
	}
	if (!text)
		text = r->bytes;
	if (status == 200 && r->exception)
		snprintf(with, sizeof(with), " with X-ClickHouse-Exception-Code: %u", r->exception);
	else if (status == 200 && !is_answer(r, status))
		snprintf(with, sizeof(with), " with content type %s", r->type);
	for (; *text && n + 2 < sizeof(words); text++) {
		if (!isspace((unsigned char)*text))
			words[n++] = *text;
		else if (n && words[n - 1] != ' ')
			words[n++] = ' ';
	}
	while (n && words[n - 1] == ' ')
		n--;
	words[n] = '\0';
	snprintf(why, room, "answers %ld%s%s%s", status, with, n ? ": " : "", words);
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
	const char *exception;
	long status = 0;

	r->heard += now() - r->given_at; /* less the caller's own time */
	if (r->given)
		r->n = 0;
	r->given = false;
	while (!r->whole) {
		if (!r->ended)
			turn(r);
		if (!r->ended && now() - r->heard > timeout) {
			snprintf(why, room, "the server has sent %s %lld s", r->since ? "less than 1 KiB in" : "nothing for",
				 (long long)timeout);
			return -ETIMEDOUT;
		}
		lib.getinfo(r->easy, CURLINFO_RESPONSE_CODE, &status);
		if (r->n && is_answer(r, status)) {
			*ret = r->bytes;
			*ret_n = r->n;
			r->given = true;
			r->given_at = now();
			return 1;
		}
		if (!r->ended && r->n <= REPLY_MOST)
			continue;
		if (r->ended && r->code != CURLE_OK && !lake_http_exception(r->tail))
			return failed(r, why, room);
		exception = status == 200 ? lake_http_exception(r->tail) : NULL;
		if (exception || !is_answer(r, status))
			return refused(r, status, exception, why, room);
		if (!r->framed) {
			snprintf(why, room, "the answer does not say how long it is: it may have broken off");
			return -EPIPE;
		}
		if (r->rows && !r->tail_n && !*r->type) {
			snprintf(why, room, "answers 200 without rows and without their content type");
			return -EPROTO;
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
	int err = out ? begin(h, database, text, false, &r, why, room) : -ENOMEM;

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
