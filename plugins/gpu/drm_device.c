/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/drm_device.c - DRM devices in sysfs, and the figures of amdgpu, i915 and xe there: busy percentage and
 * memory (amdgpu), power, energy and temperature (hwmon).
 */
#include <dirent.h>
#include <math.h>
#include <skep/values.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drm.h"

static const char *vendor_of(const char *driver)
{
	static const struct {
		const char *driver, *vendor;
	} vendors[] = {
		{ "amdgpu", "AMD" }, { "radeon", "AMD" },  { "i915", "Intel" },      { "xe", "Intel" },
		{ "msm", "Qualcomm" }, { "v3d", "Broadcom" }, { "nouveau", "NVIDIA" }, { "nova", "NVIDIA" },
	};

	for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
		if (strcmp(driver, vendors[i].driver) == 0)
			return vendors[i].vendor;
	return "";
}

static void last_component(const char *path, char *ret, size_t room)
{
	char link[512];
	ssize_t n = readlink(path, link, sizeof(link) - 1);
	const char *slash;

	ret[0] = '\0';
	if (n <= 0)
		return;
	link[n] = '\0';
	slash = strrchr(link, '/');
	snprintf(ret, room, "%.*s", (int)room - 1, slash ? slash + 1 : link);
}

int drm_card_of(struct drm_state *s, const char *pdev, const char *driver)
{
	struct drm_card *c;

	for (uint32_t i = 0; i < s->n_cards; i++)
		if (strcmp(s->cards[i].pdev, pdev) == 0)
			return (int)i;
	if (s->n_cards == DRM_CARDS) {
		s->overflow++;
		return -1;
	}
	c = &s->cards[s->n_cards];
	memset(c, 0, sizeof(*c));
	snprintf(c->pdev, sizeof(c->pdev), "%s", pdev);
	snprintf(c->driver, sizeof(c->driver), "%s", driver);
	c->vendor = vendor_of(driver);
	c->last_energy = NAN;
	return (int)s->n_cards++;
}

static void hwmon_find(struct drm_card *c)
{
	char path[512];
	struct dirent *entry;
	DIR *d;

	c->hwmon[0] = '\0';
	snprintf(path, sizeof(path), "%s/hwmon", c->dir);
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		size_t n = strlen(path), more = strlen(entry->d_name);

		if (strncmp(entry->d_name, "hwmon", 5) != 0 || n + more + 2 > sizeof(c->hwmon))
			continue;
		memcpy(c->hwmon, path, n);
		c->hwmon[n] = '/';
		memcpy(c->hwmon + n + 1, entry->d_name, more + 1);
	}
	if (d)
		closedir(d);
}

void drm_cards_find(struct drm_state *s)
{
	char path[512];
	struct dirent *entry;
	DIR *d;

	snprintf(path, sizeof(path), "%s/class/drm", s->sysfs);
	s->present = false;
	d = opendir(path);
	while (d && (entry = readdir(d))) {
		char pdev[64], driver[64], dir[256];
		int i;

		/* card0, not card0-HDMI-A-1 */
		if (strncmp(entry->d_name, "card", 4) != 0 || strchr(entry->d_name, '-'))
			continue;
		s->present = true;
		if (snprintf(dir, sizeof(dir), "%s/%s/device", path, entry->d_name) >= (int)sizeof(dir))
			continue;
		last_component(dir, pdev, sizeof(pdev));
		snprintf(path, sizeof(path), "%s/driver", dir);
		last_component(path, driver, sizeof(driver));
		snprintf(path, sizeof(path), "%s/class/drm", s->sysfs);
		if (!pdev[0] || !driver[0] || strcmp(driver, "nvidia") == 0) /* NVIDIA's own library reports it */
			continue;
		i = drm_card_of(s, pdev, driver);
		if (i < 0)
			break;
		if (strcmp(s->cards[i].dir, dir) != 0) {
			memcpy(s->cards[i].dir, dir, sizeof(dir));
			hwmon_find(&s->cards[i]);
		}
		s->cards[i].pass = s->passes + 1;
	}
	if (d)
		closedir(d);
}

static double read_number(const char *dir, const char *name)
{
	char path[512];
	double v = NAN;
	FILE *f;

	if (!dir[0] || snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path))
		return NAN;
	f = fopen(path, "re");
	if (!f)
		return NAN;
	if (fscanf(f, "%lf", &v) != 1)
		v = NAN;
	fclose(f);
	return v;
}

static double either(double a, double b)
{
	return isnan(a) ? b : a;
}

static void card_read(struct drm_card *c, uint64_t now_ns)
{
	struct device_record *r = &c->record;
	double *numbers = &r->utilization, energy, percent;
	uint64_t most = 0;

	memset(r, 0, offsetof(struct device_record, utilization));
	for (size_t i = 0; i < (sizeof(*r) - offsetof(struct device_record, utilization)) / sizeof(double); i++)
		numbers[i] = NAN;
	r->id = r->pci = skep_text(c->pdev);
	r->name = skep_text(c->name);
	r->vendor = skep_text(c->vendor);
	r->driver = skep_text(c->driver);
	r->gpu_instance = r->compute_instance = -1;
	r->interval_ns = c->read_ns ? now_ns - c->read_ns : 0;
	percent = read_number(c->dir, "gpu_busy_percent");
	if (!isnan(percent)) { /* of this moment; the engines' time below is of the interval */
		r->utilization = percent / 100;
		r->busy_how = skep_text("rates");
	}
	r->memory_used = read_number(c->dir, "mem_info_vram_used");
	r->memory_limit = read_number(c->dir, "mem_info_vram_total");
	r->memory_active = read_number(c->dir, "mem_busy_percent") / 100;
	r->power = either(read_number(c->hwmon, "power1_average"), read_number(c->hwmon, "power1_input")) / 1e6;
	r->power_limit = read_number(c->hwmon, "power1_cap") / 1e6;
	r->temperature = read_number(c->hwmon, "temp1_input") / 1e3;
	energy = read_number(c->hwmon, "energy1_input") / 1e6;
	r->energy = energy >= c->last_energy ? energy - c->last_energy : NAN;
	c->last_energy = energy;
	r->clock_sm = read_number(c->hwmon, "freq1_input");
	if (c->clients && r->interval_ns) {
		for (uint32_t i = 0; i < c->n_engines; i++)
			if (c->busy_ns[i] > most)
				most = c->busy_ns[i];
		/* several engines of one class run side by side */
		r->busy_ns = (double)(most < r->interval_ns ? most : r->interval_ns);
		r->utilization = r->busy_ns / (double)r->interval_ns;
		r->busy_how = skep_text("fdinfo");
		r->unattributed_ns = 0; /* the sum over all processes is complete */
		r->processes = c->holders;
		r->idle_held_ns = c->holders && most == 0 ? (double)r->interval_ns : 0;
		if (isnan(r->memory_used))
			r->memory_used = (double)c->memory;
	}
	/* A device without figures (vgem, virtio_gpu) has no record. */
	c->reported = false;
	for (size_t i = 0;
	     c->read_ns && i < (sizeof(*r) - offsetof(struct device_record, utilization)) / sizeof(double); i++)
		c->reported = c->reported || !isnan(numbers[i]);
	c->read_ns = now_ns;
}

void drm_cards_read(struct drm_state *s, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->n_cards; i++) {
		s->cards[i].reported = false;
		if (s->cards[i].pass == s->passes || s->cards[i].holders)
			card_read(&s->cards[i], now_ns);
	}
}
