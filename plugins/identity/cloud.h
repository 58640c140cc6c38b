/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/cloud.h - who this instance is, by the cloud's metadata service.
 */
#ifndef SKEP_IDENTITY_CLOUD_H
#define SKEP_IDENTITY_CLOUD_H

#include "http.h"

enum cloud_provider { CLOUD_OFF, CLOUD_AUTO, CLOUD_AWS, CLOUD_GCP, CLOUD_AZURE, CLOUD_UNKNOWN };
enum cloud_provider cloud_provider_of(const char *name);
/* By what the machine's firmware says; CLOUD_UNKNOWN where that tells nothing. */
enum cloud_provider cloud_guess(const char *dmi_vendor, const char *dmi_product);

#define CLOUD_VALUE 128

struct cloud {
	/* what is asked */
	enum cloud_provider wanted, guess;
	struct sockaddr_in to;
	const char *host;    /* borrowed: the option */
	uint64_t within_ns;  /* each request */

	/* what is known: empty where it is not */
	enum cloud_provider found; /* CLOUD_UNKNOWN: nobody answered */
	char id[CLOUD_VALUE], type[CLOUD_VALUE], region[CLOUD_VALUE], zone[CLOUD_VALUE], account[CLOUD_VALUE],
		lifecycle[CLOUD_VALUE];
	int err;  /* why nobody did: of the last request */
	unsigned status; /* its answer's; 0: none */
	char data[HTTP_MOST];
};

/* Blocks: a work callback. arg: struct cloud. */
void cloud_ask(void *arg);

/* "projects/123/zones/europe-west1-b" -> "europe-west1-b"; and a value's characters are checked. false: not usable. */
bool cloud_value(struct text, char to[CLOUD_VALUE]);
const char *cloud_provider_name(enum cloud_provider);
const char *cloud_platform_name(enum cloud_provider);

#endif
