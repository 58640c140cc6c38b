/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/http_classify.h - classifies an answer, or its absence, as the result for a batch.  This is the one place
 * for these rules; a sink whose receiver uses a status differently refines the result itself.
 */
#ifndef SKEP_SINK_HTTP_CLASSIFY_H
#define SKEP_SINK_HTTP_CLASSIFY_H

#include <curl/curl.h>
#include <skep/plugin.h>

/* body: the answer's body, or "". A 2xx is an ACK with any body: skep_http_is_page() finds pages. */
enum skep_batch_result skep_http_classify_status(long status, const char *body);
/* True for a page of HTML: a proxy or a log-in page answered in place of the receiver. */
bool skep_http_is_page(const char *body, const char *content_type);
/* Copies the beginning of the body's text, without tags, and with one space between words. */
void skep_http_words(const char *body, char *to, size_t room);
/* Classifies a request without an answer. text: libcurl's error buffer; may be "". */
enum skep_batch_result skep_http_classify_error(CURLcode, const char *text);

#endif
