/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/httpd.h - serves /metrics and /-/healthy to GET and HEAD, with libmicrohttpd.
 *
 * The loop thread accepts connections. One thread of libmicrohttpd reads requests, makes the page and sends answers.
 * The server speaks no TLS: a site that needs TLS puts a proxy before it.
 */
#ifndef SKEP_SINKS_PROMETHEUS_HTTPD_H
#define SKEP_SINKS_PROMETHEUS_HTTPD_H

#include <pthread.h>
#include <skep/plugin.h>

#define HTTPD_CONNECTIONS 16 /* the server closes further ones: a few Prometheus servers need two or three */
#define HTTPD_REQUEST_MAX 8192
#define HTTPD_IDLE_S 10 /* the server closes a connection after this time without a byte */
#define HTTPD_TOTAL_S 60 /* and after this time in all: a scrape's timeout is at most its interval, 1 min by default */

struct MHD_Connection;
struct MHD_Daemon;

/* Called on the server's thread. Returns the page, which the server frees, or NULL when no memory is left. */
typedef char *(*httpd_page_fn)(void *arg, bool openmetrics, size_t *ret_len);

struct httpd_client {
	struct MHD_Connection *connection; /* NULL: this entry is free */
	int fd;
	unsigned age_s;
};

struct httpd {
	struct skep_instance *inst;
	const struct skep_host *host;
	httpd_page_fn page;
	void *arg;
	struct MHD_Daemon *mhd;
	_Atomic unsigned connections;
	int fd;
	struct skep_watch *watch; /* of fd; NULL while no descriptor is left to accept with */
	struct skep_timer *timer; /* resumes accepting */
	struct skep_timer *deadline; /* counts the age of each connection, and ends old ones */
	pthread_mutex_t lock;
	struct httpd_client clients[HTTPD_CONNECTIONS]; /* `lock` protects them */
	char name[128];           /* ADDRESS:PORT of fd */
};

/* listen: "ADDRESS:PORT". Returns 0, or what host->fail() returned. */
int httpd_start(struct httpd *, struct skep_instance *, const struct skep_host *, const char *listen, httpd_page_fn,
		void *arg);
/* Stops the server. Waits for the page that the server's thread makes. */
void httpd_stop(struct httpd *);

#endif
