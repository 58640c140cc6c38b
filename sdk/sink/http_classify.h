/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sdk/sink/http_classify.h - what an answer, or its absence, means for a batch.  The one
 * place that knows; a sink whose receiver means something else by a status says so itself.
 */
#ifndef SKEP_SINK_HTTP_CLASSIFY_H
#define SKEP_SINK_HTTP_CLASSIFY_H

#include <curl/curl.h>
#include <skep/plugin.h>

/* body: what came with it, "" for nothing. */
enum skep_batch_result skep_http_classify_status(long status, const char *body);
/* No answer came. text: what libcurl said in its error buffer; may be "". */
enum skep_batch_result skep_http_classify_error(CURLcode, const char *text);

#endif
