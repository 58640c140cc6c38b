/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/host/sensor.c - the stream host.sensor: temperatures, and energy by RAPL.
 *
 * The probe searches for sensors once, at the start.  A worker thread of the plugin host (work()) reads them: a sensor
 * may talk to the firmware or interrupt another processor, which takes milliseconds.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <skep/clock.h>
#include <skep/values.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state.h"

#define SENSOR_MOST 64u

enum { THERMAL, HWMON, RAPL };

struct sensor {
	int kind;
	char id[64], name[64], path[160];
	uint64_t range; /* RAPL: the counter's last value before 0, in microjoules */
	uint64_t before;
	bool have_before;
	/* results of the worker thread */
	int err;
	uint64_t microjoules;
	double celsius;
};

struct sensors {
	struct host_probe *st;
	int root;
	unsigned n;
	struct sensor sensor[SENSOR_MOST];
};

/* thermal_zone0/{type,temp} in millidegrees */
static bool find_thermal(struct sensors *all, struct sensor *s, const char *folder)
{
	char path[160];

	s->kind = THERMAL;
	return strncmp(folder, "thermal_zone", 12) == 0 &&
	       skep_text_format(path, sizeof(path), "sys/class/thermal/%s/type", folder) &&
	       skep_text_line_at(all->root, path, s->name, sizeof(s->name)) == 0 &&
	       skep_text_format(s->path, sizeof(s->path), "sys/class/thermal/%s/temp", folder);
}

/* Sensors of processors only: others wake a disk (drivetemp) or take long (ipmi). */
static bool find_hwmon(struct sensors *all, struct sensor *s, const char *folder)
{
	char path[160];

	s->kind = HWMON;
	return skep_text_format(path, sizeof(path), "sys/class/hwmon/%s/name", folder) &&
	       skep_text_line_at(all->root, path, s->name, sizeof(s->name)) == 0 &&
	       (strcmp(s->name, "coretemp") == 0 || strcmp(s->name, "k10temp") == 0 ||
		strcmp(s->name, "zenpower") == 0) &&
	       skep_text_format(s->path, sizeof(s->path), "sys/class/hwmon/%s/temp1_input", folder);
}

/* intel-rapl:0/{name,energy_uj,max_energy_range_uj}; on AMD as well. intel-rapl-mmio lists the same packages again. */
static bool find_rapl(struct sensors *all, struct sensor *s, const char *folder)
{
	char path[160];

	s->kind = RAPL;
	return strncmp(folder, "intel-rapl:", 11) == 0 &&
	       skep_text_format(path, sizeof(path), "sys/class/powercap/%s/name", folder) &&
	       skep_text_line_at(all->root, path, s->name, sizeof(s->name)) == 0 &&
	       skep_text_format(path, sizeof(path), "sys/class/powercap/%s/max_energy_range_uj", folder) &&
	       skep_text_u64_at(all->root, path, &s->range) == 0 &&
	       skep_text_format(s->path, sizeof(s->path), "sys/class/powercap/%s/energy_uj", folder);
}

static void find(struct skep_instance *inst, struct sensors *all, const char *folder,
		 bool (*of)(struct sensors *, struct sensor *, const char *))
{
	const struct host_probe *st = all->st;
	int fd = openat(all->root, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir))) {
		struct sensor one = { 0 };

		if (e->d_name[0] == '.' || strlen(e->d_name) >= sizeof(one.id) || !of(all, &one, e->d_name))
			continue;
		if (faccessat(all->root, one.path, R_OK, 0) != 0)
			continue;
		if (all->n == SENSOR_MOST) {
			st->host->counter_add(st->left_out, 1);
			st->host->lost(inst, STREAM_SENSOR, SKEP_LOSS_QUEUE, 1);
			continue;
		}
		skep_text_copy(skep_text_of(e->d_name), one.id, sizeof(one.id));
		all->sensor[all->n++] = one;
	}
	closedir(dir);
}

/* On a worker thread: touches only struct sensor. Temperatures may be below zero. */
static int read_celsius(int root, const char *path, double *ret)
{
	char line[32];
	struct text t;
	bool minus;
	uint64_t v;
	int err = skep_text_line_at(root, path, line, sizeof(line));

	if (err)
		return err;
	t = skep_text_of(line);
	minus = skep_text_skip(&t, "-");
	if (!skep_text_u64(&t, &v))
		return -EBADMSG;
	*ret = (minus ? -1.0 : 1.0) * (double)v / 1000;
	return 0;
}

