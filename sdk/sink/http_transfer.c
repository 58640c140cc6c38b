/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sets up libcurl for one request, and classifies its answer.
 */
#include <ctype.h>
#include <errno.h>
#include <skep/ca_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sdk/sink/http_classify.h"
#include "sdk/sink/http_priv.h"

#define NS_PER_MS 1000000u
#define NS_PER_S 1000000000u
#define CA_CACHE_S 300L       /* libcurl reads a replaced ca_file or cert_file after this time, even without a reload */
#define RETRY_AFTER_MOST_S 86400 /* a date further ahead comes from a wrong clock */
#define EXCERPT 320           /* bytes of the receiver's text in a reason */

long skep_http_connection_life_s = CA_CACHE_S;

void skep_transfer_link(struct transfer *t, struct transfer **list)
{
	t->next = *list;
	t->link = list;
	if (t->next)
		t->next->link = &t->next;
	*list = t;
}

void skep_transfer_unlink(struct transfer *t)
{
	if (!t->link)
		return;
	*t->link = t->next;
	if (t->next)
		t->next->link = t->link;
	t->link = NULL;
	t->next = NULL;
}

int skep_transfer_new(struct http *h, struct transfer **ret)
{
	struct transfer *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->http = h;
	t->easy = curl_easy_init();
	if (!t->easy) {
		free(t);
		return -ENOMEM;
	}
	*ret = t;
	return 0;
}

struct transfer *skep_transfer_free(struct transfer *t)
{
	if (!t)
		return NULL;
	skep_transfer_unlink(t);
	curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->headers);
	free(t->reply);
	free(t);
	return NULL;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	struct transfer *t = arg;
	size_t want = n * one, take = want;

	if (take > HTTP_REPLY_MOST - t->len) {
		take = HTTP_REPLY_MOST - t->len;
		t->cut = true;
	}
	if (t->len + take + 1 > t->room) {
		size_t room = 2 * (t->len + take) + 1024;
		char *reply = realloc(t->reply, room);

		if (!reply)
			return 0;
		t->reply = reply;
		t->room = room;
	}
	memcpy(t->reply + t->len, data, take);
	t->len += take;
	t->reply[t->len] = '\0';
	return t->cut ? 0 : want; /* 0 ends the transfer: the layer cuts an endless answer */
}

/*
 * Keeps the header that the request names.  libcurl calls this function for each header, also of a proxy's answer to
 * CONNECT, of interim answers, and after the body.  curl_easy_header() would do it, from libcurl 7.84 on.
 */
static size_t on_header(char *line, size_t one, size_t n, void *arg)
{
	struct transfer *t = arg;
	const char *name = t->request.answer_header;
	size_t len = strlen(name), from = len + 1;

	n *= one;
	if (n > 5 && strncasecmp(line, "HTTP/", 5) == 0) {
		t->header[0] = '\0';
	} else if (n > from && line[len] == ':' && strncasecmp(line, name, len) == 0) {
		size_t to = n;

		while (from < to && (line[from] == ' ' || line[from] == '\t'))
			from++;
		while (to > from && isspace((unsigned char)line[to - 1]))
			to--;
		snprintf(t->header, sizeof(t->header), "%.*s", (int)(to - from), line + from);
	}
	return n;
}

static int add_header(struct transfer *t, const char *text)
{
	struct curl_slist *list = curl_slist_append(t->headers, text);

	if (!list)
		return -ENOMEM;
	t->headers = list;
	return 0;
}

static int add_configured(struct transfer *t, const char *text, const struct http_values *values)
{
	char *expanded;
	int err;

	if (!values || !skep_http_template_is(text))
		return add_header(t, text);
	err = skep_http_template_expand(text, values, false, &expanded);
	if (err)
		return err;
	err = add_header(t, expanded);
	free(expanded);
	return err;
}

static int add_headers(struct transfer *t, const struct http_request *q)
{
	const struct http_auth *a = t->http->auth;
	const char *coding = skep_http_encoding_name(q->encoding);
	char text[256];
	int err;

	/* "Expect: 100-continue" costs a round trip for each batch, or a second when the receiver ignores it */
	err = add_header(t, "Expect:");
	for (size_t i = 0; !err && i < a->n; i++)
		err = add_configured(t, a->headers[i], q->values);
	for (size_t i = 0; !err && q->headers && q->headers[i]; i++)
		if (!skep_http_auth_has(a, q->headers[i]))
			err = add_header(t, q->headers[i]);
	if (!err && !skep_http_auth_has(a, "Content-Type")) {
		snprintf(text, sizeof(text), "Content-Type: %s",
			 q->content_type ? q->content_type : "application/octet-stream");
		err = add_header(t, text);
	}
	if (!err && coding) {
		snprintf(text, sizeof(text), "Content-Encoding: %s", coding);
		err = add_header(t, text);
	}
	return err;
}

