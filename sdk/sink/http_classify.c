/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classifies an HTTP status or a transfer error as the result for a batch:
 * ACK      the receiver has the batch
 * RETRY    a later attempt may succeed by itself
 * HOLD     an operator must act first: an expired token loses no batch
 * SPLIT    the batch is too large
 * SUSPECT  the batch or the receiver is at fault
 * REJECT   the receiver will never accept this batch
 */
#include "sdk/sink/http_classify.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
	long first, last;
	enum skep_batch_result result;
} statuses[] = {
	{ 200, 299, SKEP_BATCH_ACK },
	/* the sink follows no redirect: body and token are only for the configured receiver */
	{ 300, 399, SKEP_BATCH_HOLD },
	{ 400, 400, SKEP_BATCH_REJECT },
	{ 401, 405, SKEP_BATCH_HOLD }, /* token, payment, right, path, method */
	{ 406, 406, SKEP_BATCH_REJECT },
	{ 407, 407, SKEP_BATCH_HOLD }, /* the proxy's password */
	{ 408, 409, SKEP_BATCH_RETRY }, /* 409: the receiver still processes an earlier attempt with the same key */
	{ 410, 411, SKEP_BATCH_HOLD },
	{ 412, 412, SKEP_BATCH_REJECT },
	{ 413, 413, SKEP_BATCH_SPLIT },
	{ 414, 414, SKEP_BATCH_HOLD },
	{ 415, 415, SKEP_BATCH_HOLD }, /* every batch has the same content type and encoding */
	{ 421, 421, SKEP_BATCH_RETRY },
	{ 423, 425, SKEP_BATCH_RETRY },
	{ 426, 426, SKEP_BATCH_HOLD },
	{ 429, 429, SKEP_BATCH_RETRY },
	{ 431, 431, SKEP_BATCH_HOLD }, /* the configuration sets the headers */
	{ 451, 451, SKEP_BATCH_HOLD },
	{ 400, 499, SKEP_BATCH_REJECT }, /* 422 and the others */
	{ 500, 500, SKEP_BATCH_SUSPECT },
	{ 501, 501, SKEP_BATCH_HOLD },
	{ 505, 505, SKEP_BATCH_HOLD },
	{ 511, 511, SKEP_BATCH_HOLD }, /* a captive network requires a log-in */
	{ 500, 599, SKEP_BATCH_RETRY },
};

static bool says(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasestr(text, *words))
			return true;
	return false;
}

void skep_http_words(const char *body, char *to, size_t room)
{
	size_t n = 0;
	bool tag = false, space = false;

	for (; *body && n + 2 < room; body++) {
		if (*body == '<' || *body == '>' || tag || isspace((unsigned char)*body)) {
			tag = *body != '>' && (tag || *body == '<');
			space = n > 0;
			continue;
		}
		if (space)
			to[n++] = ' ';
		space = false;
		to[n++] = *body;
	}
	to[n] = '\0';
}

/*
 * True for a 400 from a server that has not read the request: nginx (a missing or refused client certificate), and
 * nginx, Apache and Go (http:// to an https port).  Only the body's beginning counts: further on, a body that quotes a
 * record contains a user's text.
 */
static bool is_about_tls(const char *body)
{
	static const char *const begins[] = {
		"400 No required SSL certificate was sent",
		"400 The SSL certificate error",
		"400 The plain HTTP request was sent to HTTPS port",
		("400 Bad Request Bad Request Your browser sent a request that this server could not understand. "
		 /* clang warns about a missing comma */
		 "Reason: You're speaking plain HTTP to an SSL-enabled server port."),
		"Client sent an HTTP request to an HTTPS server.",
	};
	char words[192];

	skep_http_words(body, words, sizeof(words));
	for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++)
		if (strncmp(words, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/*
 * The content type alone is no proof: PHP calls each answer text/html, and a receiver may answer "OK".  Nor are tags
 * alone, since a receiver may answer in XML.
 */
bool skep_http_is_page(const char *body, const char *content_type)
{
	static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark */

	if (strncmp(body, mark, strlen(mark)) == 0)
		body += strlen(mark);
	while (isspace((unsigned char)*body))
		body++;
	if (*body != '<')
		return false;
	return strcasestr(content_type, "html") || strncasecmp(body, "<!doctype html", 14) == 0 ||
	       strncasecmp(body, "<html", 5) == 0;
}

enum skep_batch_result skep_http_classify_status(long status, const char *body)
{
	if (status == 400 && is_about_tls(body))
		return SKEP_BATCH_HOLD;
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++)
		if (status >= statuses[i].first && status <= statuses[i].last)
			return statuses[i].result;
	return SKEP_BATCH_RETRY; /* not an HTTP status: another program listens there */
}

/*
 * OpenSSL and GnuTLS use one code for a refusal by the peer (of a certificate, of a version) and for a network error.
 * With TLS 1.3 the alert for a missing client certificate arrives after the handshake, as a read error.
 */
static enum skep_batch_result classify_tls(const char *text)
{
	static const char *const broken[] = { "eof", "syscall", "reset", "timed out", "closed", NULL };
	static const char *const refused[] = { "alert", "version", "certificate", "unsupported protocol", "no cipher",
					       "key too small", "legacy", "record was received", NULL };

	if (says(text, refused))
		return SKEP_BATCH_HOLD;
	return says(text, broken) ? SKEP_BATCH_RETRY : SKEP_BATCH_HOLD;
}

enum skep_batch_result skep_http_classify_error(CURLcode code, const char *text)
{
	static const char *const alert[] = { "alert", NULL };

	switch (code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CRL_BADFILE:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_ENGINE_NOTFOUND:
	case CURLE_SSL_ENGINE_SETFAILED:
#if LIBCURL_VERSION_NUM >= 0x074d00
	case CURLE_SSL_CLIENTCERT:
#endif
	case CURLE_LOGIN_DENIED:
	case CURLE_URL_MALFORMAT:
	case CURLE_NOT_BUILT_IN:
	case CURLE_UNKNOWN_OPTION:
		return SKEP_BATCH_HOLD;
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_USE_SSL_FAILED:
		return classify_tls(text);
	case CURLE_RECV_ERROR:
	case CURLE_SEND_ERROR:
		return says(text, alert) ? SKEP_BATCH_HOLD : SKEP_BATCH_RETRY;
	default:
		return SKEP_BATCH_RETRY; /* name look-up, connect, time-out, half an answer, no HTTP, no memory */
	}
}
