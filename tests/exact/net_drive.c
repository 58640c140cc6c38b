/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/exact/net_drive.c - transfers whose amounts are known: each process counts what its
 * own calls returned and says so in its last line.
 *
 *   net_drive [-c CLIENT-NETNS] [-s SERVER-NETNS] [-4 ADDRESS] [-6 ADDRESS] [-b BLACKHOLE] [SCENARIO...]
 *
 * ADDRESS: the server's, loopback by default.  One line for each process:
 *   E SCENARIO ROLE PID key=value ...     keys: of the facet "net", and conn_tx conn_rx of its connections
 *   S SCENARIO REASON                     not possible here
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/io_uring.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif
#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif
#define BULK 1234567u

enum key { TCP_TX, TCP_RX, UDP_TX, UDP_RX, UNIX_TX, UNIX_RX, CONNECTS, ACCEPTS, FAILURES, CONN_TX, CONN_RX, KEYS };
static const char *const key_names[KEYS] = { "tcp_tx_bytes",     "tcp_rx_bytes",  "udp_tx_bytes", "udp_rx_bytes",
					     "unix_tx_bytes",    "unix_rx_bytes", "connects",     "accepts",
					     "connect_failures", "conn_tx",       "conn_rx" };
static uint64_t did[KEYS];

static const char *client_ns, *server_ns, *addr4 = "127.0.0.1", *addr6 = "::1", *blackhole;
static const char *scenario;
static char chunk[65536];

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "net_drive: %s: ", scenario ? scenario : "");
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fprintf(stderr, ": %s\n", strerror(errno));
	_exit(1);
}

static void say(const char *role)
{
	char line[512];
	int n = snprintf(line, sizeof(line), "E %s %s %d", scenario, role, getpid());

	for (int i = 0; i < KEYS; i++)
		n += snprintf(line + n, sizeof(line) - (size_t)n, " %s=%llu", key_names[i], (unsigned long long)did[i]);
	line[n++] = '\n';
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		_exit(1);
}

static void no(const char *why)
{
	printf("S %s %s\n", scenario, why);
	fflush(stdout);
}

static void enter(const char *ns)
{
	int fd;

	if (!ns)
		return;
	fd = open(ns, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || setns(fd, CLONE_NEWNET))
		die("netns %s", ns);
	close(fd);
}

/* ---- counted calls -------------------------------------------------------------- */

static void tally(int fd, bool tx, uint64_t n)
{
	int family = 0, protocol = 0;
	socklen_t len = sizeof(int);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len) ||
	    (len = sizeof(int), getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len)))
		die("getsockopt");
	if (family == AF_UNIX)
		did[tx ? UNIX_TX : UNIX_RX] += n;
	else if (protocol == IPPROTO_UDP)
		did[tx ? UDP_TX : UDP_RX] += n;
	else
		did[tx ? TCP_TX : TCP_RX] += n;
	if (family != AF_UNIX && protocol == IPPROTO_TCP)
		did[tx ? CONN_TX : CONN_RX] += n;
}

static void put(int fd, size_t n)
{
	while (n) {
		ssize_t done = send(fd, chunk, n < sizeof(chunk) ? n : sizeof(chunk), MSG_NOSIGNAL);

		if (done < 0)
			die("send");
		tally(fd, true, (uint64_t)done);
		n -= (size_t)done;
	}
}

/* Up to n bytes, or to the end. */
static size_t take(int fd, size_t n)
{
	size_t sum = 0;

	while (sum < n) {
		ssize_t done = recv(fd, chunk, n - sum < sizeof(chunk) ? n - sum : sizeof(chunk), 0);

		if (done < 0)
			die("recv");
		if (done == 0)
			break;
		tally(fd, false, (uint64_t)done);
		sum += (size_t)done;
	}
	return sum;
}

static void nap(int ms)
{
	usleep((useconds_t)ms * 1000);
}

/* ---- endpoints ------------------------------------------------------------------ */

struct endpoint {
	struct sockaddr_storage addr;
	socklen_t len;
};

