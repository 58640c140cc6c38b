/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts Debian's clickhouse-server for a test program.
 */
#include "tests/unit/clickhouse_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/base/command.h"
#include "tests/unit/folder.h"

extern const struct command cmd_lake;

static char dir[] = "/tmp/test_clickhouse.XXXXXX";
char clickhouse_url[64];
static pid_t server;
struct lake_http clickhouse_http = { .url = clickhouse_url };

const char *clickhouse_ask(const char *sql)
{
	static char *reply;
	char why[1024];

	free(reply);
	reply = NULL;
	if (lake_http_post(&clickhouse_http, NULL, sql, &reply, why, sizeof(why)) != 0)
		fail_msg("%s: %s", sql, why);
	reply[strcspn(reply, "\n")] = '\0';
	return reply;
}

static void write_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int free_port(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	close(fd);
	return ntohs(a.sin_port);
}

static void configure(int port)
{
	char text[2048];

	/* New York: no answer may depend on the server's time zone */
	snprintf(text, sizeof(text),
		 "<yandex><timezone>America/New_York</timezone><logger><level>none</level><console>0</console></logger>"
		 "<http_port>%d</http_port><tcp_port>%d</tcp_port><interserver_http_port>%d</interserver_http_port>"
		 "<listen_host>127.0.0.1</listen_host><max_connections>64</max_connections>"
		 "<path>%s/data/</path><tmp_path>%s/tmp/</tmp_path><users_config>users.xml</users_config>"
		 "<default_profile>default</default_profile><default_database>default</default_database>"
		 "<mark_cache_size>67108864</mark_cache_size></yandex>",
		 port, free_port(), free_port(), dir, dir);
	write_file("config.xml", text);
	write_file("users.xml",
		   "<yandex><profiles><default></default></profiles><users>"
		   "<default><password></password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>"
		   "<quota>default</quota></default>"
		   "<ann><password>right</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile>"
		   "<quota>default</quota></ann></users>"
		   "<quotas><default><interval><duration>3600</duration></interval></default></quotas></yandex>");
}

static void serve(void)
{
	char config[160], out[160];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(config, sizeof(config), "--config-file=%s/config.xml", dir);
	snprintf(out, sizeof(out), "%s/out", dir);
	if (!freopen(out, "we", stdout) || dup2(1, 2) < 0)
		_exit(126);
	execl("/usr/sbin/clickhouse-server", "clickhouse-server", config, (char *)NULL);
	execlp("clickhouse-server", "clickhouse-server", config, (char *)NULL);
	_exit(127);
}

static void start_server(void)
{
	int port = free_port();

	configure(port);
	snprintf(clickhouse_url, sizeof(clickhouse_url), "http://127.0.0.1:%d", port);
	server = fork();
	if (server == 0)
		serve();
}

int clickhouse_begin(void **state)
{
	const char *given = getenv("SKEP_TEST_CLICKHOUSE");
	char why[1024], *reply;

	(void)state;
	if (lake_http_open(&clickhouse_http, why, sizeof(why)) != 0)
		fail_msg("%s", why);
	if (given) {
		snprintf(clickhouse_url, sizeof(clickhouse_url), "%s", given);
		return 0;
	}
	if (access("/usr/sbin/clickhouse-server", X_OK) != 0 && access("/usr/bin/clickhouse-server", X_OK) != 0)
		return 0; /* clickhouse_url stays "" */
	if (!mkdtemp(dir))
		return -1;
	start_server();
	for (int i = 0; i < 1200; i++) { /* a minute: on a busy machine the server has taken more than ten seconds */
		if (lake_http_post(&clickhouse_http, NULL, "SELECT 1", &reply, why, sizeof(why)) == 0) {
			free(reply);
			return 0;
		}
		if (waitpid(server, NULL, WNOHANG) == server) /* a test beside this one may have taken a port */
			start_server();
		usleep(50000);
	}
	print_error("clickhouse-server does not answer: %s\n", why);
	return -1;
}

int clickhouse_end(void **state)
{
	(void)state;
	if (server > 0) {
		kill(server, SIGKILL); /* the test deletes the data anyway, and an orderly end takes seconds */
		waitpid(server, NULL, 0);
		folder_remove(dir);
	}
	lake_http_close(&clickhouse_http);
	return 0;
}

void clickhouse_need(void)
{
	if (*clickhouse_url)
		return;
	puts("no ClickHouse here; remedy: apt-get install -y clickhouse-server (Debian 12), or SKEP_TEST_CLICKHOUSE=URL");
	skip();
}

int clickhouse_lake_init(const char *database, const char *more, const char *value)
{
	char *argv[] = { (char[]) { "lake" },
			 (char[]) { "init" },
			 (char[]) { "--clickhouse" },
			 clickhouse_url,
			 (char[]) { "--database" },
			 (char *)(uintptr_t)database,
			 (char *)(uintptr_t)more,
			 (char *)(uintptr_t)value,
			 NULL };

	optind = 0;
	return cmd_lake.run(more ? 8 : 6, argv);
}

void clickhouse_fresh(const char *database)
{
	char sql[96];

	snprintf(sql, sizeof(sql), "DROP DATABASE IF EXISTS %s", database);
	clickhouse_ask(sql);
	assert_int_equal(clickhouse_lake_init(database, NULL, NULL), 0);
}

bool clickhouse_is_own(void)
{
	return server > 0;
}