#define SET(option_, value_) (code = code ? code : curl_easy_setopt(t->easy, (option_), (value_)))

static CURLcode set_tls(struct transfer *t, const struct http_options *o)
{
	const char *ca_file = o->ca_file ? o->ca_file : skep_ca_file();
	CURLcode code = CURLE_OK;

	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2); /* or later */
	SET(CURLOPT_SSL_VERIFYPEER, o->insecure ? 0L : 1L);
	SET(CURLOPT_SSL_VERIFYHOST, o->insecure ? 0L : 2L);
	if (ca_file)
		SET(CURLOPT_CAINFO, ca_file);
	if (o->ca_file) /* else libcurl would also trust the system's folder */
		SET(CURLOPT_CAPATH, NULL);
	if (o->cert_file) {
		SET(CURLOPT_SSLCERT, o->cert_file);
		SET(CURLOPT_SSLKEY, o->key_file ? o->key_file : o->cert_file);
	}
#if LIBCURL_VERSION_NUM >= 0x075700
	SET(CURLOPT_CA_CACHE_TIMEOUT, CA_CACHE_S);
#endif
	/* A connection keeps its first client certificate, and so does a resumed session. */
	if (o->cert_file) {
		SET(CURLOPT_SSL_SESSIONID_CACHE, 0L);
#if LIBCURL_VERSION_NUM >= 0x075000
		SET(CURLOPT_MAXLIFETIME_CONN, skep_http_connection_life_s);
#endif
	}
	return code;
}

static CURLcode set_way(struct transfer *t, const struct http_options *o)
{
	CURLcode code = CURLE_OK;

#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)(o->timeout / NS_PER_MS));
	SET(CURLOPT_CONNECTTIMEOUT_MS, (long)(o->connect_timeout / NS_PER_MS));
	if (o->proxy)
		SET(CURLOPT_PROXY, strcmp(o->proxy, "none") == 0 ? "" : o->proxy);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* Without this option a request that ends during its name look-up waits for getaddrinfo(), on the loop. */
	SET(CURLOPT_QUICK_EXIT, 1L);
#endif
	return code;
}

int skep_transfer_set_up(struct transfer *t, const struct http_request *q)
{
	const struct http *h = t->http;
	const struct http_options *o = h->options;
	const char *url = q->url ? q->url : o->url;
	CURLcode code = CURLE_OK;
	char *expanded = NULL;

	curl_easy_reset(t->easy); /* keeps connections and sessions */
	curl_slist_free_all(t->headers);
	t->headers = NULL;
	t->request = *q;
	t->generation = h->generation;
	t->len = 0;
	t->cut = false;
	t->error[0] = '\0';
	t->header[0] = '\0';
	if (add_headers(t, q) != 0)
		return -ENOMEM;
	if (q->values && skep_http_template_expand(url, q->values, true, &expanded) != 0)
		return -ENOMEM;
	skep_http_url_where(expanded ? expanded : url, t->where, sizeof(t->where));
	SET(CURLOPT_URL, expanded ? expanded : url); /* libcurl copies all strings except the body */
	free(expanded);
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_POSTFIELDS, q->body);
	SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
	if (q->method)
		SET(CURLOPT_CUSTOMREQUEST, q->method);
	SET(CURLOPT_HTTPHEADER, t->headers);
	SET(CURLOPT_USERAGENT, "skep/" SKEP_VERSION);
	if (h->auth->username) {
		SET(CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(CURLOPT_USERNAME, h->auth->username);
		SET(CURLOPT_PASSWORD, h->auth->password);
	}
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
	if (q->answer_header) {
		SET(CURLOPT_HEADERFUNCTION, on_header);
		SET(CURLOPT_HEADERDATA, t);
	}
	SET(CURLOPT_ERRORBUFFER, t->error);
	SET(CURLOPT_PRIVATE, t);
	code = code ? code : set_tls(t, o);
	code = code ? code : set_way(t, o);
	return code ? -ENOMEM : 0;
}

/* Copies the receiver's text as one line; copies nothing of a body that is not text. */
static void excerpt(const struct transfer *t, char *to, size_t room)
{
	size_t n = 0;
	bool space = false;

	for (size_t i = 0; i < t->len && n + 2 < room; i++) {
		unsigned char c = (unsigned char)t->reply[i];

		if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
			space = n > 0;
			continue;
		}
		if (c < ' ' || c == 0x7f) {
			n = 0;
			break;
		}
		if (space)
			to[n++] = ' ';
		space = false;
		to[n++] = (char)c;
	}
	to[n] = '\0';
}

