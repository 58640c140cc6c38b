/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sinks/prometheus/httpd.h - a server for scrapes: a few connections, GET and HEAD, one request
 * each, nothing that waits. It speaks no TLS: whoever needs that puts a proxy before it.
 */
#ifndef SKEP_SINKS_PROMETHEUS_HTTPD_H
#define SKEP_SINKS_PROMETHEUS_HTTPD_H

#include <skep/plugin.h>

#define HTTPD_CONNECTIONS 16 /* more are refused: a scrape a second from each of a few servers needs two or three */
#define HTTPD_REQUEST_MAX 8192
#define HTTPD_READ_S 10  /* a request has to be there by then */
#define HTTPD_WRITE_S 30 /* and its answer taken */

struct httpd_page; /* shared by the connections that it is sent to */

struct httpd_conn {
	struct httpd *server;
	enum { CONN_FREE, CONN_READ, CONN_WAIT, CONN_JOB, CONN_WRITE } state;
	int fd;
	struct skep_watch *watch;
	unsigned ticks; /* seconds left */
	bool openmetrics, head_only;
	size_t got, sent;
	char request[HTTPD_REQUEST_MAX];
	char head[256];
	size_t head_len;
	struct httpd_page *page;
};

struct httpd {
	struct skep_instance *inst;
	const struct skep_host *host;
	void (*wanted)(void *arg); /* somebody waits for the page: httpd_take(), later httpd_give() */
	void *arg;
	int fd;
	struct skep_watch *watch; /* of fd; NULL: not accepting for want of descriptors, until the next tick */
	struct skep_timer *timer; /* while there are connections, or nothing is accepted */
	unsigned n;
	uint64_t refused, timeouts;
	char name[128]; /* where it listens */
	struct httpd_conn conns[HTTPD_CONNECTIONS];
};

/* listen: "ADDRESS:PORT". 0, or what host->fail() returned. */
int httpd_start(struct httpd *, struct skep_instance *, const struct skep_host *, const char *listen,
		void (*wanted)(void *arg), void *arg);
void httpd_stop(struct httpd *);
/* Those who wait for the same format as the first of them are now being served. false: nobody waits. */
bool httpd_take(struct httpd *, bool *ret_openmetrics);
/* The page for those; takes body, which was malloc()ed. NULL: there is none, they are told so. */
void httpd_give(struct httpd *, const char *type, char *body, size_t len);

#endif
