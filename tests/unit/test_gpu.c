/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The probe "gpu" on stand-ins: a management library that answers as a script says (tests/gpu/standin_nvml.c), and
 * folders that look like /proc and /sys. The test touches no device; tests/gpu/real.sh tests a real one.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <skep/clock.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "plugins/gpu/cuda.h"
#include "plugins/gpu/drm.h"
#include "plugins/gpu/hooks.h"
#include "plugins/gpu/nvml.h"
#include "plugins/gpu/state.h"
#include <skep/mock.h>

const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);

/* ---- a plugin host that stores what the probe reports ------------------------------------------------ */

#define KEPT 64

static struct {
	unsigned n[N_STREAMS];
	struct device_record device[KEPT];
	char device_id[KEPT][64], parent_id[KEPT][64], throttle[KEPT][64], how[KEPT][16];
	struct use_record use[KEPT];
	struct skep_upid use_who[KEPT];
	struct activity_record activity[KEPT];
	struct event_record event[KEPT];
	uint64_t drained_ns, lost;
	struct {
		char name[48], why[256];
		enum skep_signal_state state;
	} signals[KEPT];
	unsigned n_signals;
	uint32_t unknown_pid; /* no process has this pid */
	uint64_t start_ns;    /* of every process */
} reported;

static void copy_text(char *to, size_t room, struct skep_str s)
{
	snprintf(to, room, "%.*s", (int)s.len, s.ptr ? s.ptr : "");
}

static void on_emit(struct skep_instance *i, unsigned stream, const struct skep_upid *who, uint64_t time_ns,
		    const void *rec)
{
	unsigned k = reported.n[stream]++;

	(void)i;
	(void)time_ns;
	assert_true(stream < N_STREAMS && k < KEPT);
	if (stream == STREAM_DEVICE) {
		memcpy(&reported.device[k], rec, sizeof(reported.device[k]));
		copy_text(reported.device_id[k], sizeof(reported.device_id[k]), reported.device[k].id);
		copy_text(reported.parent_id[k], sizeof(reported.parent_id[k]), reported.device[k].parent);
		copy_text(reported.throttle[k], sizeof(reported.throttle[k]), reported.device[k].throttle);
		copy_text(reported.how[k], sizeof(reported.how[k]), reported.device[k].busy_how);
	} else if (stream == STREAM_USE) {
		memcpy(&reported.use[k], rec, sizeof(reported.use[k]));
		reported.use_who[k] = *who;
	} else if (stream == STREAM_ACTIVITY) {
		memcpy(&reported.activity[k], rec, sizeof(reported.activity[k]));
	} else if (stream == STREAM_EVENT) {
		memcpy(&reported.event[k], rec, sizeof(reported.event[k]));
	}
}

static void on_drained(struct skep_instance *i, uint64_t time_ns)
{
	(void)i;
	assert_true(time_ns >= reported.drained_ns);
	reported.drained_ns = time_ns;
}

static void on_lost(struct skep_instance *i, unsigned stream, enum skep_loss where, uint64_t n)
{
	(void)i;
	(void)stream;
	(void)where;
	reported.lost += n;
}

static bool on_process(struct skep_instance *i, uint32_t pid, struct skep_upid *ret)
{
	(void)i;
	if (pid == reported.unknown_pid)
		return false;
	*ret = (struct skep_upid){ .pid = pid, .start_ns = reported.start_ns };
	return true;
}

static void on_signal(struct skep_instance *i, const char *name, enum skep_signal_state state, const char *how,
		      const char *why)
{
	unsigned k = 0;

	(void)i;
	assert_non_null(how);
	assert_true((state == SKEP_SIGNAL_OK) == (why == NULL));
	while (k < reported.n_signals && strcmp(reported.signals[k].name, name) != 0)
		k++;
	assert_true(k < KEPT);
	if (k == reported.n_signals)
		reported.n_signals++;
	snprintf(reported.signals[k].name, sizeof(reported.signals[k].name), "%s", name);
	snprintf(reported.signals[k].why, sizeof(reported.signals[k].why), "%s", why ? why : "");
	reported.signals[k].state = state;
}

static enum skep_signal_state signal_of(const char *name)
{
	for (unsigned k = 0; k < reported.n_signals; k++)
		if (strcmp(reported.signals[k].name, name) == 0)
			return reported.signals[k].state;
	return 0;
}

static const char *why_of(const char *name)
{
	for (unsigned k = 0; k < reported.n_signals; k++)
		if (strcmp(reported.signals[k].name, name) == 0)
			return reported.signals[k].why;
	return "(not said)";
}

static const struct use_record *use_of(uint32_t pid)
{
	for (unsigned k = reported.n[STREAM_USE]; k > 0; k--)
		if (reported.use_who[k - 1].pid == pid)
			return &reported.use[k - 1];
	return NULL;
}

static struct skep_mock m;
static char dir[64], script[96];
static char library[512], old_library[512];

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static const char *own_procfs; /* NULL: /proc of this machine */

static struct gpu_probe *probe(void)
{
	return m.state;
}

static void begin(const char *commands, const char *lib)
{
	memset(&reported, 0, sizeof(reported));
	reported.start_ns = 1;
	write_file(script, commands);
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	m.host.emit = on_emit;
	m.host.drained = on_drained;
	m.host.lost = on_lost;
	m.host.process_by_pid = on_process;
	m.host.signal = on_signal;
	assert_int_equal(skep_mock_option(&m, "nvml_library", lib), 0);
	assert_int_equal(skep_mock_option(&m, "sysfs", dir), 0); /* a machine without DRM devices */
	if (own_procfs)
		assert_int_equal(skep_mock_option(&m, "procfs", own_procfs), 0);
	assert_int_equal(skep_mock_start(&m), 0);
}

/* One pass over the state that the script sets, exactly a second after the last pass. */
static void pass(const char *commands)
{
	struct gpu_probe *st = probe();

	memset(reported.n, 0, sizeof(reported.n));
	if (commands)
		write_file(script, commands);
	for (uint32_t i = 0; i < st->nvml->n; i++) {
		st->nvml->gpus[i].read_ns = skep_boot_ns() - 1000000000;
		st->nvml->gpus[i].gpm_ns = st->nvml->gpus[i].read_ns;
	}
	m.plugin->sample(m.instance, m.state);
}

/* Within a hundredth: the clock moves between setting and reading the time. */
#define near(a_, b_) assert_true(fabs((double)(a_) - (double)(b_)) <= fabs((double)(b_)) / 100 + 1)

/* ---- decoding ---------------------------------------------------------------------------- */