static struct endpoint at(int family, uint16_t port)
{
	struct endpoint e = { .len = 0 };

	if (family == AF_INET) {
		struct sockaddr_in *in = (void *)&e.addr;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		if (inet_pton(AF_INET, addr4, &in->sin_addr) != 1)
			die("address %s", addr4);
		e.len = sizeof(*in);
	} else {
		struct sockaddr_in6 *in = (void *)&e.addr;

		in->sin6_family = AF_INET6;
		in->sin6_port = htons(port);
		if (inet_pton(AF_INET6, addr6, &in->sin6_addr) != 1)
			die("address %s", addr6);
		e.len = sizeof(*in);
	}
	return e;
}

static uint16_t port_of(int fd)
{
	struct endpoint e = { .len = sizeof(e.addr) };

	if (getsockname(fd, (struct sockaddr *)&e.addr, &e.len))
		die("getsockname");
	return ntohs(e.addr.ss_family == AF_INET ? ((struct sockaddr_in *)&e.addr)->sin_port
						 : ((struct sockaddr_in6 *)&e.addr)->sin6_port);
}

static int served(int family, int type, int protocol)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol), one = 1;
	struct endpoint e = at(family, 0);

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&e.addr, e.len))
		die("bind");
	if (type == SOCK_STREAM && listen(fd, 1024))
		die("listen");
	return fd;
}

static int joined(int family, int type, int protocol, uint16_t port)
{
	int fd = socket(family, type | SOCK_CLOEXEC, protocol);
	struct endpoint e = at(family, port);

	if (fd < 0 || connect(fd, (struct sockaddr *)&e.addr, e.len))
		die("connect to port %u", port);
	if (type == SOCK_STREAM && protocol != IPPROTO_MPTCP)
		did[CONNECTS]++;
	return fd;
}

static int taken(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		die("accept");
	did[ACCEPTS]++;
	return fd;
}

/* Waits for the other side's end, so that both sides' last bytes are acknowledged before either exits. */
static void until_end(int fd)
{
	while (take(fd, SIZE_MAX))
		;
}

/* ---- two processes --------------------------------------------------------------- */

struct part {
	int family, type, protocol;
	int listener; /* the server's, and the datagram socket */
	uint16_t port;
	int in, out; /* pipes to and from the other side, to order the steps */
};

static void wait_for(const struct part *p)
{
	char c;

	if (read(p->in, &c, 1) != 1)
		die("the other side is gone");
}

static void tell(const struct part *p)
{
	if (write(p->out, "x", 1) != 1)
		die("the other side is gone");
}

typedef void (*side)(const struct part *);

static pid_t start(side run, const struct part *p, const char *role, const char *ns)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	memset(did, 0, sizeof(did));
	enter(ns);
	run(p);
	say(role);
	_exit(0);
}

static void done(pid_t pid)
{
	int status;

	if (pid > 0 && (waitpid(pid, &status, 0) != pid || status != 0)) {
		fprintf(stderr, "net_drive: %s: a side failed (status %d)\n", scenario, status);
		exit(1);
	}
}

/* The server makes its socket in its own namespace and reports its port. */
static void both(int family, int type, int protocol, side server, side client)
{
	struct part p = { .family = family, .type = type, .protocol = protocol, .listener = -1 };
	int to_server[2], to_client[2]; /* pipes, not sockets: their bytes are in no figure */
	pid_t s;

	if (pipe2(to_server, O_CLOEXEC) || pipe2(to_client, O_CLOEXEC))
		die("pipe");
	s = fork();
	if (s < 0)
		die("fork");
	if (s == 0) {
		memset(did, 0, sizeof(did));
		enter(server_ns);
		p.listener = served(family, type, protocol);
		p.port = port_of(p.listener);
		p.in = to_server[0];
		p.out = to_client[1];
		if (write(p.out, &p.port, sizeof(p.port)) != sizeof(p.port))
			die("write");
		server(&p);
		say("server");
		_exit(0);
	}
	close(to_client[1]);
	close(to_server[0]);
	p.in = to_client[0];
	p.out = to_server[1];
	if (read(p.in, &p.port, sizeof(p.port)) != sizeof(p.port))
		die("no server");
	done(start(client, &p, "client", client_ns));
	close(p.in);
	close(p.out);
	done(s);
}

