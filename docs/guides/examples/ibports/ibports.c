/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ibports - a probe: reports traffic and errors of the ports of InfiniBand (and RoCE) adapters at each interval.
 *
 * Everything is in sysfs (Documentation/ABI/stable/sysfs-class-infiniband of the kernel):
 *	class/infiniband/DEVICE/ports/N/state          "4: ACTIVE"
 *	.../rate                                       "100 Gb/sec (4X EDR)"
 *	.../link_layer                                 "InfiniBand", "Ethernet"
 *	.../counters/port_rcv_data, port_xmit_data     octets divided by 4, 64 bits
 *	.../counters/port_rcv_packets ...              64 bits
 *	.../counters/link_downed ...                   8 to 32 bits: they stop at their greatest value
 * Some ports lack some of these files (rxe, siw and some virtual functions): the probe reports 0 for them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <skep/plugin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PORTS_MAX 256u

enum {
	RX_DATA,
	TX_DATA,
	RX_PACKETS,
	TX_PACKETS,
	RX_ERRORS,
	TX_DISCARDS,
	TX_WAIT,
	SYMBOL_ERRORS,
	LINK_DOWNED,
	N_COUNTERS,
};

static const struct {
	const char *file;
	unsigned factor;
} counters[N_COUNTERS] = {
	[RX_DATA] = { "port_rcv_data", 4 },
	[TX_DATA] = { "port_xmit_data", 4 },
	[RX_PACKETS] = { "port_rcv_packets", 1 },
	[TX_PACKETS] = { "port_xmit_packets", 1 },
	[RX_ERRORS] = { "port_rcv_errors", 1 },
	[TX_DISCARDS] = { "port_xmit_discards", 1 },
	[TX_WAIT] = { "port_xmit_wait", 1 },
	[SYMBOL_ERRORS] = { "symbol_error", 1 },
	[LINK_DOWNED] = { "link_downed", 1 },
};

/* The record. */
struct port {
	struct skep_str device;
	uint64_t number;
	struct skep_str layer, state;
	uint64_t rate;
	uint64_t interval;
	uint64_t count[N_COUNTERS]; /* since the record before */
};

/* The last reading of a port. */
struct known {
	char device[64];
	unsigned number;
	bool seen;   /* in this pass */
	bool fresh;  /* no earlier values to subtract yet */
	uint64_t time_ns;
	uint64_t last[N_COUNTERS];
};

struct ibports {
	/* options: filled in by the host before open() */
	const char *root;
	const char **devices;

	const struct skep_host *host;
	struct skep_counter *unreadable, *resets, *too_many;
	struct known *ports; /* PORTS_MAX */
	unsigned n;
	bool signalled; /* the signal has been reported */
};

static const struct skep_option options[] = {
	{
		.name = "root",
		.type = SKEP_O_STR,
		.offset = offsetof(struct ibports, root),
		.default_value = "/sys",
		.help = "where sysfs is",
	},
	{
		.name = "devices",
		.type = SKEP_O_STRV,
		.flags = SKEP_OPT_RELOADABLE,
		.offset = offsetof(struct ibports, devices),
		.help = "adapters to report, such as [\"mlx5_0\"]; not set: all",
	},
	{ .name = NULL },
};

#define COUNTED(i_, name_, unit_, help_) \
	{ \
		.name = (name_), .unit = (unit_), .type = SKEP_T_U64, .semantics = SKEP_S_DELTA, \
		.offset = offsetof(struct port, count) + (i_) * sizeof(uint64_t), .help = (help_) \
	}

static const struct skep_field fields[] = {
	SKEP_FIELD(struct port, device, "infiniband.device", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "the adapter, as mlx5_0"),
	SKEP_FIELD(struct port, number, "infiniband.port", SKEP_T_U64, SKEP_S_ATTRIBUTE, "", "its port, from 1"),
	SKEP_FIELD(struct port, layer, "infiniband.link_layer", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "InfiniBand or Ethernet"),
	SKEP_FIELD(struct port, state, "infiniband.state", SKEP_T_STR, SKEP_S_ATTRIBUTE, "",
		   "ACTIVE, DOWN, INIT, ARMED"),
	SKEP_FIELD(struct port, rate, "infiniband.rate", SKEP_T_U64, SKEP_S_GAUGE, "bit/s",
		   "signalling rate of the link"),
	SKEP_FIELD(struct port, interval, "infiniband.interval", SKEP_T_U64, SKEP_S_DELTA, "ns",
		   "time since the record before"),
	COUNTED(RX_DATA, "infiniband.receive.io", "By", "received"),
	COUNTED(TX_DATA, "infiniband.transmit.io", "By", "sent"),
	COUNTED(RX_PACKETS, "infiniband.receive.packets", "{packet}", "received"),
	COUNTED(TX_PACKETS, "infiniband.transmit.packets", "{packet}", "sent"),
	COUNTED(RX_ERRORS, "infiniband.receive.errors", "{packet}", "received with an error"),
	COUNTED(TX_DISCARDS, "infiniband.transmit.discards", "{packet}", "not sent: the port was down or congested"),
	COUNTED(TX_WAIT, "infiniband.transmit.wait", "{tick}", "ticks with data to send and no credit to send it"),
	COUNTED(SYMBOL_ERRORS, "infiniband.symbol_errors", "{error}", "minor link errors: a cable or a connector"),
	COUNTED(LINK_DOWNED, "infiniband.link_downed", "{event}",
		"times that the link failed to recover and went down"),
};

