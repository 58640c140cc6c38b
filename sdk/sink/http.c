/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP layer of sinks: opens and closes it, starts its requests, and reloads secrets that change while it runs.
 */

#include <errno.h>
#include <skep/sink/http.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sdk/sink/http_priv.h"

#define REFRESH_S 2 /* how often a worker reads the files of secrets again, while the sink sends */

/* ---- requests ------------------------------------------------------------------------ */

static void give_back(struct http *h, struct transfer *t)
{
	curl_slist_free_all(t->headers); /* the headers contain the token */
	t->headers = NULL;
	skep_transfer_unlink(t);
	skep_transfer_link(t, &h->idle);
}

static void answer(struct http *h, struct transfer *t)
{
	char *type = NULL;
	struct http_reply reply = {
		.answer = t->answer,
		.body = t->len ? t->reply : "",
		.len = t->len,
		.cut = t->cut,
		.header = t->header,
		.said = t->why,
	};

	curl_easy_getinfo(t->easy, CURLINFO_CONTENT_TYPE, &type);
	reply.content_type = type ? type : "";
	/* unlink now, but do not mark the transfer idle before done(), which may start the next request */
	skep_transfer_unlink(t);
	t->request.done(t->request.arg, &reply);
	give_back(h, t);
}

static void say_again(struct transfer *t)
{
	size_t n = strlen(t->why);

	t->answer.result = SKEP_BATCH_RETRY;
	snprintf(t->why + n, sizeof(t->why) - n, "; its token or password has been changed since: sent again");
}

static void refresh_work(void *arg)
{
	struct http *h = arg;
	struct http_auth *fresh = NULL;

	h->fresh_why[0] = '\0';
	skep_http_auth_load(h->options, &fresh, h->fresh_why, sizeof(h->fresh_why));
	h->fresh = fresh;
}

static void replace_auth(struct http *h, struct http_auth *next)
{
	skep_http_auth_free(h->before);
	h->before = h->auth;
	h->auth = next;
	h->generation++;
}

static void refresh_done(struct skep_instance *inst, void *arg)
{
	struct http *h = arg;
	bool changed = h->fresh && !skep_http_auth_equal(h->fresh, h->auth);
	struct transfer *t;

	h->refreshing = false;
	if (!h->fresh && !h->unreadable)
		h->host->log(inst, SKEP_LOG_WARNING,
			     "%s; the sink keeps using the contents it read before", h->fresh_why);
	h->unreadable = !h->fresh;
	if (changed) {
		replace_auth(h, h->fresh);
	} else {
		skep_http_auth_free(h->fresh);
	}
	h->fresh = NULL;
	while ((t = h->waiting)) {
		if (changed)
			say_again(t);
		answer(h, t);
	}
}

static bool refresh(struct http *h)
{
	if (!h->refreshing && h->host->work(h->inst, refresh_work, refresh_done, h) == 0)
		h->refreshing = true;
	return h->refreshing;
}

/*
 * A receiver may answer 400 to an old key, or accept it as another client's key.  So the layer does not rely on the
 * answer: it reads a changed file soon, and sends requests with the old key until then.
 */
static void refresh_at_times(struct http *h)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec < h->refresh_s)
		return;
	if (h->refresh_s > 0)
		refresh(h);
	h->refresh_s = now.tv_sec + REFRESH_S;
}

static bool is_about_secrets(const struct transfer *t)
{
	return t->answer.status == 401 || t->answer.status == 403 || t->answer.status == 407;
}

void skep_http_over(struct http *h, CURL *easy, CURLcode code)
{
	struct transfer *t;
	void *private = NULL;
	long made = 0;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
	t = private;
	curl_multi_remove_handle(h->multi, easy);
	skep_transfer_judge(t, code);
	curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &made);
	if (h->sent)
		h->host->counter_add(h->sent, t->answer.sent_bytes);
	if (h->connections && made > 0)
		h->host->counter_add(h->connections, (uint64_t)made);
	if (is_about_secrets(t)) {
		if (t->generation != h->generation) {
			say_again(t);
		} else if (refresh(h)) {
			skep_transfer_unlink(t);
			skep_transfer_link(t, &h->waiting);
			return;
		}
	}
	answer(h, t);
}

/* Replaces the multi handle, and with it all connections and the cache of certificates. */
static int renew(struct http *h)
{
	struct transfer *t;
	int err;

	while ((t = h->idle))
		skep_transfer_free(t);
	skep_http_loop_close(h);
	err = skep_http_loop_open(h);
	h->stale = err != 0; /* the next request tries again */
	return err;
}