/* ---- streams -------------------------------------------------------------------- */

static void echo_server(const struct part *p)
{
	int fd = taken(p->listener);

	until_end(fd);
	put(fd, 777);
	close(fd);
}

static void bulk_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);

	put(fd, BULK);
	shutdown(fd, SHUT_WR);
	until_end(fd);
	close(fd);
}

static void sendfile_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port), file = memfd_create("f", MFD_CLOEXEC);
	off_t off = 0;

	if (file < 0 || ftruncate(file, BULK))
		die("memfd");
	while (off < (off_t)BULK) {
		ssize_t n = sendfile(fd, file, &off, BULK - (size_t)off);

		if (n <= 0)
			die("sendfile");
		tally(fd, true, (uint64_t)n);
	}
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

static void splice_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port), pipe_[2];
	size_t left = BULK;

	if (pipe(pipe_))
		die("pipe");
	while (left) {
		ssize_t n = write(pipe_[1], chunk, left < 4096 ? left : 4096), out;

		if (n <= 0)
			die("write");
		left -= (size_t)n;
		while (n) {
			out = splice(pipe_[0], NULL, fd, NULL, (size_t)n, 0);
			if (out <= 0)
				die("splice");
			tally(fd, true, (uint64_t)out);
			n -= out;
		}
	}
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

static void splice_server(const struct part *p)
{
	int fd = taken(p->listener), pipe_[2];
	ssize_t n;

	if (pipe(pipe_))
		die("pipe");
	while ((n = splice(fd, NULL, pipe_[1], NULL, 16384, 0)) > 0) {
		tally(fd, false, (uint64_t)n);
		while (n > 0)
			n -= read(pipe_[0], chunk, (size_t)n);
	}
	put(fd, 777);
	close(fd);
}

static void zerocopy_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port), one = 1;

	if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	for (int i = 0; i < 20; i++) {
		char control[256];
		struct msghdr m = { .msg_control = control, .msg_controllen = sizeof(control) };
		struct pollfd wait = { .fd = fd };
		ssize_t n = send(fd, chunk, sizeof(chunk), MSG_ZEROCOPY | MSG_NOSIGNAL);

		if (n < 0)
			die("send");
		tally(fd, true, (uint64_t)n);
		poll(&wait, 1, 1000);
		(void)!recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT); /* a notification, not data */
	}
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

static void peek_server(const struct part *p)
{
	int fd = taken(p->listener);

	for (;;) {
		ssize_t n = recv(fd, chunk, sizeof(chunk), MSG_PEEK);

		if (n <= 0)
			break;
		take(fd, (size_t)n);
	}
	put(fd, 777);
	close(fd);
}

static void trunc_server(const struct part *p)
{
	int fd = taken(p->listener);
	ssize_t n;

	while ((n = recv(fd, NULL, 5000, MSG_TRUNC)) > 0) /* dropped, but received */
		tally(fd, false, (uint64_t)n);
	put(fd, 777);
	close(fd);
}

/* The server does not read everything that arrives: its end is a reset. */
static void unread_server(const struct part *p)
{
	int fd = taken(p->listener);

	take(fd, 1000);
	wait_for(p); /* all bytes have arrived */
	did[CONN_RX] += 9000;
	close(fd);
	tell(p);
}

static void unread_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);
	struct pollfd wait = { .fd = fd };
	int left;

	put(fd, 10000);
	do {
		nap(5);
		if (ioctl(fd, TIOCOUTQ, &left))
			die("TIOCOUTQ");
	} while (left);
	tell(p);
	wait_for(p);
	poll(&wait, 1, 1000); /* the reset */
	close(fd);
}

static void rst_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port), left;
	struct linger hard = { .l_onoff = 1 };

	put(fd, 5000);
	do {
		nap(5);
		if (ioctl(fd, TIOCOUTQ, &left))
			die("TIOCOUTQ");
	} while (left);
	wait_for(p);
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
	close(fd);
}

