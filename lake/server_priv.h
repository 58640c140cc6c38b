/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lake/server_priv.h - what server.c and server_rows.c share.
 */
#ifndef SKEP_LAKE_SERVER_PRIV_H
#define SKEP_LAKE_SERVER_PRIV_H

#include "lake/http.h"
#include "lake/server.h"

struct server {
	struct lake_http http;
	const char *address;   /* while server_open reads it */
	char *text;            /* a copy of the address, cut into its parts */
	char *url, *password;
	const char *database, *password_file;
	bool tls;
};

/* Says what happened, where, and what to do. Returns err. */
int server_error(const struct server *, struct lake_why *, int err, const char *cause);

#endif
