/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity/http.c and cloud.c: answers whole and in pieces, and answers that are none.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "plugins/identity/cloud.h"

static int parse(const char *answer, size_t n, bool closed, struct http_reply *r)
{
	static char data[HTTP_MOST];

	memcpy(data, answer, n);
	return http_parse(data, n, closed, r);
}

static int all(const char *answer, struct http_reply *r)
{
	return parse(answer, strlen(answer), true, r);
}

/* Complete only with its last byte; a byte less is "go on", or "cut off" where there is no more. */
static void whole(const char *answer, unsigned status, const char *body)
{
	struct http_reply r;
	size_t n = strlen(answer);

	assert_int_equal(parse(answer, n, false, &r), 0);
	assert_int_equal(r.status, status);
	assert_true(skep_text_is(r.body, body));
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(parse(answer, i, false, &r), -EAGAIN);
		assert_int_equal(parse(answer, i, true, &r), -EBADMSG);
	}
}

static void answers(void **state)
{
	struct http_reply r;

	(void)state;
	whole("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello");
	whole("HTTP/1.0 404 Not Found\r\ncontent-LENGTH:0\r\nX: y\r\n\r\n", 404, "");
	whole("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nA;x=y\r\n, worlds!!\r\n0\r\nTrailer: 1\r\n\r\n",
	      200, "hello, worlds!!");
	whole("HTTP/1.1 204 No Content\r\n\r\n", 204, "");
	whole("HTTP/1.1 301 Moved\r\nLocation: http://evil/\r\nContent-Length: 0\r\n\r\n", 301, "");

	/* no length: to the end of the connection */
	assert_int_equal(parse("HTTP/1.1 200 OK\r\n\r\nabc", 22, false, &r), -EAGAIN);
	assert_int_equal(parse("HTTP/1.1 200 OK\r\n\r\nabc", 22, true, &r), 0);
	assert_true(skep_text_is(r.body, "abc"));
	/* bytes after the body do not belong to it */
	assert_int_equal(all("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nMetadata-Flavor: Google\r\n\r\nabc", &r), 0);
	assert_true(skep_text_is(r.body, "a") && r.google);
}

static void garbage(void **state)
{
	static const char *const bad[] = {
		"hello\r\n\r\n",
		"HTTP/2 200 OK\r\n\r\n",
		"HTTP/1.1 99 OK\r\n\r\n",
		"HTTP/1.1 abc OK\r\n\r\n",
		"HTTP/1.1 200 OK\n\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!",
		"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999999\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n123456789\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
		"HTTP/1.1 200 OK\r\nName : value\r\n\r\n",
		"HTTP/1.1 200 OK\r\n continued\r\n\r\n",
		"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
		"HTTP/1.1 200 OK\r\n: no name\r\n\r\n",
		"",
	};
	struct http_reply r;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(all(bad[i], &r), -EBADMSG);
}

static void endpoints(void **state)
{
	static const char *const bad[] = { "",          ":80",           "localhost:80", "1.2.3:80", "1.2.3.4:",
					   "1.2.3.4:0", "1.2.3.4:65536", "1.2.3.4:80x",  "::1" };
	struct sockaddr_in to;

	(void)state;
	assert_int_equal(http_endpoint("169.254.169.254", &to), 0);
	assert_int_equal(ntohs(to.sin_port), 80);
	assert_int_equal(http_endpoint("127.0.0.1:8080", &to), 0);
	assert_int_equal(ntohs(to.sin_port), 8080);
	assert_int_equal(ntohl(to.sin_addr.s_addr), INADDR_LOOPBACK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(http_endpoint(bad[i], &to), -EINVAL);
}

static void values(void **state)
{
	char v[CLOUD_VALUE] = "untouched", long_one[CLOUD_VALUE + 1];

	(void)state;
	assert_true(cloud_value(skep_text_of("projects/123/zones/europe-west1-b\n"), v));
	assert_string_equal(v, "europe-west1-b");
	assert_true(cloud_value(skep_text_of("i-0123456789abcdef0"), v));
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[CLOUD_VALUE] = '\0';
	assert_false(cloud_value(skep_text_of(""), v));
	assert_false(cloud_value(skep_text_of("a/"), v));
	assert_false(cloud_value(skep_text_of("two words"), v));
	assert_false(cloud_value(skep_text_of("a\x1b[31m"), v));
	assert_false(cloud_value(skep_text_of("<html>\n</html>"), v));
	assert_false(cloud_value(skep_text_of(long_one), v));
	assert_string_equal(v, "i-0123456789abcdef0");
}

static void providers(void **state)
{
	(void)state;
	assert_int_equal(cloud_provider_of("off"), CLOUD_OFF);
	assert_int_equal(cloud_provider_of("azure"), CLOUD_AZURE);
	assert_int_equal(cloud_provider_of("AWS"), CLOUD_UNKNOWN);
	assert_int_equal(cloud_provider_of(NULL), CLOUD_UNKNOWN);
	assert_int_equal(cloud_guess("Amazon EC2", "m7i.large"), CLOUD_AWS);
	assert_int_equal(cloud_guess("Google", "Google Compute Engine"), CLOUD_GCP);
	assert_int_equal(cloud_guess("Microsoft Corporation", "Virtual Machine"), CLOUD_AZURE);
	assert_int_equal(cloud_guess("Dell Inc.", "PowerEdge R760"), CLOUD_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers), cmocka_unit_test(garbage),   cmocka_unit_test(endpoints),
		cmocka_unit_test(values),  cmocka_unit_test(providers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