static void rst_server(const struct part *p)
{
	int fd = taken(p->listener);

	take(fd, 5000);
	tell(p);
	if (recv(fd, chunk, 1, 0) >= 0 || errno != ECONNRESET)
		die("wanted ECONNRESET");
	close(fd);
}

/* The client closes its half; the server sends for long afterwards. */
static void half_server(const struct part *p)
{
	int fd = taken(p->listener);

	until_end(fd);
	put(fd, BULK);
	nap(300);
	put(fd, 333);
	close(fd);
}

static void half_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);

	put(fd, 10);
	shutdown(fd, SHUT_WR);
	until_end(fd);
	close(fd);
}

static void nonblocking_client(const struct part *p)
{
	int fd = socket(p->family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), err = 0, flags;
	struct endpoint e = at(p->family, p->port);
	struct pollfd wait = { .fd = fd, .events = POLLOUT };
	socklen_t len = sizeof(err);

	if (fd < 0 || (connect(fd, (struct sockaddr *)&e.addr, e.len) && errno != EINPROGRESS))
		die("connect");
	if (poll(&wait, 1, -1) != 1 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) || err)
		die("not connected (%d)", err);
	did[CONNECTS]++;
	flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	put(fd, 4321);
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

/* The parent accepts and a child serves: bytes and connection belong to the child. */
static void fork_server(const struct part *p)
{
	int fd = taken(p->listener);
	pid_t pid;

	did[ACCEPTS] = 0;
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		did[ACCEPTS] = 1;
		until_end(fd);
		put(fd, 777);
		close(fd);
		say("child");
		_exit(0);
	}
	close(fd);
	done(pid);
}

/* Children of the listening process accept: each owns its connection. */
#define WORKERS 2
static void prefork_server(const struct part *p)
{
	static const char *const roles[WORKERS] = { "worker1", "worker2" };
	pid_t pids[WORKERS];

	for (int i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork");
		if (pids[i] == 0) {
			echo_server(p);
			say(roles[i]);
			_exit(0);
		}
	}
	for (int i = 0; i < WORKERS; i++)
		done(pids[i]);
}

static void prefork_client(const struct part *p)
{
	for (int i = 0; i < WORKERS; i++)
		bulk_client(p);
}

static void message(struct msghdr *m, struct iovec *v, char *control, size_t size)
{
	*v = (struct iovec) { .iov_base = chunk, .iov_len = 1 };
	*m = (struct msghdr) { .msg_iov = v, .msg_iovlen = 1, .msg_control = control, .msg_controllen = size };
}

/* The parent accepts and passes the descriptor to a process that is no user of the listening socket. */
static void passed_server(const struct part *p)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct msghdr m;
	struct iovec v;
	int pair[2], fd;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	message(&m, &v, control, sizeof(control));
	pid = fork();
	if (pid < 0)
		die("fork");
	if (pid == 0) {
		close(p->listener);
		close(pair[0]);
		if (recvmsg(pair[1], &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
			die("recvmsg");
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(fd));
		did[UNIX_RX] = 1;
		did[ACCEPTS] = 1;
		until_end(fd);
		put(fd, 777);
		close(fd);
		say("child");
		_exit(0);
	}
	fd = taken(p->listener);
	did[ACCEPTS] = 0;
	CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
	CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
	CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(fd));
	if (sendmsg(pair[0], &m, 0) != 1)
		die("sendmsg");
	did[UNIX_TX] = 1;
	close(fd);
	done(pid);
}

/* Connects and leaves the connection to a child. */
static void handed_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		memset(did, 0, sizeof(did));
		put(fd, 40000);
		shutdown(fd, SHUT_WR);
		until_end(fd);
		did[CONN_TX] = did[CONN_RX] = 0;
		say("child");
		_exit(0);
	}
	close(fd);
	done(pid);
	did[CONN_TX] = 40000;
	did[CONN_RX] = 777;
}

