/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/bench/net_calls.c - CPU ns for the paths that the probe "net" hooks: the best of ROUNDS rounds, so that other
 * processes on the machine count little. Run it with and without the probe. net_calls [ROUNDS] prints one line:
 * udp_pair, unix_pair, tcp_round (1 thread), tcp_connection
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static char data[64];

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void check(int ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	exit(1);
}

static void names(int fd, struct sockaddr_in *ret)
{
	socklen_t len = sizeof(*ret);

	check(getsockname(fd, (struct sockaddr *)ret, &len) == 0, "getsockname");
}

static int bound(int type)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, type, 0);

	check(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0, "bind");
	return fd;
}

static void pairs(int a, int b, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		check(send(a, data, sizeof(data), 0) == sizeof(data), "send");
		check(recv(b, data, sizeof(data), 0) == sizeof(data), "recv");
	}
}

static void connections(int listener, const struct sockaddr_in *at, unsigned n)
{
	struct linger hard = { .l_onoff = 1 };

	for (unsigned i = 0; i < n; i++) {
		int a = socket(AF_INET, SOCK_STREAM, 0), b;

		check(connect(a, (const struct sockaddr *)at, sizeof(*at)) == 0, "connect");
		b = accept(listener, NULL, NULL);
		check(b >= 0, "accept");
		pairs(a, b, 1);
		/* ends with a reset, so that no port stays in TIME_WAIT */
		setsockopt(a, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
		close(a);
		close(b);
	}
}

static double best[4] = { 1e18, 1e18, 1e18, 1e18 };

static void time_of(int which, uint64_t begin, unsigned n)
{
	double each = (double)(now() - begin) / n;

	if (each < best[which])
		best[which] = each;
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 20, udp_a = bound(SOCK_DGRAM), udp_b = bound(SOCK_DGRAM),
	    listener = bound(SOCK_STREAM), tcp_a, tcp_b;
	int one = 1, unix_[2];
	struct sockaddr_in at;
	uint64_t begin;

	names(udp_b, &at);
	check(connect(udp_a, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
	check(socketpair(AF_UNIX, SOCK_STREAM, 0, unix_) == 0, "socketpair");
	check(listen(listener, 16) == 0, "listen");
	names(listener, &at);
	tcp_a = socket(AF_INET, SOCK_STREAM, 0);
	check(connect(tcp_a, (struct sockaddr *)&at, sizeof(at)) == 0, "connect");
	tcp_b = accept(listener, NULL, NULL);
	setsockopt(tcp_a, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(tcp_b, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	for (int i = 0; i < rounds; i++) {
		begin = now();
		pairs(udp_a, udp_b, 20000);
		time_of(0, begin, 20000);
		begin = now();
		pairs(unix_[0], unix_[1], 20000);
		time_of(1, begin, 20000);
		begin = now();
		for (int k = 0; k < 5000; k++) {
			pairs(tcp_a, tcp_b, 1);
			pairs(tcp_b, tcp_a, 1);
		}
		time_of(2, begin, 5000);
		begin = now();
		connections(listener, &at, 500);
		time_of(3, begin, 500);
	}
	printf("udp_pair_ns %.0f unix_pair_ns %.0f tcp_round_ns %.0f tcp_connection_ns %.0f\n", best[0], best[1],
	       best[2], best[3]);
	return 0;
}