/*
 * Returns the seconds of Retry-After, 0: no such header.  Computes a date's distance from the answer's own date:
 * libcurl would use this machine's clock, and one of the two clocks may be hours off.
 */
static curl_off_t retry_after(CURL *easy)
{
	curl_off_t after = 0;
#if LIBCURL_VERSION_NUM >= 0x075400 /* curl_easy_header */
	struct curl_header *h;
	time_t until = -1, now = -1;

	if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &h) == CURLHE_OK && strchr(h->value, ':'))
		until = curl_getdate(h->value, NULL);
	if (until != -1 && curl_easy_header(easy, "Date", 0, CURLH_HEADER, -1, &h) == CURLHE_OK)
		now = curl_getdate(h->value, NULL);
	if (until != -1 && now != -1)
		return until > now ? until - now : 0;
#endif
	return curl_easy_getinfo(easy, CURLINFO_RETRY_AFTER, &after) == CURLE_OK ? after : 0;
}

static void judge_answer(struct transfer *t, long status)
{
	char words[EXCERPT], text[EXCERPT], *to = NULL, *type = NULL, there[256];
	curl_off_t after = retry_after(t->easy);

	t->answer.result = skep_http_classify_status(status, t->len ? t->reply : "");
	excerpt(t, words, sizeof(words));
	curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
	if (status >= 300 && status < 400 && curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to) == CURLE_OK && to) {
		skep_http_url_where(to, there, sizeof(there));
		snprintf(t->why, sizeof(t->why),
			 "%s answers %ld, a redirect to %s: none is followed, %s is to be the final address", t->where,
			 status, there, t->http->url_name);
	} else if (t->answer.result == SKEP_BATCH_ACK && t->len && skep_http_is_page(t->reply, type ? type : "")) {
		t->answer.result = SKEP_BATCH_HOLD;
		skep_http_words(words, text, sizeof(text));
		snprintf(t->why, sizeof(t->why),
			 "%s answers %ld with a page of HTML: %s; mend %s, or the proxy or log-in page in the receiver's "
			 "place",
			 t->where, status, text, t->http->url_name);
	} else {
		snprintf(t->why, sizeof(t->why), "%s answers %ld%s%s", t->where, status, *words ? ": " : "", words);
	}
	if (after > 0)
		t->answer.retry_after_ns =
			(uint64_t)(after < RETRY_AFTER_MOST_S ? after : RETRY_AFTER_MOST_S) * NS_PER_S;
}

static void judge_failure(struct transfer *t, CURLcode code)
{
	const char *text = t->error[0] ? t->error : curl_easy_strerror(code);
	long proxy = 0;

	t->answer.result = skep_http_classify_error(code, text);
	/* libcurl reports a proxy's answer to CONNECT as a read error (7.88: CURLE_RECV_ERROR). */
	if (curl_easy_getinfo(t->easy, CURLINFO_HTTP_CONNECTCODE, &proxy) == CURLE_OK && proxy >= 300 &&
	    skep_http_classify_status(proxy, "") == SKEP_BATCH_HOLD) {
		t->answer.result = SKEP_BATCH_HOLD;
		t->answer.status = (uint32_t)proxy;
	}
	snprintf(t->why, sizeof(t->why), "%s: %s", t->where, text);
}

void skep_transfer_judge(struct transfer *t, CURLcode code)
{
	curl_off_t body = 0;
	long status = 0, head = 0;

	t->answer = (struct skep_batch_answer){ .size = sizeof(t->answer) };
	/* Blank here, before any caller quotes the reply: a receiver may quote the request's headers. */
	skep_http_auth_blank(t->http->auth, t->reply, t->len);
	skep_http_auth_blank(t->http->before, t->reply, t->len);
	skep_http_auth_blank(t->http->auth, t->header, strlen(t->header));
	skep_http_auth_blank(t->http->before, t->header, strlen(t->header));
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &head);
	curl_easy_getinfo(t->easy, CURLINFO_SIZE_UPLOAD_T, &body);
	/* libcurl sends a body below 64 KiB with the head, and counts it in both. */
	t->answer.sent_bytes = (uint64_t)(head >= body ? head : head + body);
	/* An answer that is too long still counts. Half an answer does not: it may stand for half a success. */
	if (code == CURLE_OK || (code == CURLE_WRITE_ERROR && t->cut))
		judge_answer(t, status);
	else
		judge_failure(t, code);
	if (code == CURLE_OK || t->cut)
		t->answer.status = (uint32_t)status;
	t->answer.why = t->answer.result == SKEP_BATCH_ACK ? NULL : t->why;
}