static void fdinfo_amdgpu(void **state)
{
	static const char text[] =
		"pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t1083\n"
		"drm-driver:\tamdgpu\ndrm-client-id:\t67\ndrm-pdev:\t0000:0b:00.0\npasid:\t32771\n"
		"drm-memory-vram:\t16384 KiB\ndrm-memory-gtt: \t2048 KiB\ndrm-memory-cpu: \t0 KiB\n"
		"drm-engine-gfx:\t123456789 ns\ndrm-engine-compute:\t0 ns\ndrm-engine-dma:\t5000 ns\n"
		"drm-engine-capacity-gfx:\t2\n";
	struct drm_fdinfo f;

	(void)state;
	assert_int_equal(drm_fdinfo_parse(text, &f), 0);
	assert_string_equal(f.driver, "amdgpu");
	assert_string_equal(f.pdev, "0000:0b:00.0");
	assert_int_equal(f.client, 67);
	assert_int_equal(f.n_engines, 3);
	assert_string_equal(f.engines[0].name, "gfx");
	assert_int_equal(f.engines[0].busy_ns, 123456789);
	assert_int_equal(f.device_memory, 16384 * 1024);
	assert_int_equal(f.other_memory, 2048 * 1024);
	assert_int_equal(drm_engine_unit("gfx"), DRM_BUSY);
	assert_int_equal(drm_engine_unit("dma"), DRM_COPY);
	assert_int_equal(drm_engine_unit("enc_1"), DRM_VIDEO);
	assert_int_equal(drm_engine_unit("video-enhance"), DRM_VIDEO);
	assert_int_equal(drm_engine_unit("ccs"), DRM_BUSY);
}

static void fdinfo_xe(void **state)
{
	static const char text[] =
		"drm-driver: xe\ndrm-client-id: 9\ndrm-pdev: 0000:03:00.0\n"
		"drm-total-vram0: 100 MiB\ndrm-resident-vram0: 64 MiB\ndrm-resident-system: 4 MiB\ndrm-memory-vram0: 1 MiB\n"
		"drm-cycles-rcs: 28257900\ndrm-total-cycles-rcs: 7655183225\ndrm-engine-capacity-rcs: 1\n";
	struct drm_fdinfo f;

	(void)state;
	assert_int_equal(drm_fdinfo_parse(text, &f), 0);
	assert_int_equal(f.n_engines, 1);
	assert_false(f.engines[0].has_ns);
	assert_int_equal(f.engines[0].cycles, 28257900);
	assert_int_equal(f.engines[0].total_cycles, 7655183225);
	/* the key "resident" counts, its older alias does not count a second time */
	assert_int_equal(f.device_memory, 64 * 1048576);
	assert_int_equal(f.other_memory, 4 * 1048576);
}

static void fdinfo_bad(void **state)
{
	static const char *const bad[] = {
		"",
		"pos: 0\n",
		"drm-driver: i915\n", /* no client id: before 5.19 */
		"drm-client-id: 5\n",
		"drm-driver: i915\ndrm-client-id: x\n",
		"drm-driver: i915\ndrm-client-id: 99999999999999999999\n", /* more than 64 bits */
		"drm-driver\ndrm-client-id\n",
	};
	struct drm_fdinfo f;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(drm_fdinfo_parse(bad[i], &f), -ENOENT);
}

static void small_decoders(void **state)
{
	struct nvml_sample samples[] = {
		{ 10, { .u = 50 } }, { 30, { .u = 100 } }, { 20, { .u = 0 } }, { 99, { .u = 4000000000u } },
	};
	unsigned long long newest = 0;
	char words[64], driver[32];
	struct cuda_mapping map;

	(void)state;
	near(1000 * nvml_samples_mean(samples, 4, NVML_VALUE_UINT, &newest), 500);
	assert_int_equal(newest, 30); /* the last value is not a percentage */
	assert_true(isnan(nvml_samples_mean(samples, 0, NVML_VALUE_UINT, &newest)));
	assert_true(isnan(nvml_value_number((union nvml_value){ .u = 1 }, 77)));
	nvml_throttle_words(NVML_THROTTLE_SW_POWER | NVML_THROTTLE_HW_THERMAL | 0x1000, words, sizeof(words));
	assert_string_equal(words, "sw_power,hw_thermal,0x1000");
	nvml_throttle_words(0, words, sizeof(words));
	assert_string_equal(words, "");
	nvml_throttle_words(~0ull, words, 12);
	assert_true(strlen(words) < 12);

	assert_true(hooks_driver_of("ffffffffc0a1b2c0 t amdgpu_fence_get_driver_name\t[amdgpu]", 0xffffffffc0a1b2c0,
				    driver, sizeof(driver)));
	assert_string_equal(driver, "amdgpu_fence");
	assert_false(hooks_driver_of("ffffffffc0a1b2c0 t x", 0xffffffffc0a1b2c1, driver, sizeof(driver)));
	assert_false(hooks_driver_of("0000000000000000 t amdgpu_fence_get_driver_name", 0, driver, sizeof(driver)));

	assert_true(cuda_maps_line(
		"7f00a0000000-7f00a0100000 r-xp 00012000 fe:00 4711                       /usr/lib/x y/libcuda.so.555.42\n",
		"libcuda.so", &map));
	assert_string_equal(map.path, "/usr/lib/x y/libcuda.so.555.42");
	assert_int_equal(map.inode, 4711);
	assert_false(map.deleted);
	assert_true(cuda_maps_line("7f00a0000000-7f00a0100000 r-xp 0 fe:00 4711 /l/libcuda.so.1 (deleted)\n",
				   "libcuda.so", &map));
	assert_string_equal(map.path, "/l/libcuda.so.1");
	assert_true(map.deleted);
	assert_false(
		cuda_maps_line("7f00a0000000-7f00a0100000 r-xp 0 fe:00 4711 /l/libcudart.so.12\n", "libcuda.so", &map));
	assert_false(cuda_maps_line("7f00a0000000-7f00a0100000 rw-p 0 00:00 0 \n", "libcuda.so", &map));
	assert_false(cuda_maps_line("nonsense", "libcuda.so", &map));
#ifdef __x86_64__
	assert_true(cuda_emulated((const unsigned char[2]){ 0x55, 0x48 }));  /* push %rbp */
	assert_true(cuda_emulated((const unsigned char[2]){ 0x41, 0x57 }));  /* push %r15 */
	assert_false(cuda_emulated((const unsigned char[2]){ 0x41, 0x89 })); /* mov */
	assert_false(cuda_emulated((const unsigned char[2]){ 0xf3, 0x0f })); /* endbr64 */
#endif
}

