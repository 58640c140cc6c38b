/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/http_priv.h - the state that the files of the HTTP layer share.
 *
 *  http.c           opens, closes, starts requests, reloads secrets
 *  http_transfer.c  one request's libcurl handle and its answer
 *  http_loop.c      libcurl's sockets and timer on the host's loop
 */
#ifndef SKEP_SINK_HTTP_PRIV_H
#define SKEP_SINK_HTTP_PRIV_H

#include <curl/curl.h>
#include <skep/sink/http.h>

#include "sdk/sink/http_auth.h"

struct transfer {
	struct http *http;
	CURL *easy;
	struct curl_slist *headers;
	/* of its pointers only body, answer_header, done and arg are valid */
	struct http_request request;
	unsigned generation;         /* of the secrets in its headers */
	char *reply;
	size_t len, room;
	bool cut;
	char error[CURL_ERROR_SIZE];
	char where[256];
	char header[128]; /* the answer_header's value, cut */
	char why[768];
	struct skep_batch_answer answer;
	struct transfer *next, **link; /* in the list active, waiting or idle of its http */
};

struct http {
	struct skep_instance *inst;
	const struct skep_host *host;
	const struct http_options *options;
	const char *url_name;
	CURLM *multi;
	bool curl_ready;
	struct skep_timer *timer;
	struct http_socket *sockets;
	int timer_err;
	/* options have changed: renew the multi handle before the next request that finds no transfer in flight */
	bool stale;
	struct transfer *active, *waiting, *idle;
	struct http_auth *auth, *before; /* before: the previous secrets, which a request in flight may have sent */
	unsigned generation;
	/* The worker owns these while refreshing. */
	bool refreshing, unreadable; /* unreadable: the last read of the files failed */
	time_t refresh_s;            /* by CLOCK_MONOTONIC: read the files again at this time or later */
	struct http_auth *fresh;
	char fresh_why[512];
	struct skep_counter *requests, *sent, *connections;
};

/* http_transfer.c */
extern long skep_http_connection_life_s; /* lifetime of a connection with a client certificate; a test shortens it */
int skep_transfer_new(struct http *, struct transfer **ret);
struct transfer *skep_transfer_free(struct transfer *);
/* Sets all options of the request on the libcurl handle. Returns 0 or -ENOMEM. */
int skep_transfer_set_up(struct transfer *, const struct http_request *);
/* Classifies the finished transfer, and fills its answer and reason. */
void skep_transfer_judge(struct transfer *, CURLcode);
void skep_transfer_link(struct transfer *, struct transfer **list);
void skep_transfer_unlink(struct transfer *);

/* http_loop.c */
int skep_http_loop_open(struct http *); /* opens multi. 0 or -ENOMEM */
void skep_http_loop_close(struct http *);

/* http.c: handles a finished transfer. */
void skep_http_over(struct http *, CURL *, CURLcode);

#endif