/* Two processes send on one connection: bytes belong to the sender, the connection to the process that opened it. */
static void shared_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid == 0) {
		memset(did, 0, sizeof(did));
		put(fd, 40000);
		did[CONN_TX] = 0;
		say("child");
		_exit(0);
	}
	done(pid);
	put(fd, 2000);
	did[CONN_TX] += 40000;
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

/*
 * A connection goes from process to process, and scans run meanwhile: each process has the bytes that it moved, without
 * hooks on calls too. No process connects meanwhile, so only the scans of its owner can notice that the owner has left
 * the connection.
 */
#define SCANS 2500 /* ms: four scans of the test's interval, of which a new owner needs three */
static void relay_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);
	pid_t child, last;
	int end[2];
	char c;

	if (pipe2(end, O_CLOEXEC))
		die("pipe");
	put(fd, 10000);
	nap(SCANS);
	child = fork();
	if (child == 0) {
		memset(did, 0, sizeof(did));
		put(fd, 20000);
		nap(SCANS);
		did[CONN_TX] = 0;
		last = fork();
		if (last) {
			say("child");
			_exit(last < 0); /* the kernel closes its descriptor */
		}
		memset(did, 0, sizeof(did));
		put(fd, 30000);
		nap(SCANS);
		shutdown(fd, SHUT_WR);
		until_end(fd);
		did[CONN_TX] = did[CONN_RX] = 0;
		say("last");
		_exit(0);
	}
	close(fd);
	close(end[1]);
	done(child);
	if (read(end[0], &c, 1) != 0) /* the last process has ended */
		die("read");
	did[CONN_TX] = 60000;
	did[CONN_RX] = 777;
}

static void long_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);

	for (int i = 0; i < 16; i++) {
		put(fd, 10000);
		nap(200);
	}
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

#define STORM 5000
static void storm_client(const struct part *p)
{
	for (int i = 0; i < STORM; i++) {
		int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);

		put(fd, 100);
		take(fd, 50);
		close(fd);
	}
}

static void storm_server(const struct part *p)
{
	for (int i = 0; i < STORM; i++) {
		int fd = taken(p->listener);

		take(fd, 100);
		put(fd, 50);
		until_end(fd);
		close(fd);
	}
}

/* A process that sends nothing at all. */
static void silent_server(const struct part *p)
{
	int fd = taken(p->listener);

	until_end(fd);
	close(fd);
}

static void silent_client(const struct part *p)
{
	close(joined(p->family, SOCK_STREAM, p->protocol, p->port));
}

/*
 * The client's end of the stream waits behind bytes for which the server has no room, so the connection ends long after
 * the client, as it does over a slow line.
 */
static void late_server(const struct part *p)
{
	int fd = taken(p->listener);

	nap(1000);
	until_end(fd);
	close(fd);
}

static void early_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port);
	ssize_t n;

	while ((n = send(fd, chunk, sizeof(chunk), MSG_NOSIGNAL | MSG_DONTWAIT)) > 0)
		tally(fd, true, (uint64_t)n);
	close(fd);
}

/* One path only, to a socket that supports several. */
static void plain_client(const struct part *p)
{
	struct part plain = *p;

	plain.protocol = 0;
	bulk_client(&plain);
}

/* A multipath connection: its bytes are counted at the process's socket. */
static void mptcp_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, IPPROTO_MPTCP, p->port);

	put(fd, BULK);
	shutdown(fd, SHUT_WR);
	until_end(fd);
}

static void mptcp_server(const struct part *p)
{
	int fd = taken(p->listener);

	did[ACCEPTS] = 0;
	until_end(fd);
	put(fd, 777);
	close(fd);
}

/* ---- io_uring, by hand ------------------------------------------------------------ */

struct uring {
	int fd;
	struct io_uring_sqe *sqes;
	unsigned *tail, *mask, *array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_cqe *cqes;
};