/* Drivers 535.43 to 535.86 wrote 32 bytes for each process, whichever struct size the caller gave. */
static void list_of_wide_entries(void **state)
{
	unsigned char list[8 * 32];
	struct nvml_process p = { 77, 1000, 1, 2 }, q = { 78, 2000, 3, 4 }, got[8];
	unsigned long long protected = 5;

	(void)state;
	memset(list, 0xa5, sizeof(list));
	memcpy(list, &p, 24);
	memcpy(list + 24, &q, 24);
	assert_int_equal(nvml_list_decode(list, 2, 0xa5, got), 2);
	assert_int_equal(got[1].pid, 78);
	memset(list, 0xa5, sizeof(list));
	memcpy(list, &p, 24);
	memcpy(list + 24, &protected, 8);
	memcpy(list + 32, &q, 24);
	memcpy(list + 56, &protected, 8);
	assert_int_equal(nvml_list_decode(list, 2, 0xa5, got), 2);
	assert_int_equal(got[0].pid, 77);
	assert_int_equal(got[1].pid, 78);
	assert_int_equal(got[1].memory, 2000);
}

static void lives_are_forgotten_and_found(void **state)
{
	struct lives *l = lives_new();

	(void)state;
	assert_non_null(l);
	for (uint32_t pid = 1; pid <= 40000; pid++) {
		struct life *x = lives_of(l, pid % 8, pid);

		assert_non_null(x);
		x->pass = pid % 3;
		x->busy_ns = pid;
	}
	lives_forget(l, 2);
	for (uint32_t pid = 1; pid <= 40000; pid++)
		if (pid % 3 == 2)
			assert_int_equal(lives_of(l, pid % 8, pid)->busy_ns, pid);
	assert_int_equal(l->n, 40000 / 3);
	assert_int_equal(lives_of(l, 3, 3)->busy_ns, 0); /* new */
	assert_int_equal(l->overflow, 0);
	for (uint32_t pid = 100000; pid < 200000; pid++)
		lives_of(l, 0, pid);
	assert_int_equal(l->n, LIVES_ROOM / 4 * 3);
	assert_int_equal(l->overflow, 100000 - (LIVES_ROOM / 4 * 3 - 40000 / 3 - 1));
	free(l);
}

static void totals_add_what_is_missing(void **state)
{
	struct life l = { .busy_ns = 400, .held_ns = 900, .known_ns = 900 };
	struct use_record u = { 0 };

	(void)state;
	life_settle(&l, &(struct life_total){ .held_ns = 1000, .busy = 0.5, .memory_bytes = 7 }, &u);
	assert_int_equal(u.busy_ns, 100);
	assert_int_equal(u.held_ns, 100);
	assert_int_equal(u.known_ns, 100);
	assert_int_equal(u.accounted_ns, 500);
	assert_int_equal(u.memory_bytes, 7);
	assert_int_equal(u.idle_ns, 0);
	assert_true(l.settled);
	/* the driver rounds to whole percents: totals never decrease */
	l = (struct life){ .busy_ns = 510, .held_ns = 1000, .known_ns = 1000 };
	u = (struct use_record){ 0 };
	life_settle(&l, &(struct life_total){ .held_ns = 1000, .busy = 0.5, .memory_bytes = UINT64_MAX }, &u);
	assert_int_equal(u.busy_ns, 0);
	assert_int_equal(u.memory_bytes, 0);
	/* an unknown value is not zero */
	l = (struct life){ 0 };
	u = (struct use_record){ 0 };
	life_settle(&l, &(struct life_total){ .held_ns = 1000, .busy = -1, .memory_bytes = UINT64_MAX }, &u);
	assert_int_equal(u.held_ns, 1000);
	assert_int_equal(u.known_ns, 0);
	assert_int_equal(u.idle_ns, 0);
	/* held and never used */
	l = (struct life){ 0 };
	u = (struct use_record){ 0 };
	life_settle(&l, &(struct life_total){ .held_ns = 1000, .busy = 0, .memory_bytes = UINT64_MAX }, &u);
	assert_int_equal(u.idle_ns, 1000);
}

/* ---- NVML ----------------------------------------------------------------------------------- */

#define DEVICE \
	"device GPU-A\nset mem_total 80000\nset mem_used 20000\nset power_mw 250500\nset limit_mw 700000\nset sm_mhz 1980\n" \
	"set temp 61\nset throttle 4\nset util 10\nset mem_util 33\nset mem_temp 70\nset accounting 0\nset pcie_tx 1000\nset pcie_rx 2000\n"