enum { STREAM_PORT, N_STREAMS };

static const struct skep_stream port_stream =
	SKEP_STREAM(struct port, fields, "ibports.port", SKEP_ROLE_NONE, SKEP_STREAM_SAMPLE,
		    "traffic and errors of a port of an InfiniBand adapter, at intervals");

static const struct skep_stream *const streams[N_STREAMS] = { [STREAM_PORT] = &port_stream };

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts); /* the clock of all records */
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- files -------------------------------------------------------------------- */

/* A short file below dir, without its newline. false: there is none. */
static bool read_text(int dir, const char *path, char *text, size_t size)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, text, size - 1);
	close(fd);
	if (n < 0)
		return false;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return true;
}

static bool read_number(int dir, const char *path, uint64_t *ret)
{
	char text[32], *end;

	if (!read_text(dir, path, text, sizeof(text)) || text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	*ret = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0';
}

/* "100 Gb/sec (4X EDR)", "2.5 Gb/sec (1X SDR)"; 0: not known. */
static uint64_t bits_per_second(const char *rate)
{
	char *end;
	double n = strtod(rate, &end);

	return end != rate && strncmp(end, " Gb/sec", 7) == 0 && n > 0 && n < 1e6 ? (uint64_t)(n * 1e9) : 0;
}

static struct skep_str text_of(const char *s)
{
	return (struct skep_str){ .ptr = s, .len = (uint32_t)strlen(s), .total = (uint32_t)strlen(s) };
}

/* ---- ports ---------------------------------------------------------------------- */

static struct known *port_of(struct ibports *p, const char *device, unsigned number)
{
	struct known *k;

	for (unsigned i = 0; i < p->n; i++)
		if (p->ports[i].number == number && strcmp(p->ports[i].device, device) == 0)
			return &p->ports[i];
	if (p->n == PORTS_MAX || strlen(device) >= sizeof(k->device)) {
		p->host->counter_add(p->too_many, 1);
		return NULL;
	}
	k = &p->ports[p->n++];
	*k = (struct known){ .number = number, .fresh = true };
	strcpy(k->device, device);
	return k;
}

/* dir: .../ports/N. A value without a file is 0, and later readings do not subtract it. */
static void tell_port(struct skep_instance *inst, struct ibports *p, int dir, const char *device, unsigned number)
{
	struct known *k = port_of(p, device, number);
	char layer[32] = "", state[32] = "", rate[64] = "", path[64];
	struct port port = { .number = number };
	uint64_t values[N_COUNTERS], now = now_ns();
	const char *word;
	bool any = false;

	if (!k)
		return;
	k->seen = true;
	for (unsigned i = 0; i < N_COUNTERS; i++) {
		snprintf(path, sizeof(path), "counters/%s", counters[i].file);
		if (read_number(dir, path, &values[i]))
			any = true;
		else
			values[i] = k->last[i];
		/* A reset (perfquery -R, a reloaded driver): the kernel counts from 0 again. */
		if (values[i] < k->last[i]) {
			p->host->counter_add(p->resets, 1);
			k->last[i] = 0;
		}
		port.count[i] = k->fresh ? 0 : (values[i] - k->last[i]) * counters[i].factor;
		k->last[i] = values[i];
	}
	if (!any)
		p->host->counter_add(p->unreadable, 1);
	port.interval = k->fresh ? 0 : now - k->time_ns;
	k->time_ns = now;
	/* The first reading is the base for the next ones. */
	if (k->fresh) {
		k->fresh = false;
		return;
	}
	read_text(dir, "link_layer", layer, sizeof(layer));
	read_text(dir, "rate", rate, sizeof(rate));
	read_text(dir, "state", state, sizeof(state));
	word = strstr(state, ": ");
	port.device = text_of(k->device);
	port.layer = text_of(layer);
	port.state = text_of(word ? word + 2 : state);
	port.rate = bits_per_second(rate);
	p->host->emit(inst, STREAM_PORT, NULL, now, &port);
}

static bool is_wanted(const struct ibports *p, const char *device)
{
	if (!p->devices)
		return true;
	for (const char **d = p->devices; *d; d++)
		if (strcmp(*d, device) == 0)
			return true;
	return false;
}

static void tell_device(struct skep_instance *inst, struct ibports *p, int class, const char *device)
{
	char path[512];
	struct dirent *e;
	DIR *ports;
	int fd;

	snprintf(path, sizeof(path), "%s/ports", device);
	fd = openat(class, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	ports = fd < 0 ? NULL : fdopendir(fd);
	if (!ports) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(ports))) {
		char *end;
		unsigned long n = strtoul(e->d_name, &end, 10);
		int dir;

		if (e->d_name[0] < '0' || e->d_name[0] > '9' || *end || n > UINT8_MAX)
			continue;
		dir = openat(dirfd(ports), e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		tell_port(inst, p, dir, device, (unsigned)n);
		close(dir);
	}
	closedir(ports);
}

/* Adapters come and go, so each pass reads the folder. The number of ports; -errno: no such folder. */
static int tell_all(struct skep_instance *inst, struct ibports *p)
{
	char path[4096];
	struct dirent *e;
	int n = 0;
	DIR *class;

	if (snprintf(path, sizeof(path), "%s/class/infiniband", p->root) >= (int)sizeof(path))
		return -ENAMETOOLONG;
	class = opendir(path);
	if (!class)
		return -errno;
	for (unsigned i = 0; i < p->n; i++)
		p->ports[i].seen = false;
	while ((e = readdir(class))) {
		if (e->d_name[0] == '.')
			continue;
		n++;
		if (is_wanted(p, e->d_name))
			tell_device(inst, p, dirfd(class), e->d_name);
	}
	closedir(class);
	for (unsigned i = p->n; i-- > 0;)
		if (!p->ports[i].seen)
			p->ports[i] = p->ports[--p->n];
	return n;
}

/* ---- life ------------------------------------------------------------------------ */

static int ibports_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct ibports *p = state;

	p->host = host;
	p->unreadable = host->counter(inst, "unreadable", "times that a port had no counter that could be read");
	p->resets = host->counter(inst, "resets", "times that a port's counter began anew");
	p->too_many = host->counter(inst, "too_many", "times that a port found no room");
	if (p->root[0] != '/')
		return host->fail(inst, -EINVAL, "root is \"%s\"; give an absolute path, such as \"/sys\"", p->root);
	p->ports = calloc(PORTS_MAX, sizeof(*p->ports));
	if (!p->ports)
		return host->fail(inst, -ENOMEM, "out of memory");
	return 0;
}