static bool uring_new(struct uring *u)
{
	struct io_uring_params params = { 0 };
	char *sq, *cq;

	u->fd = (int)syscall(__NR_io_uring_setup, 4, &params);
	if (u->fd < 0)
		return false;
	sq = mmap(NULL, params.sq_off.array + params.sq_entries * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED,
		  u->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
		  MAP_SHARED, u->fd, IORING_OFF_CQ_RING);
	u->sqes = mmap(NULL, params.sq_entries * sizeof(struct io_uring_sqe), PROT_READ | PROT_WRITE, MAP_SHARED, u->fd,
		       IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || u->sqes == MAP_FAILED)
		die("mmap");
	u->tail = (unsigned *)(sq + params.sq_off.tail);
	u->mask = (unsigned *)(sq + params.sq_off.ring_mask);
	u->array = (unsigned *)(sq + params.sq_off.array);
	u->cq_head = (unsigned *)(cq + params.cq_off.head);
	u->cq_tail = (unsigned *)(cq + params.cq_off.tail);
	u->cq_mask = (unsigned *)(cq + params.cq_off.ring_mask);
	u->cqes = (struct io_uring_cqe *)(cq + params.cq_off.cqes);
	return true;
}

static int uring_do(struct uring *u, uint8_t op, int fd, size_t n)
{
	unsigned tail = *u->tail, i = tail & *u->mask, head;
	int result;

	memset(&u->sqes[i], 0, sizeof(u->sqes[i]));
	u->sqes[i].opcode = op;
	u->sqes[i].fd = fd;
	u->sqes[i].addr = (uint64_t)(uintptr_t)chunk;
	u->sqes[i].len = (uint32_t)n;
	u->array[i] = i;
	__atomic_store_n(u->tail, tail + 1, __ATOMIC_RELEASE);
	if (syscall(__NR_io_uring_enter, u->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
		die("io_uring_enter");
	head = *u->cq_head;
	if (__atomic_load_n(u->cq_tail, __ATOMIC_ACQUIRE) == head)
		die("no completion");
	result = u->cqes[head & *u->cq_mask].res;
	__atomic_store_n(u->cq_head, head + 1, __ATOMIC_RELEASE);
	return result;
}

static void uring_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_STREAM, p->protocol, p->port), n;
	struct uring u;

	if (!uring_new(&u))
		die("io_uring_setup");
	for (int i = 0; i < 30; i++) {
		n = uring_do(&u, IORING_OP_SEND, fd, 30000);
		if (n <= 0)
			die("IORING_OP_SEND: %d", n);
		tally(fd, true, (uint64_t)n);
	}
	shutdown(fd, SHUT_WR);
	while ((n = uring_do(&u, IORING_OP_RECV, fd, 1000)) > 0)
		tally(fd, false, (uint64_t)n);
}

/* ---- datagrams -------------------------------------------------------------------- */

static void udp_server(const struct part *p)
{
	struct endpoint from = { .len = sizeof(from.addr) };
	uint64_t sum = 0;

	while (sum < 50 * 1200) {
		ssize_t n = recvfrom(p->listener, chunk, sizeof(chunk), 0, (struct sockaddr *)&from.addr, &from.len);

		if (n < 0)
			die("recvfrom");
		tally(p->listener, false, (uint64_t)n);
		sum += (uint64_t)n;
		tell(p);
	}
	if (sendto(p->listener, chunk, 99, 0, (struct sockaddr *)&from.addr, from.len) != 99)
		die("sendto");
	tally(p->listener, true, 99);
}

static void udp_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_DGRAM, 0, p->port);

	for (int i = 0; i < 50; i++) {
		put(fd, 1200);
		wait_for(p);
	}
	take(fd, 1);
	did[UDP_RX] = 1; /* the rest of the datagram was cut off */
}

/* sendmmsg, and a datagram of several segments. */
static void udp_many_server(const struct part *p)
{
	uint64_t sum = 0;

	while (sum < 10 * 500 + 6 * 1000) {
		ssize_t n = recv(p->listener, chunk, sizeof(chunk), 0);

		if (n < 0)
			die("recv");
		tally(p->listener, false, (uint64_t)n);
		sum += (uint64_t)n;
	}
}