static void device_numbers(void **state)
{
	const struct device_record *r = &reported.device[0];

	(void)state;
	begin(DEVICE "set energy_mj 1000000\nset ecc_unc 3\nset nvlink_tx 100\nset power_ns 500\nrefuse ecc_corr 3\n",
	      library);
	assert_int_equal(reported.n[STREAM_DEVICE], 0); /* the first pass is the baseline */
	pass(DEVICE "set energy_mj 1250500\nset ecc_unc 4\nset nvlink_tx 110\nset power_ns 2500\nrefuse ecc_corr 3\n");
	assert_int_equal(reported.n[STREAM_DEVICE], 1);
	assert_string_equal(reported.device_id[0], "GPU-A");
	assert_string_equal(reported.throttle[0], "sw_power");
	assert_string_equal(reported.how[0], "rates");
	near(r->interval_ns, 1e9);
	near(r->utilization * 1000, 100);
	near(r->busy_ns, 1e8);
	near(r->memory_active * 1000, 330);
	near(r->memory_used, 20000);
	near(r->memory_reserved, 512);
	near(r->power * 1000, 250500);
	near(r->energy * 1000, 250500);
	near(r->clock_sm, 1980e6);
	near(r->temperature, 61);
	near(r->temperature_memory, 70);
	near(r->ecc_uncorrected, 1);
	near(r->nvlink_tx, 10240);
	near(r->throttled_power_ns, 2000);
	near(r->pcie_tx, 1024000);
	/* a refused or missing value is not zero */
	assert_true(isnan(r->ecc_corrected));
	assert_true(isnan(r->throttled_thermal_ns));
	assert_true(isnan(r->encoder));
	assert_true(isnan(r->nvlink_rx));
	assert_true(isnan(r->pcie_generation));
	assert_int_equal(r->gpu_instance, -1);
	assert_int_equal(signal_of("gpu.power"), SKEP_SIGNAL_OK);
	assert_int_equal(signal_of("gpu.activity"), SKEP_SIGNAL_MISSING);
	assert_string_equal(why_of("gpu.activity"), "Not Supported");
	assert_int_equal(signal_of("gpu.cuda"), SKEP_SIGNAL_OFF);
	assert_int_equal(signal_of("gpu.drm"), SKEP_SIGNAL_MISSING);
	assert_int_equal(signal_of("gpu.fences"), SKEP_SIGNAL_MISSING);
	assert_true(reported.drained_ns > 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void a_counter_that_starts_again(void **state)
{
	(void)state;
	begin(DEVICE "set energy_mj 1000000\n", library);
	pass(DEVICE "set energy_mj 400\n"); /* the driver was reloaded */
	near(reported.device[0].energy * 1000, 400);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void samples_before_rates(void **state)
{
	(void)state;
	begin(DEVICE "sample 100 80\n", library);
	pass(DEVICE "sample 100 80\nsample 200 20\nsample 300 40\n"); /* utilization 10 covers the last period only */
	assert_string_equal(reported.how[0], "samples");
	near(reported.device[0].busy_ns, 3e8);
	pass(DEVICE "sample 300 40\n"); /* no new sample: the probe falls back to rates */
	assert_string_equal(reported.how[0], "rates");
	assert_int_equal(skep_mock_end(&m), 0);
}

/* The shares of a device's processes add up to its busy time; the probe sees who holds the device without use. */
static void shares_add_up(void **state)
{
	static const char held[] =
		DEVICE "set util 80\nset energy_mj 1000\nholder 100 5000\nholder 101 7000\nholder 102 1\n";

	(void)state;
	begin(held, library);
	pass(DEVICE "set util 80\nset energy_mj 11000\nholder 100 5000\nholder 101 7000\nholder 102 1\n"
		    "share 100 50 60 30 0 0\nshare 101 50 20 10 5 0\nshare 0 0 0 0 0 0\n");
	assert_int_equal(reported.n[STREAM_USE], 3);
	near(use_of(100)->busy_ns, 6e8);
	near(use_of(101)->busy_ns, 2e8);
	near(use_of(100)->memory_busy_ns, 3e8);
	near(use_of(101)->video_ns, 5e7);
	assert_int_equal(use_of(102)->busy_ns, 0);
	near(use_of(100)->held_ns, 1e9);
	assert_int_equal(use_of(100)->idle_ns, 0);
	near(use_of(102)->idle_ns, 1e9);
	near(use_of(102)->known_ns, 1e9);
	assert_int_equal(use_of(101)->memory_bytes, 7000);
	assert_int_equal(use_of(101)->devices, 1);
	near(use_of(100)->energy_j * 1000, 7500);
	near(use_of(101)->energy_j * 1000, 2500);
	near(reported.device[0].processes, 3);
	assert_true(reported.device[0].unattributed_ns < 10);
	assert_true(reported.device[0].idle_held_ns == 0);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void held_but_idle(void **state)
{
	(void)state;
	begin(DEVICE "set util 0\nset energy_mj 0\nholder 100 5000\nholder 101 1\n", library);
	pass(DEVICE "set util 0\nset energy_mj 60000\nholder 100 5000\nholder 101 1\n");
	near(use_of(100)->idle_ns, 1e9);
	near(use_of(100)->energy_j * 1000, 30000); /* the processes that hold an idle device share its energy */
	near(reported.device[0].idle_held_ns, 1e9);
	assert_int_equal(skep_mock_end(&m), 0);
}

/* A busy device with several holders, and a driver that reports no shares: the probe reports no holder as idle. */
static void not_known_is_not_idle(void **state)
{
	(void)state;
	begin(DEVICE "set util 50\nrefuse shares 3\nholder 100 1\nholder 101 1\n", library);
	pass(DEVICE "set util 50\nrefuse shares 3\nholder 100 1\nholder 101 1\n");
	assert_int_equal(use_of(100)->idle_ns, 0);
	assert_int_equal(use_of(100)->known_ns, 0);
	near(use_of(100)->held_ns, 1e9);
	near(reported.device[0].unattributed_ns, 5e8);
	assert_int_equal(signal_of("gpu.process_utilization"), SKEP_SIGNAL_MISSING);
	pass(DEVICE "set util 50\nrefuse shares 3\nholder 100 1\n"); /* the only holder */
	near(use_of(100)->busy_ns, 5e8);
	near(use_of(100)->known_ns, 1e9);
	assert_true(reported.device[0].unattributed_ns < 10);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void a_process_between_two_passes(void **state)
{
	struct timespec now;
	char text[512];

	(void)state;
	clock_gettime(CLOCK_REALTIME, &now);
	snprintf(text, sizeof(text), DEVICE "holder 200 1\naccount 99 50 1 10 60000 5 0\n"
		 "account 200 40 10 4096 10000 %lld000000 1\n", (long long)now.tv_sec - 10);
	begin(text, library);
	assert_int_equal(signal_of("gpu.accounting"), SKEP_SIGNAL_OK);
	/* 200 has ended; 300 began and ended between passes; 99 ended before the probe began */
	snprintf(text, sizeof(text),
		 DEVICE "set util 0\naccount 99 50 1 10 60000 5 0\naccount 200 40 10 4096 10000 %lld000000 0\n"
			"account 300 25 0 8192 400 %lld000000 0\n",
		 (long long)now.tv_sec - 10, (long long)now.tv_sec);
	pass(text);
	assert_null(use_of(99));
	near(use_of(200)->busy_ns, 4e9);
	near(use_of(200)->accounted_ns, 4e9);
	near(use_of(200)->held_ns, 1e10);
	near(use_of(300)->busy_ns, 1e8);
	assert_int_equal(use_of(300)->memory_bytes, 8192);
	pass(text); /* each once */
	assert_int_equal(reported.n[STREAM_USE], 0);
	/* another process has the same pid */
	snprintf(text, sizeof(text), DEVICE "set util 0\naccount 300 50 0 1 1000 %lld000000 0\n",
		 (long long)now.tv_sec + 1);
	pass(text);
	near(use_of(300)->busy_ns, 5e8);
	/* the pid's present process started after the context, so the context is not its own */
	reported.start_ns = skep_boot_ns();
	snprintf(text, sizeof(text), DEVICE "set util 0\naccount 400 50 0 1 1000 %lld000000 0\n",
		 (long long)now.tv_sec - 100);
	pass(text);
	assert_null(use_of(400));
	assert_int_equal(skep_mock_counter(&m, "uses_unknown"), 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void accounting_is_put_back(void **state)
{
	(void)state;
	begin(DEVICE, library);
	assert_true(probe()->nvml->gpus[0].accounting_ours);
	/* also of a device that the driver lost for a while, when another one came */
	pass("# no device\n");
	pass("device GPU-B\n");
	pass(DEVICE);
	assert_string_equal(probe()->nvml->gpus[0].uuid, "GPU-A");
	assert_true(probe()->nvml->gpus[0].accounting_ours);
	assert_false(probe()->nvml->gpus[1].accounting_ours);
	assert_int_equal(skep_mock_end(&m), 0);
	/* the stand-in keeps its last settings: switch them off */
	skep_mock_init(&m, skep_plugin_entry(NULL));
	m.inline_work = true;
	m.quiet = true;
	m.host.emit = on_emit;
	m.host.drained = on_drained;
	m.host.lost = on_lost;
	m.host.signal = on_signal;
	skep_mock_option(&m, "nvml_library", library);
	skep_mock_option(&m, "accounting", "false");
	skep_mock_option(&m, "sysfs", dir);
	assert_int_equal(skep_mock_start(&m), 0);
	assert_false(probe()->nvml->gpus[0].accounting);
	assert_int_equal(signal_of("gpu.accounting"), SKEP_SIGNAL_OFF);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void gpm_by_interval(void **state)
{
	static const char text[] = DEVICE
		"set gpm 1\nset gpm_gfx 75\nset gpm_sm 50\nset gpm_tensor 25\nset gpm_dram 10\nset gpm_pcie_tx 2\n";

	(void)state;
	begin(text, library);
	pass(text);
	assert_int_equal(reported.n[STREAM_ACTIVITY], 1);
	near(reported.activity[0].sm * 1000, 500);
	near(reported.activity[0].tensor * 1000, 250);
	near(reported.activity[0].pcie_tx, 2 * 1048576);
	assert_true(isnan(reported.activity[0].fp64)); /* only this value is refused */
	assert_string_equal(reported.how[0], "gpm");
	near(reported.device[0].busy_ns, 7.5e8);
	near(reported.device[0].pcie_tx, 2 * 1048576);
	assert_int_equal(signal_of("gpu.activity"), SKEP_SIGNAL_OK);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void mig_instances(void **state)
{
	static const char text[] = DEVICE
		"set gpm 1\nrefuse util 3\nrefuse shares 3\ninstance MIG-1 3 0\nset gpm_gfx 40\nset mem_total 10000\n"
		"set mem_used 100\nrefuse util 3\nrefuse shares 3\nholder 500 64\n"
		"instance MIG-2 4 0\nset gpm_gfx 0\nset mem_total 10000\nrefuse util 3\nrefuse shares 3\n";

	(void)state;
	begin(text, library);
	pass(text);
	assert_int_equal(reported.n[STREAM_DEVICE], 3);
	assert_string_equal(reported.device_id[1], "MIG-1");
	assert_string_equal(reported.parent_id[1], "GPU-A");
	assert_int_equal(reported.device[1].gpu_instance, 3);
	near(reported.device[1].busy_ns, 4e8);
	near(reported.device[1].memory_limit, 10000);
	assert_true(isnan(reported.device[1].power)); /* the device's record has it */
	near(reported.device[0].power * 1000, 250500);
	assert_true(isnan(reported.device[0].busy_ns));
	near(use_of(500)->busy_ns, 4e8); /* alone in its MIG instance */
	assert_int_equal(reported.n[STREAM_ACTIVITY], 2);
	assert_int_equal(signal_of("gpu.mig"), SKEP_SIGNAL_OK);
	/* the administrator changes the partition into instances */
	pass(DEVICE "set gpm 1\ninstance MIG-2 4 0\nset gpm_gfx 0\n");
	assert_int_equal(reported.n[STREAM_DEVICE], 2);
	assert_string_equal(reported.device_id[1], "MIG-2");
	assert_int_equal(skep_mock_end(&m), 0);
}

static void an_xid(void **state)
{
	(void)state;
	begin(DEVICE, library);
	pass(DEVICE "event 8 79\nevent 2 0\n");
	assert_int_equal(reported.n[STREAM_EVENT], 2);
	assert_int_equal(reported.event[0].code, 79);
	assert_memory_equal(reported.event[0].kind.ptr, "xid", 3);
	assert_memory_equal(reported.event[1].kind.ptr, "ecc_double", 10);
	assert_memory_equal(reported.event[0].id.ptr, "GPU-A", 5);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void wide_lists_from_the_library(void **state)
{
	(void)state;
	begin(DEVICE "stride 32\nholder 100 5\nholder 101 6\n", library);
	pass(DEVICE "stride 32\nholder 100 5\nholder 101 6\n");
	assert_int_equal(use_of(101)->memory_bytes, 6);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void an_old_library(void **state)
{
	(void)state;
	begin("device GPU-O\nset util 42\nset mem_total 100\nset mem_used 60\n", old_library);
	pass(NULL);
	near(reported.device[0].utilization * 1000, 420);
	near(reported.device[0].memory_used, 60);
	assert_true(isnan(reported.device[0].memory_reserved));
	assert_true(isnan(reported.device[0].power));
	assert_true(isnan(reported.device[0].processes));
	assert_int_equal(signal_of("gpu.utilization"), SKEP_SIGNAL_OK);
	assert_int_equal(signal_of("gpu.power"), SKEP_SIGNAL_MISSING);
	assert_string_equal(why_of("gpu.power"), "this version of the library does not have it");
	assert_int_equal(signal_of("gpu.xid"), SKEP_SIGNAL_MISSING);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void no_library(void **state)
{
	uint64_t before = skep_boot_ns();

	(void)state;
	begin("", "/nonexistent/libnvidia-ml.so.1");
	assert_int_equal(signal_of("gpu.utilization"), SKEP_SIGNAL_MISSING);
	assert_non_null(strstr(why_of("gpu.utilization"), "/nonexistent/libnvidia-ml.so.1"));
	m.plugin->sample(m.instance, m.state);
	assert_true(reported.drained_ns >= before); /* the core does not wait for a probe without a device */
	m.plugin->flush(m.instance, m.state);
	assert_int_equal(skep_mock_end(&m), 0);
	begin("", "libm.so.6"); /* a library without NVML's functions */
	assert_non_null(strstr(why_of("gpu.utilization"), "not NVML"));
	assert_int_equal(skep_mock_end(&m), 0);
}

static void a_driver_that_comes_later(void **state)
{
	(void)state;
	begin("init 9\n", library);
	assert_string_equal(why_of("gpu.memory"), "nvmlInit: Driver Not Loaded");
	write_file(script, DEVICE);
	m.plugin->sample(m.instance, m.state); /* the probe does not try again so soon */
	assert_false(probe()->nvml->up);
	probe()->retry_ns = 0;
	m.plugin->sample(m.instance, m.state);
	assert_true(probe()->nvml->up);
	assert_int_equal(signal_of("gpu.memory"), SKEP_SIGNAL_OK);
	pass(NULL);
	assert_int_equal(reported.n[STREAM_DEVICE], 1);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void a_device_that_goes(void **state)
{
	(void)state;
	begin(DEVICE "device GPU-B\n", library);
	pass(NULL);
	assert_int_equal(reported.n[STREAM_DEVICE], 2);
	pass(DEVICE);
	assert_int_equal(reported.n[STREAM_DEVICE], 1);
	pass(DEVICE "device GPU-C\n"); /* its first pass is its baseline */
	assert_int_equal(reported.n[STREAM_DEVICE], 1);
	pass(NULL);
	assert_int_equal(reported.n[STREAM_DEVICE], 2);
	assert_string_equal(reported.device_id[1], "GPU-C");
	assert_int_equal(skep_mock_end(&m), 0);
}

/* An excluded process's use is counted as excluded and not reported; no pass begins twice. */
static void unknown_and_late(void **state)
{
	(void)state;
	begin(DEVICE "holder 100 5\n", library);
	reported.unknown_pid = 100;
	pass(NULL);
	assert_int_equal(reported.n[STREAM_USE], 0);
	assert_int_equal(skep_mock_counter(&m, "uses_unknown"), 1);
	probe()->passing = true;
	m.plugin->sample(m.instance, m.state);
	assert_int_equal(skep_mock_counter(&m, "passes_late"), 1);
	m.plugin->flush(m.instance, m.state);
	assert_true(probe()->again);
	probe()->passing = false;
	assert_int_equal(skep_mock_end(&m), 0);
}

/* ---- DRM ---------------------------------------------------------------------------------------- */

static char at[256];

static const char *path(const char *rest)
{
	snprintf(at, sizeof(at), "%s/%s", dir, rest);
	return at;
}

static void make_dirs(const char *rest)
{
	char copy[256];

	snprintf(copy, sizeof(copy), "%s/%s", dir, rest);
	for (char *c = copy + strlen(dir) + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			mkdir(copy, 0755);
			*c = '/';
		}
	mkdir(copy, 0755);
}

static void fd_of(unsigned pid, unsigned fd, unsigned client, unsigned long long gfx, unsigned long long dma)
{
	char text[512], link[256];

	snprintf(text, sizeof(text), "proc/%u/fd", pid);
	make_dirs(text);
	snprintf(text, sizeof(text), "proc/%u/fdinfo", pid);
	make_dirs(text);
	snprintf(link, sizeof(link), "%s/proc/%u/fd/%u", dir, pid, fd);
	unlink(link);
	assert_int_equal(symlink("/dev/dri/renderD128", link), 0);
	snprintf(link, sizeof(link), "%s/proc/%u/fdinfo/%u", dir, pid, fd);
	snprintf(text, sizeof(text), "pos: 0\ndrm-driver: amdgpu\ndrm-client-id: %u\ndrm-pdev: 0000:0b:00.0\n"
		 "drm-resident-vram: 1024 KiB\ndrm-engine-gfx: %llu ns\ndrm-engine-dma: %llu ns\n", client, gfx, dma);
	write_file(link, text);
}

static void drm_clients(void **state)
{
	char procfs[128], sysfs[128];
	struct tally *t = tally_new();
	struct drm_state *s;
	uint64_t before, cut;

	(void)state;
	make_dirs("proc/self");
	make_dirs("sys/class/drm/card0");
	make_dirs("sys/class/drm/card0-HDMI-A-1");
	make_dirs("sys/devices/0000:0b:00.0/hwmon/hwmon3");
	make_dirs("sys/drivers/amdgpu");
	make_dirs("sys/class/drm/card1");
	make_dirs("sys/devices/vgem");
	make_dirs("sys/drivers/faux_driver");
	assert_int_equal(symlink("../../../devices/0000:0b:00.0", path("sys/class/drm/card0/device")), 0);
	assert_int_equal(symlink("../../drivers/amdgpu", path("sys/devices/0000:0b:00.0/driver")), 0);
	write_file(path("sys/devices/0000:0b:00.0/gpu_busy_percent"), "37\n");
	snprintf(procfs, sizeof(procfs), "%s/proc", dir);
	snprintf(sysfs, sizeof(sysfs), "%s/sys", dir);
	s = drm_new(procfs, sysfs, 1000);
	assert_non_null(s);
	drm_cards_find(s);
	assert_int_equal(s->n_cards, 1);
	assert_int_equal(symlink("../../../devices/vgem", path("sys/class/drm/card1/device")), 0);
	assert_int_equal(symlink("../../drivers/faux_driver", path("sys/devices/vgem/driver")), 0);
	write_file(path("sys/devices/0000:0b:00.0/mem_info_vram_used"), "1000\n");
	write_file(path("sys/devices/0000:0b:00.0/mem_info_vram_total"), "16000\n");
	write_file(path("sys/devices/0000:0b:00.0/hwmon/hwmon3/power1_average"), "45000000\n");
	write_file(path("sys/devices/0000:0b:00.0/hwmon/hwmon3/temp1_input"), "51000\n");
	assert_non_null(t);
	fd_of(10, 3, 1, 1000000, 0);
	fd_of(10, 4, 1, 1000000, 0); /* dup: the same client */
	fd_of(11, 3, 1, 1000000, 0); /* inherited: the same client */
	fd_of(12, 5, 2, 5000000000ull, 70);
	drm_pass(s, t, 1000000000);
	assert_true(s->present);
	for (uint32_t i = 0; i < t->n; i++)
		assert_int_equal(t->entries[i].use.busy_ns, 0); /* the baseline */
	tally_clear(t);
	fd_of(10, 3, 1, 401000000, 0);
	fd_of(10, 4, 1, 401000000, 0);
	fd_of(11, 3, 1, 401000000, 0);
	fd_of(12, 5, 2, 5000000000ull, 1070);
	fd_of(13, 3, 3, 250000000, 0); /* opened since the last pass */
	drm_pass(s, t, 2000000000);
	assert_int_equal(tally_of(t, 10)->use.busy_ns + tally_of(t, 11)->use.busy_ns, 400000000);
	assert_int_equal(tally_of(t, 10)->use.memory_bytes + tally_of(t, 11)->use.memory_bytes, 1024 * 1024);
	assert_int_equal(tally_of(t, 12)->use.busy_ns, 0);
	assert_int_equal(tally_of(t, 12)->use.copy_ns, 1000);
	assert_int_equal(tally_of(t, 12)->use.idle_ns, 0); /* its copy engine ran */
	assert_int_equal(tally_of(t, 13)->use.busy_ns, 250000000);
	near(s->cards[0].record.busy_ns, 650000000);
	assert_memory_equal(s->cards[0].record.busy_how.ptr, "fdinfo", 6);
	assert_memory_equal(s->cards[0].record.vendor.ptr, "AMD", 3);
	near(s->cards[0].record.memory_used, 1000);
	near(s->cards[0].record.power, 45);
	near(s->cards[0].record.temperature, 51);
	assert_true(isnan(s->cards[0].record.power_limit));
	assert_true(s->cards[0].reported);
	assert_int_equal(s->n_cards, 2);
	assert_false(s->cards[1].reported); /* the card has no use to report */
	assert_int_equal(s->n_clients, 3);
	tally_clear(t);
	assert_int_equal(unlink(path("proc/12/fd/5")), 0); /* closed */
	drm_pass(s, t, 3000000000);
	assert_int_equal(s->n_clients, 2);
	assert_int_equal(tally_of(t, 10)->use.idle_ns + tally_of(t, 11)->use.idle_ns, 1000000000);
	/* a pass reads a bounded number of processes: the next pass reads the rest */
	s->n_known = 0;
	s->budget = 1;
	for (int i = 0; i < 4; i++) {
		tally_clear(t);
		drm_pass(s, t, 4000000000ull + (unsigned)i * 1000000000ull);
	}
	assert_int_equal(s->n_known, 3);
	/* a link in /dev/dri to a device that is not DRM: its process holds no card */
	fd_of(14, 3, 9, 0, 0);
	write_file(path("proc/14/fdinfo/3"), "pos: 0\nflags: 0\n");
	s->budget = 10;
	tally_clear(t);
	drm_pass(s, t, 9000000000ull);
	assert_int_equal(s->n_known, 3);
	/* a process with many descriptors uses only its share of a pass, and the probe still reads the others */
	for (unsigned fd = 100; fd < 1000; fd++) {
		snprintf(procfs, sizeof(procfs), "proc/10/fd/%u", fd);
		assert_int_equal(symlink("/dev/null", path(procfs)), 0);
	}
	snprintf(procfs, sizeof(procfs), "%s/proc", dir);
	before = s->fds_read;
	cut = s->cut;
	tally_clear(t);
	drm_pass(s, t, 10000000000ull);
	assert_in_range(s->fds_read - before, 10, 40);
	assert_int_equal(s->cut, cut + 1);
	assert_int_equal(tally_of(t, 13)->use.devices, 1);
	/* all together use at most eight times the budget: each process has its turn */
	for (unsigned pid = 20; pid < 40; pid++)
		fd_of(pid, 3, pid, 0, 0);
	s->budget = 5000; /* the search goes by pid, unlike readdir() on this folder: all in one pass */
	for (unsigned i = 0; i < 2; i++)
		drm_pass(s, t, 11000000000ull + i * 1000000ull);
	assert_int_equal(s->n_known, 23);
	assert_int_equal(unlink(path("proc/10/fd/3")), 0);
	assert_int_equal(unlink(path("proc/10/fd/4")), 0);
	s->budget = 2;
	for (unsigned i = 0, seen = 0; i < 4; i++) {
		tally_clear(t);
		drm_pass(s, t, 12000000000ull + i * 1000000000ull);
		assert_in_range(s->n_known, 22, 23);
		seen += t->n;
		assert_true(i < 3 || seen >= 22);
	}
	/* a client that a pass left out begins no second time at zero: no engine has run since */
	assert_int_equal(unlink(path("proc/14/fd/3")), 0);
	for (unsigned fd = 100; fd < 1000; fd++) {
		snprintf(procfs, sizeof(procfs), "proc/10/fd/%u", fd);
		assert_int_equal(unlink(path(procfs)), 0);
	}
	snprintf(procfs, sizeof(procfs), "%s/proc", dir);
	s->budget = 4;
	for (unsigned i = 0; i < 8; i++) {
		tally_clear(t);
		drm_pass(s, t, 20000000000ull + i * 1000000000ull);
		for (uint32_t k = 0; i && k < t->n; k++)
			assert_int_equal(t->entries[k].use.busy_ns, 0);
	}
	/* nor does one for whose process the tally had no room, and it takes no room among the clients meanwhile */
	s->budget = 5000;
	for (unsigned i = 0; i < 4; i++) {
		tally_clear(t);
		for (uint32_t pid = 1000; (i == 1 || i == 2) && t->n < TALLY_ROOM; pid++)
			assert_non_null(tally_of(t, pid));
		drm_pass(s, t, 30000000000ull + i * 1000000000ull);
		assert_int_equal(s->n_clients, i == 1 || i == 2 ? 0 : 22);
	}
	assert_in_range(t->n, 22, 23);
	for (uint32_t k = 0; k < t->n; k++)
		assert_int_equal(t->entries[k].use.busy_ns, 0);
	drm_free(s);
	free(t);
}

/* In a pid namespace of its own, where the pid that a driver gives belongs to another process on the host. */
static void own_pid_namespace(void **state)
{
	const struct skep_detail_scope scope = { .size = sizeof(scope), .kind = SKEP_SCOPE_PID, .value = 10, .id = 1 };
	char procfs[128];

	(void)state;
	make_dirs("ownns/self/ns");
	assert_int_equal(symlink("pid:[4026532441]", path("ownns/self/ns/pid")), 0);
	snprintf(procfs, sizeof(procfs), "%s/ownns", dir);
	own_procfs = procfs;
	begin(DEVICE "holder 10 100\n", library);
	own_procfs = NULL;
	pass(NULL);
	assert_int_equal(reported.n[STREAM_USE], 0);
	assert_true(skep_mock_counter(&m, "uses_unknown") > 0);
	assert_int_equal(signal_of("gpu.processes"), SKEP_SIGNAL_PARTIAL);
	assert_non_null(strstr(why_of("gpu.processes"), "--pid=host"));
	assert_int_equal(signal_of("gpu.cuda"), SKEP_SIGNAL_MISSING);
	assert_int_equal(m.plugin->attach(m.instance, m.state, 0, &scope), -ENOTSUP);
	assert_int_equal(skep_mock_end(&m), 0);
}

static void rings_that_stopped(void **state)
{
	struct hooks *h = calloc(1, sizeof(*h));

	(void)state;
	assert_non_null(h);
	h->n_rings = RINGS_ROOM;
	for (uint32_t i = 0; i < RINGS_ROOM; i++) {
		snprintf(h->rings[i].key.name, sizeof(h->rings[i].key.name), "ccs%u", i);
		h->rings[i].active_ns = i < 100 ? 0 : 40000000000u;
	}
	hooks_rings_forget(h, -1, 59000000000u); /* all of them were used within a minute */
	assert_int_equal(h->n_rings, RINGS_ROOM);
	hooks_rings_forget(h, -1, 70000000000u);
	assert_int_equal(h->n_rings, RINGS_ROOM / 2); /* the probe drops only as many as necessary */
	for (uint32_t i = 0, kept = 0; i < h->n_rings; i++) {
		kept += h->rings[i].active_ns > 0;
		assert_true(i + 1 < h->n_rings || kept == RINGS_ROOM - 100);
	}
	free(h);
}

/* ---- libcuda, as its process's owner may present it ---------------------------------------------- */

/* The copy's header of the table of dynamic symbols, or (linked) of their names. */
static ElfW(Shdr) *dynamic_header(unsigned char *file, bool linked)
{
	const ElfW(Ehdr) *h = (const ElfW(Ehdr) *)file;
	ElfW(Shdr) *sections = (ElfW(Shdr) *)(file + h->e_shoff);
	unsigned i = 0;

	while (sections[i].sh_type != SHT_DYNSYM)
		i++;
	return &sections[linked ? sections[i].sh_link : i];
}

/* What the function answers about the first n bytes of that file. */
static int symbols_of(const unsigned char *file, size_t n)
{
	struct cuda_symbol symbol = { .name = "nvmlShutdown" };
	int fd = memfd_create("library", MFD_CLOEXEC), found;

	assert_true(fd >= 0 && write(fd, file, n) == (ssize_t)n);
	found = cuda_symbols(fd, &symbol, 1);
	assert_true(found < 1 || symbol.offset > 0);
	close(fd);
	return found;
}

static void libraries(void **state)
{
	int fd = open(library, O_RDONLY | O_CLOEXEC);
	unsigned char *file;
	struct stat st;
	ElfW(Ehdr) *h;

	(void)state;
	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	file = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_true(file != MAP_FAILED);
	h = (ElfW(Ehdr) *)file;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), 1);
	for (size_t n = 0; n < (size_t)st.st_size; n += 97)
		assert_true(symbols_of(file, n) <= 1);
	dynamic_header(file, false)->sh_size = UINT64_MAX;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -E2BIG);
	dynamic_header(file, false)->sh_size = 24 * 60000;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -ENOEXEC); /* behind the end of the file */
	dynamic_header(file, false)->sh_size = 24;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), 0);
	dynamic_header(file, true)->sh_size = UINT64_MAX / 2;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -E2BIG);
	dynamic_header(file, false)->sh_link = UINT32_MAX;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -ENOENT);
	h->e_shoff = UINT64_MAX - 10;
	assert_true(symbols_of(file, (size_t)st.st_size) < 0);
	h->e_shnum = 65000;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -E2BIG);
	h->e_shnum = 0;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -ENOENT);
	h->e_phoff = UINT64_MAX - 10;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -ENOEXEC);
	h->e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(symbols_of(file, (size_t)st.st_size), -ENOEXEC);
	munmap(file, (size_t)st.st_size);
	close(fd);
}

/* Looks for libcuda in process 10, which maps the file at that path. */
static int find_mapped(const char *line)
{
	char found[CUDA_PATH_MAX], procfs[128];
	int fd = -1, err;

	write_file(path("lib/10/maps"), line);
	snprintf(procfs, sizeof(procfs), "%s/lib", dir);
	err = cuda_find(procfs, 10, "libcuda.so", found, sizeof(found), &fd);
	assert_int_equal(err == 0, fd >= 0);
	if (fd >= 0)
		close(fd);
	return err;
}

static void mappings(void **state)
{
	char line[4096];
	struct stat st;
	FILE *f;

	(void)state;
	make_dirs("lib/10/map_files");
	assert_int_equal(symlink("/", path("lib/10/root")), 0);
	write_file(path("libcuda.so.1"), "x");
	assert_int_equal(stat(path("libcuda.so.1"), &st), 0);
	snprintf(line, sizeof(line), "1000-2000 r-xp 00000000 fe:00 %llu   %s\n", (unsigned long long)st.st_ino,
		 path("libcuda.so.1"));
	assert_int_equal(find_mapped(line), 0);
	/* replaced since the mapping: another file has that path, and map_files has none */
	snprintf(line, sizeof(line), "1000-2000 r-xp 00000000 fe:00 %llu   %s\n", (unsigned long long)st.st_ino + 1,
		 path("libcuda.so.1"));
	assert_int_equal(find_mapped(line), -ENOENT);
	/* a FIFO under both names: opening it would wait for a writer */
	assert_int_equal(mkfifo(path("libcuda.so.2"), 0600), 0);
	snprintf(line, sizeof(line), "%s/libcuda.so.2", dir);
	assert_int_equal(symlink(line, path("lib/10/map_files/1000-2000")), 0);
	snprintf(line, sizeof(line), "1000-2000 r-xp 00000000 fe:00 0   %s\n", path("libcuda.so.2"));
	assert_int_equal(find_mapped(line), -ENOEXEC);
	/* the rest of a path that is too long is not another line */
	memset(line, 'a', sizeof(line));
	snprintf(line + CUDA_PATH_MAX + 127, 512, "1000-2000 r-xp 00000000 fe:00 0   %s\n", path("libcuda.so.1"));
	memcpy(line, "1000-2000 r-xp 00000000 fe:00 0   /", 35);
	assert_int_equal(find_mapped(line), -ENOENT);
	/* more mappings than the probe reads */
	f = fopen(path("lib/10/maps"), "w");
	assert_non_null(f);
	for (unsigned i = 0; i < 200000; i++)
		fprintf(f,
			"%08x-%08x r-xp 00000000 fe:00 1   /usr/lib/x86_64-linux-gnu/a/library/with/a/long/name/libother.so\n",
			i, i + 1);
	fclose(f);
	snprintf(line, sizeof(line), "%s/lib", dir);
	{
		char found[CUDA_PATH_MAX];
		int fd = -1;

		assert_int_equal(cuda_find(line, 10, "libcuda.so", found, sizeof(found), &fd), -E2BIG);
		assert_int_equal(cuda_find(line, 11, "libcuda.so", found, sizeof(found), &fd), -ESRCH);
	}
}

/* ---- setting up ------------------------------------------------------------------------------------ */

static int set_up(void **state)
{
	const char *build = getenv("abs_builddir");

	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_gpu.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	snprintf(script, sizeof(script), "%s/script", dir);
	snprintf(library, sizeof(library), "%s/tests/gpu/standin_nvml.so", build ? build : ".");
	snprintf(old_library, sizeof(old_library), "%s/tests/gpu/standin_nvml_old.so", build ? build : ".");
	/* The test keeps the stand-in open, so its settings outlive the probe's dlclose(). */
	if (!dlopen(library, RTLD_NOW | RTLD_LOCAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	return setenv("STANDIN_NVML", script, 1);
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command); /* NOLINT: the command removes the test's own folder */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fdinfo_amdgpu),
		cmocka_unit_test(fdinfo_xe),
		cmocka_unit_test(fdinfo_bad),
		cmocka_unit_test(small_decoders),
		cmocka_unit_test(list_of_wide_entries),
		cmocka_unit_test(lives_are_forgotten_and_found),
		cmocka_unit_test(totals_add_what_is_missing),
		cmocka_unit_test(device_numbers),
		cmocka_unit_test(a_counter_that_starts_again),
		cmocka_unit_test(samples_before_rates),
		cmocka_unit_test(shares_add_up),
		cmocka_unit_test(held_but_idle),
		cmocka_unit_test(not_known_is_not_idle),
		cmocka_unit_test(a_process_between_two_passes),
		cmocka_unit_test(accounting_is_put_back),
		cmocka_unit_test(gpm_by_interval),
		cmocka_unit_test(mig_instances),
		cmocka_unit_test(an_xid),
		cmocka_unit_test(wide_lists_from_the_library),
		cmocka_unit_test(an_old_library),
		cmocka_unit_test(no_library),
		cmocka_unit_test(a_driver_that_comes_later),
		cmocka_unit_test(a_device_that_goes),
		cmocka_unit_test(unknown_and_late),
		cmocka_unit_test(own_pid_namespace),
		cmocka_unit_test(rings_that_stopped),
		cmocka_unit_test(libraries),
		cmocka_unit_test(mappings),
		cmocka_unit_test(drm_clients),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