int skep_http_send(struct http *h, const struct http_request *q)
{
	struct transfer *t;
	int err = 0;

	if (h->stale && !h->active)
		err = renew(h);
	if (err || !h->multi || !h->auth)
		return h->host->fail(h->inst, err ? err : -ESHUTDOWN,
				     err ? "out of memory" : "a request before start or after stop");
	t = h->idle;
	if (t)
		skep_transfer_unlink(t);
	else
		err = skep_transfer_new(h, &t);
	if (err)
		return h->host->fail(h->inst, err, "out of memory");
	err = skep_transfer_set_up(t, q);
	if (!err && curl_multi_add_handle(h->multi, t->easy) != CURLM_OK)
		err = -ENOMEM;
	if (!err && h->timer_err) {
		/* without the timer libcurl would never start the request */
		err = h->timer_err;
		curl_multi_remove_handle(h->multi, t->easy);
	}
	if (err) {
		give_back(h, t);
		return h->host->fail(h->inst, err, "cannot begin a request: %s", strerror(-err));
	}
	skep_transfer_link(t, &h->active);
	refresh_at_times(h);
	if (h->requests)
		h->host->counter_add(h->requests, 1);
	return 0;
}

/* ---- life ------------------------------------------------------------------------------ */

int skep_http_new(struct skep_instance *inst, const struct skep_host *host, const struct http_options *o,
		  const char *url_name, struct http **ret)
{
	char why[768];
	struct http *h;
	int err = skep_http_options_check(o, url_name, why, sizeof(why));

	if (err)
		return host->fail(inst, err, "%s", why);
	h = calloc(1, sizeof(*h));
	if (!h)
		return host->fail(inst, -ENOMEM, "out of memory");
	h->inst = inst;
	h->host = host;
	h->options = o;
	h->url_name = url_name;
	*ret = h;
	return 0;
}

static void warn_insecure(const struct http *h, const struct http_options *o)
{
	if (o->insecure)
		h->host->log(h->inst, SKEP_LOG_WARNING,
			     "insecure is set: the receiver's certificate is not verified; use ca_file instead");
}

int skep_http_start(struct http *h)
{
	char why[512];
	int err;

	/* libcurl counts these calls, because all sinks in a process share it. */
	if (!h->curl_ready && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return h->host->fail(h->inst, -ENOMEM, "libcurl cannot be initialised");
	h->curl_ready = true;
	err = skep_http_auth_load(h->options, &h->auth, why, sizeof(why));
	if (err)
		return h->host->fail(h->inst, err, "%s", why);
	err = skep_http_loop_open(h);
	if (err)
		return h->host->fail(h->inst, err, "out of memory");
	h->requests = h->host->counter(h->inst, "requests", "HTTP requests begun");
	h->sent = h->host->counter(h->inst, "sent_bytes", "bytes of HTTP requests, TLS not counted");
	h->connections =
		h->host->counter(h->inst, "connections", "connections made; requests beyond that used one again");
	warn_insecure(h, h->options);
	return 0;
}

/*
 * Takes new options over.  Requests in flight keep the old ones, as libcurl has copied them.  Later requests use new
 * connections, with the certificates of that moment.
 */
int skep_http_reload(struct http *h, const struct http_options *next)
{
	struct http_auth *auth = NULL;
	char why[768];
	int err = skep_http_options_check(next, h->url_name, why, sizeof(why));

	if (!err)
		err = skep_http_auth_load(next, &auth, why, sizeof(why));
	if (err)
		return h->host->fail(h->inst, err, "%s", why);
	replace_auth(h, auth);
	h->stale = true;
	warn_insecure(h, next);
	return 0;
}

void skep_http_stop(struct http *h)
{
	struct transfer *t;

	if (!h)
		return;
	while ((t = h->active)) {
		curl_multi_remove_handle(h->multi, t->easy);
		skep_transfer_free(t);
	}
	while ((t = h->waiting))
		skep_transfer_free(t);
	while ((t = h->idle))
		skep_transfer_free(t);
	skep_http_loop_close(h);
}

struct http *skep_http_free(struct http *h)
{
	if (!h)
		return NULL;
	skep_http_stop(h);
	skep_http_auth_free(h->auth);
	skep_http_auth_free(h->before);
	skep_http_auth_free(h->fresh);
	if (h->curl_ready)
		curl_global_cleanup();
	free(h);
	return NULL;
}