static void udp_many_client(const struct part *p)
{
	int fd = joined(p->family, SOCK_DGRAM, 0, p->port), segment = 1000;
	struct iovec v = { .iov_base = chunk, .iov_len = 500 };
	struct mmsghdr m[10];

	memset(m, 0, sizeof(m));
	for (int i = 0; i < 10; i++)
		m[i].msg_hdr = (struct msghdr){ .msg_iov = &v, .msg_iovlen = 1 };
	if (sendmmsg(fd, m, 10, 0) != 10)
		die("sendmmsg");
	tally(fd, true, 5000);
	if (setsockopt(fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof(segment)))
		die("UDP_SEGMENT");
	put(fd, 6000);
}

static void unix_server(const struct part *p)
{
	for (size_t sum = 0; sum < 100 * 1000;)
		sum += take(p->in, 1000);
	put(p->in, 55);
}

static void unix_client(const struct part *p)
{
	for (int i = 0; i < 100; i++)
		put(p->out, 1000);
	take(p->out, 55);
}

static void unix_pair(int type)
{
	struct part p = { .family = AF_UNIX, .type = type };
	int pair[2];
	pid_t server;

	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair))
		die("socketpair");
	p.in = pair[0];
	p.out = pair[1];
	server = start(unix_server, &p, "server", NULL);
	done(start(unix_client, &p, "client", NULL));
	close(pair[0]);
	close(pair[1]);
	done(server);
}

/* ---- connects that fail --------------------------------------------------------------- */

static void refused(const struct part *p)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct endpoint e = at(AF_INET, 1);

	(void)p;
	if (connect(fd, (struct sockaddr *)&e.addr, e.len) == 0 || errno != ECONNREFUSED)
		die("wanted ECONNREFUSED");
	did[FAILURES]++;
}

static struct endpoint nowhere(void)
{
	struct endpoint e = at(AF_INET, 9);

	if (inet_pton(AF_INET, blackhole, &((struct sockaddr_in *)&e.addr)->sin_addr) != 1)
		die("address %s", blackhole);
	return e;
}

static void timed_out(const struct part *p)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned ms = 1500;
	struct endpoint e = nowhere();

	(void)p;
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
	if (connect(fd, (struct sockaddr *)&e.addr, e.len) == 0 || errno != ETIMEDOUT)
		die("wanted ETIMEDOUT");
	did[FAILURES]++;
}

static void aborted(const struct part *p)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct endpoint e = nowhere();

	(void)p;
	if (connect(fd, (struct sockaddr *)&e.addr, e.len) == 0 || errno != EINPROGRESS)
		die("wanted EINPROGRESS");
	nap(50);
	close(fd);
	did[FAILURES]++;
}

/* ---- the table ------------------------------------------------------------------------- */

static bool wanted(char **list, const char *name)
{
	if (!*list)
		return true;
	for (; *list; list++)
		if (strcmp(*list, name) == 0)
			return true;
	return false;
}

