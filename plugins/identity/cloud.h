/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/cloud.h - which instance this is, by the cloud's metadata service.
 */
#ifndef SKEP_IDENTITY_CLOUD_H
#define SKEP_IDENTITY_CLOUD_H

#include "http.h"

enum cloud_provider { CLOUD_OFF, CLOUD_AUTO, CLOUD_AWS, CLOUD_GCP, CLOUD_AZURE, CLOUD_UNKNOWN };
enum cloud_provider cloud_provider_of(const char *name);
/* Guesses the provider from the firmware's names. CLOUD_UNKNOWN: no provider uses these names. */
enum cloud_provider cloud_guess(const char *dmi_vendor, const char *dmi_product);

#define CLOUD_VALUE 128

struct cloud {
	/* the question */
	enum cloud_provider wanted, guess;
	struct sockaddr_in to;
	const char *host;    /* the option, borrowed */
	uint64_t within_ns;  /* deadline of each request */

	/* the answer; a value that the service does not have is empty */
	enum cloud_provider found; /* CLOUD_UNKNOWN: no service answered */
	char id[CLOUD_VALUE], type[CLOUD_VALUE], region[CLOUD_VALUE], zone[CLOUD_VALUE], account[CLOUD_VALUE],
		lifecycle[CLOUD_VALUE];
	int err;  /* of the last request */
	unsigned status; /* HTTP status of the last answer; 0: no answer */
	char data[HTTP_MOST];
};

/* Sends all requests, and blocks until they are answered or have timed out: for a worker thread. */
void cloud_ask(struct cloud *);

/*
 * Takes the part behind the last slash: "projects/123/zones/europe-west1-b" -> "europe-west1-b". false: the value is
 * empty, too long, or not printable ASCII without blanks.
 */
bool cloud_value(struct text, char to[CLOUD_VALUE]);
const char *cloud_provider_name(enum cloud_provider);
const char *cloud_platform_name(enum cloud_provider);

#endif