static void read_all(void *arg)
{
	struct sensors *all = arg;

	for (unsigned i = 0; i < all->n; i++) {
		struct sensor *s = &all->sensor[i];

		if (s->kind == RAPL)
			s->err = skep_text_u64_at(all->root, s->path, &s->microjoules);
		else
			s->err = read_celsius(all->root, s->path, &s->celsius);
	}
}

static double joules(struct sensor *s)
{
	uint64_t before = s->before, now = s->microjoules;
	bool have = s->have_before;

	s->before = now;
	s->have_before = true;
	if (!have)
		return 0;
	if (now < before) /* max_energy_range_uj is the last value before 0 */
		return (double)(s->range >= before ? s->range - before + now + 1 : 0) / 1e6;
	return (double)(now - before) / 1e6;
}

static void read_done(struct skep_instance *inst, void *arg)
{
	struct sensors *all = arg;
	struct host_probe *st = all->st;
	uint64_t now_ns = skep_boot_ns();

	st->sensors_busy = false;
	for (unsigned i = 0; i < all->n; i++) {
		struct sensor *s = &all->sensor[i];
		bool first = s->kind == RAPL && !s->have_before;
		struct sensor_record rec = { .id = skep_text(s->id), .type = skep_text(s->name) };

		if (s->err)
			continue; /* EAGAIN, ENODATA: the zone is off */
		if (s->kind == RAPL)
			rec.joules = joules(s);
		else
			rec.celsius = s->celsius;
		if (!first)
			st->host->emit(inst, STREAM_SENSOR, NULL, now_ns, &rec);
	}
}

void sensor_sample(struct skep_instance *inst, struct host_probe *st, uint64_t now_ns)
{
	if (!st->sensors || st->sensors_busy || (st->sensors_ns && now_ns - st->sensors_ns < st->opt_sensors))
		return;
	st->sensors_ns = now_ns;
	st->sensors_busy = true; /* before work(): a plugin host may run both callbacks inside it */
	if (st->host->work(inst, read_all, read_done, st->sensors))
		st->sensors_busy = false;
}

int sensor_start(struct skep_instance *inst, struct host_probe *st)
{
	struct sensors *all;
	unsigned thermal, rapl = 0;

	if (!st->opt_sensors) {
		host_signal(inst, st, "host.temperature", SKEP_SIGNAL_OFF, "/sys/class/thermal, hwmon",
			    "option sensors is 0s");
		host_signal(inst, st, "host.energy", SKEP_SIGNAL_OFF, "/sys/class/powercap", "option sensors is 0s");
		return 0;
	}
	all = calloc(1, sizeof(*all));
	if (!all)
		return st->host->fail(inst, -ENOMEM, "no memory for %u sensors", SENSOR_MOST);
	all->st = st;
	all->root = st->root;
	st->sensors = all;
	find(inst, all, "sys/class/thermal", find_thermal);
	find(inst, all, "sys/class/hwmon", find_hwmon);
	thermal = all->n;
	find(inst, all, "sys/class/powercap", find_rapl);
	rapl = all->n - thermal;
	if (thermal)
		host_signal(inst, st, "host.temperature", SKEP_SIGNAL_OK, "/sys/class/thermal, hwmon", NULL);
	else
		host_signal(inst, st, "host.temperature", SKEP_SIGNAL_MISSING, "/sys/class/thermal, hwmon",
			    "this machine has no sensor that skep reads (a virtual machine has none)");
	if (rapl)
		host_signal(inst, st, "host.energy", SKEP_SIGNAL_OK, "/sys/class/powercap (RAPL)", NULL);
	else
		host_signal(
			inst, st, "host.energy", SKEP_SIGNAL_MISSING, "/sys/class/powercap (RAPL)",
			"no energy_uj is readable: "
			"a virtual machine has none, elsewhere only root or CAP_DAC_READ_SEARCH may read it");
	if (all->n == 0)
		sensor_close(st);
	return 0;
}

void sensor_close(struct host_probe *st)
{
	free(st->sensors);
	st->sensors = NULL;
}