static bool uring_possible(void)
{
	struct io_uring_params params = { 0 };
	int fd = (int)syscall(__NR_io_uring_setup, 1, &params);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static bool mptcp_possible(void)
{
	int fd = socket(AF_INET, SOCK_STREAM, IPPROTO_MPTCP);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int family, type, protocol;
		side server, client;
	} pairs[] = {
		{ "tcp4", AF_INET, SOCK_STREAM, 0, echo_server, bulk_client },
		{ "tcp6", AF_INET6, SOCK_STREAM, 0, echo_server, bulk_client },
		{ "sendfile", AF_INET, SOCK_STREAM, 0, echo_server, sendfile_client },
		{ "splice_out", AF_INET, SOCK_STREAM, 0, echo_server, splice_client },
		{ "splice_in", AF_INET, SOCK_STREAM, 0, splice_server, bulk_client },
		{ "zerocopy", AF_INET, SOCK_STREAM, 0, echo_server, zerocopy_client },
		{ "peek", AF_INET, SOCK_STREAM, 0, peek_server, bulk_client },
		{ "trunc", AF_INET, SOCK_STREAM, 0, trunc_server, bulk_client },
		{ "unread", AF_INET, SOCK_STREAM, 0, unread_server, unread_client },
		{ "rst", AF_INET, SOCK_STREAM, 0, rst_server, rst_client },
		{ "half_close", AF_INET6, SOCK_STREAM, 0, half_server, half_client },
		{ "nonblocking", AF_INET, SOCK_STREAM, 0, echo_server, nonblocking_client },
		{ "fork_server", AF_INET, SOCK_STREAM, 0, fork_server, bulk_client },
		{ "fork_long", AF_INET, SOCK_STREAM, 0, fork_server, long_client },
		{ "prefork", AF_INET, SOCK_STREAM, 0, prefork_server, prefork_client },
		{ "passed", AF_INET, SOCK_STREAM, 0, passed_server, bulk_client },
		{ "passed_long", AF_INET6, SOCK_STREAM, 0, passed_server, long_client },
		{ "handed", AF_INET, SOCK_STREAM, 0, echo_server, handed_client },
		{ "shared", AF_INET, SOCK_STREAM, 0, echo_server, shared_client },
		{ "relay", AF_INET, SOCK_STREAM, 0, echo_server, relay_client },
		{ "silent", AF_INET, SOCK_STREAM, 0, silent_server, silent_client },
		{ "outlived", AF_INET, SOCK_STREAM, 0, late_server, early_client },
		{ "uring", AF_INET, SOCK_STREAM, 0, echo_server, uring_client },
		{ "mptcp", AF_INET, SOCK_STREAM, IPPROTO_MPTCP, mptcp_server, mptcp_client },
		{ "mptcp_fallback", AF_INET, SOCK_STREAM, IPPROTO_MPTCP, echo_server, plain_client },
		{ "udp4", AF_INET, SOCK_DGRAM, 0, udp_server, udp_client },
		{ "udp6", AF_INET6, SOCK_DGRAM, 0, udp_server, udp_client },
		{ "udp_many", AF_INET, SOCK_DGRAM, 0, udp_many_server, udp_many_client },
		{ "long", AF_INET, SOCK_STREAM, 0, echo_server, long_client },
		{ "storm", AF_INET, SOCK_STREAM, 0, storm_server, storm_client },
	};
	int opt;

	while ((opt = getopt(argc, argv, "c:s:4:6:b:")) != -1) {
		switch (opt) {
		case 'c':
			client_ns = optarg;
			break;
		case 's':
			server_ns = optarg;
			break;
		case '4':
			addr4 = optarg;
			break;
		case '6':
			addr6 = optarg;
			break;
		case 'b':
			blackhole = optarg;
			break;
		default:
			fprintf(stderr, "usage: see the head of net_drive.c\n");
			return 2;
		}
	}
	argv += optind;
	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		scenario = pairs[i].name;
		if (!wanted(argv, scenario))
			continue;
		if (strcmp(scenario, "uring") == 0 && !uring_possible()) {
			no("the kernel has no io_uring, or forbids it");
			continue;
		}
		if (strncmp(scenario, "mptcp", 5) == 0 && !mptcp_possible()) {
			no("the kernel has no multipath TCP, or it is switched off");
			continue;
		}
		both(pairs[i].family, pairs[i].type, pairs[i].protocol, pairs[i].server, pairs[i].client);
	}
	scenario = "unix_stream";
	if (wanted(argv, scenario))
		unix_pair(SOCK_STREAM);
	scenario = "unix_dgram";
	if (wanted(argv, scenario))
		unix_pair(SOCK_DGRAM);
	scenario = "unix_seqpacket";
	if (wanted(argv, scenario))
		unix_pair(SOCK_SEQPACKET);
	scenario = "refused";
	if (wanted(argv, scenario))
		done(start(refused, NULL, "client", client_ns));
	scenario = "timeout";
	if (wanted(argv, scenario)) {
		if (blackhole)
			done(start(timed_out, NULL, "client", client_ns));
		else
			no("no address was given (-b) from which nothing comes back");
	}
	scenario = "aborted";
	if (wanted(argv, scenario)) {
		if (blackhole)
			done(start(aborted, NULL, "client", client_ns));
		else
			no("no address was given (-b) from which nothing comes back");
	}
	return 0;
}
