/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cli/lake_http.c - loads libcurl by name and sends requests with it.
 */
#include "cli/lake_http.h"

#include <dlfcn.h>
#include <errno.h>
#include <skep/ca_file.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<curl/curl.h>)
#include <curl/curl.h>

#define REPLY_MOST (1u << 20)
#define TIMEOUT_S 60L

static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

/* libcurl's functions, while the library is loaded. */
static struct {
	CURL *(*init)(void);
	CURLcode (*setopt)(CURL *, CURLoption, ...);
	CURLcode (*perform)(CURL *);
	CURLcode (*getinfo)(CURL *, CURLINFO, ...);
	void (*cleanup)(CURL *);
	const char *(*strerror)(CURLcode);
	CURLcode (*global_init)(long);
	char *(*escape)(CURL *, const char *, int);
	void (*free)(void *);
} lib;

int lake_http_open(struct lake_http *h, char *why, size_t room)
{
	const struct {
		const char *name;
		void *to;
	} symbols[] = {
		{ "curl_easy_init", &lib.init },	 { "curl_easy_setopt", &lib.setopt },
		{ "curl_easy_perform", &lib.perform },   { "curl_easy_getinfo", &lib.getinfo },
		{ "curl_easy_cleanup", &lib.cleanup },   { "curl_easy_strerror", &lib.strerror },
		{ "curl_global_init", &lib.global_init }, { "curl_easy_escape", &lib.escape },
		{ "curl_free", &lib.free },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !h->library; i++)
		h->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!h->library) {
		snprintf(
			why, room,
			"libcurl cannot be loaded (%s); remedy: apt-get install -y libcurl4, or dnf install -y libcurl",
			dlerror());
		return -ENOENT;
	}
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(h->library, symbols[i].name);

		if (!found) {
			snprintf(why, room, "libcurl has no %s", symbols[i].name);
			lake_http_close(h);
			return -ENOENT;
		}
		memcpy(symbols[i].to, &found, sizeof(found));
	}
	if (lib.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		snprintf(why, room, "libcurl cannot be initialised");
		lake_http_close(h);
		return -ENOMEM;
	}
	return 0;
}

void lake_http_close(struct lake_http *h)
{
	if (h->library)
		dlclose(h->library);
	h->library = NULL;
}

static size_t on_body(char *data, size_t one, size_t n, void *arg)
{
	FILE *out = arg;

	return ftell(out) + (long)(one * n) > (long)REPLY_MOST ? 0 : fwrite(data, one, n, out);
}

static void one_line(char *text)
{
	size_t n = strcspn(text, "\r\n");

	text[n < 600 ? n : 600] = '\0';
}

int lake_http_post(struct lake_http *h, const char *database, const char *text, char **ret, char *why, size_t room)
{
	char error[CURL_ERROR_SIZE] = "", *url = NULL, *reply = NULL, *name = NULL;
	const char *ca_file = h->ca_file ? h->ca_file : skep_ca_file();
	CURL *easy = lib.init();
	size_t n = 0;
	FILE *out = open_memstream(&reply, &n);
	CURLcode code;
	long status = 0;
	int err = 0;

	if (easy && database)
		name = lib.escape(easy, database, 0);
	if (!easy || !out || (database && !name) ||
	    asprintf(&url, "%s%s%s%s", h->url,
		     !name                 ? ""
		     : strchr(h->url, '?') ? "&"
					   : "?",
		     name ? "database=" : "", name ? name : "") < 0) {
		url = NULL;
		err = -ENOMEM;
		goto out;
	}
	lib.setopt(easy, CURLOPT_URL, url);
	lib.setopt(easy, CURLOPT_POSTFIELDS, text);
	lib.setopt(easy, CURLOPT_TIMEOUT, TIMEOUT_S);
	lib.setopt(easy, CURLOPT_NOSIGNAL, 1L);
	lib.setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	lib.setopt(easy, CURLOPT_USERAGENT, "skep/" SKEP_VERSION);
	lib.setopt(easy, CURLOPT_ERRORBUFFER, error);
	lib.setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	lib.setopt(easy, CURLOPT_WRITEDATA, out);
	if (ca_file)
		lib.setopt(easy, CURLOPT_CAINFO, ca_file);
	if (h->user) {
		lib.setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		lib.setopt(easy, CURLOPT_USERNAME, h->user);
		lib.setopt(easy, CURLOPT_PASSWORD, h->password ? h->password : "");
	}
	code = lib.perform(easy);
	lib.getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (fclose(out) != 0)
		err = -ENOMEM;
	out = NULL;
	if (!err && code != CURLE_OK) {
		snprintf(why, room, "%s", error[0] ? error : lib.strerror(code));
		err = -EIO;
	} else if (!err && status != 200) {
		one_line(reply);
		snprintf(why, room, "answers %ld: %s", status, reply);
		err = -EPROTO;
	}
out:
	if (err == -ENOMEM)
		snprintf(why, room, "out of memory");
	if (out)
		fclose(out);
	if (easy)
		lib.cleanup(easy);
	if (name)
		lib.free(name);
	free(url);
	if (err) {
		free(reply);
		return err;
	}
	*ret = reply;
	return 0;
}

#else

int lake_http_open(struct lake_http *h, char *why, size_t room)
{
	(void)h;
	snprintf(
		why, room,
		"this skep was built without libcurl; remedy: apt-get install -y libcurl4-openssl-dev, and build again");
	return -ENOSYS;
}

void lake_http_close(struct lake_http *h)
{
	(void)h;
}

int lake_http_post(struct lake_http *h, const char *database, const char *text, char **ret, char *why, size_t room)
{
	(void)h;
	(void)database;
	(void)text;
	(void)ret;
	snprintf(why, room, "built without libcurl");
	return -ENOSYS;
}

#endif
