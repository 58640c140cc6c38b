/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skep/sink/http_template.h - {host.name}, {boot_id}, {batch.key} and {batch.id} in URLs and headers.
 * Anything else in braces that begins with a small letter is a mistake; other braces are text.
 */
#ifndef SKEP_SINK_HTTP_TEMPLATE_H
#define SKEP_SINK_HTTP_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct http_values {
	const char *host_name;
	const char *boot_id;
	const char *batch_key;
	uint64_t batch_id;
};

/* 0, or -EINVAL with the reason in `why`; what: the option that has the text. */
int skep_http_template_check(const char *text, const char *what, bool secret, char *why, size_t room);
/* percent: values are written as a URL has them. 0 or -ENOMEM; free() it. */
int skep_http_template_expand(const char *text, const struct http_values *, bool percent, char **ret);
bool skep_http_template_is(const char *text); /* does it have anything to be put in? */

#ifdef __cplusplus
}
#endif

#endif
