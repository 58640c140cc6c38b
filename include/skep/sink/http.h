/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/http.h - requests over HTTP for sinks: libcurl on the host's loop.
 *
 * Call all functions on the loop thread.  None waits for the network: libcurl looks names up on a thread of its own.  A
 * sink encodes and compresses (http_body.h) on host->work(), sends here, and passes the answer on:
 *
 *	open      skep_http_new()      checks the options, opens nothing
 *	start     skep_http_start()    reads the secrets
 *	submit    work(encode) -> skep_http_send() -> done(reply) -> host->batch_answer(&reply->answer)
 *	reload    skep_http_reload()
 *	stop      skep_http_stop()     drops requests under way without an answer: the host keeps their batches
 *	close     skep_http_free()
 *
 * The layer verifies TLS (1.2 at least), keeps connections, follows no redirect and uses the proxies of the
 * environment. It logs no secret.
 */
#ifndef SKEP_SINK_HTTP_H
#define SKEP_SINK_HTTP_H

#include <skep/sink/http_options.h>
#include <skep/sink/http_template.h>

#ifdef __cplusplus
extern "C" {
#endif

struct http; /* of one instance of a sink */

struct http_reply {
	/* Classified (http_classify.h), why and retry_after_ns filled in. Changed by sinks that know better. */
	struct skep_batch_answer answer;
	const char *body; /* NUL-terminated, "" without one; at most HTTP_REPLY_MOST */
	size_t len;
	bool cut;         /* there was more of it */
	const char *content_type; /* "" without one */
	const char *header;       /* value of the request's answer_header; "" without one */
	const char *said;         /* URL, status and the text's beginning, as in answer.why, but also of a success */
};
#define HTTP_REPLY_MOST (4u << 20)

/* The layer owns reply and its pointers, which are valid until the callback returns. It may call skep_http_send(). */
typedef void (*http_done_cb)(void *arg, struct http_reply *reply);

struct http_request {
	const char *method; /* NULL: POST */
	const char *url;    /* NULL: the URL of the options */
	const char *content_type;
	enum http_encoding encoding;      /* of the body: it has been compressed already */
	/* "Name: value", NULL-terminated, copied; NULL: none. A configured one of the same name counts instead */
	const char *const *headers;
	const char *answer_header; /* a header that the reply is to bring, borrowed like body; NULL: none */
	/* values for the placeholders in URL and configured headers; NULL: braces are text */
	const struct http_values *values;
	const void *body; /* borrowed until the answer, or skep_http_stop() */
	size_t len;
	http_done_cb done;
	void *arg;
};

/*
 * options are borrowed as long as it lives: a member of the sink's state.  url_name: what the option of the URL
 * is called.  Fails by host->fail().
 */
int skep_http_new(struct skep_instance *, const struct skep_host *, const struct http_options *, const char *url_name,
		  struct http **ret);
int skep_http_start(struct http *); /* fails by host->fail() */
/* Never calls done() before it returns. 0, or a negative errno after host->fail(): then it never will. */
int skep_http_send(struct http *, const struct http_request *);
/*
 * The options are about to become `next`: they are checked, secrets are read, connections are made anew. Fails by
 * host->fail().
 */
int skep_http_reload(struct http *, const struct http_options *next);
void skep_http_stop(struct http *);
struct http *skep_http_free(struct http *); /* NULL is fine; returns NULL */

#ifdef __cplusplus
}
#endif

#endif