/* Without an adapter the probe starts and reports a missing signal: an operator may plug one in. */
static void say(struct skep_instance *inst, const struct ibports *p, int n)
{
	if (n > 0)
		p->host->signal(inst, "infiniband.ports", SKEP_SIGNAL_OK, "sysfs class/infiniband", NULL);
	else
		p->host->signal(inst, "infiniband.ports", SKEP_SIGNAL_MISSING, "",
				n == -ENOENT || n == 0
					? "this machine has no InfiniBand adapter, or no driver for it is loaded"
					: strerror(-n));
}

static int ibports_start(struct skep_instance *inst, void *state)
{
	struct ibports *p = state;

	say(inst, p, tell_all(inst, p));
	return 0;
}

static void ibports_sample(struct skep_instance *inst, void *state)
{
	struct ibports *p = state;
	int n = tell_all(inst, p);

	if (n > 0 && !p->signalled) {
		say(inst, p, n);
		p->signalled = true;
	}
}

/* Each pass reads `devices` again. */
static int ibports_reload(struct skep_instance *inst, void *state, const void *next)
{
	(void)inst;
	(void)state;
	(void)next;
	return 0;
}

static void ibports_stop(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
}

static void ibports_close(struct skep_instance *inst, void *state)
{
	struct ibports *p = state;

	(void)inst;
	free(p->ports);
}

static const struct skep_plugin ibports_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = "ibports",
	.version = "1.0",
	.summary = "traffic and errors of InfiniBand ports",
	.license = "Apache-2.0",
	.options = options,
	.option_size = sizeof(struct skep_option),
	.n_streams = N_STREAMS,
	.streams = streams,
	.state_size = sizeof(struct ibports),
	.open = ibports_open,
	.start = ibports_start,
	.sample = ibports_sample,
	.reload = ibports_reload,
	.stop = ibports_stop,
	.close = ibports_close,
};

SKEP_PLUGIN(ibports_plugin, SKEP_KIND_PROBE, "ibports", "1.0")
