/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Texts of /proc/PID/fdinfo of DRM devices, and lines of /proc/PID/maps and kallsyms. The kernel writes them, but users
 * choose names in them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/gpu/cuda.h"
#include "plugins/gpu/drm.h"
#include "plugins/gpu/hooks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), driver[16];
	struct cuda_mapping map;
	struct drm_fdinfo f;

	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	if (drm_fdinfo_parse(text, &f) == 0) {
		if (f.n_engines > DRM_ENGINES || !f.has_client || strlen(f.driver) >= sizeof(f.driver))
			abort();
		for (uint32_t i = 0; i < f.n_engines; i++) {
			if (strlen(f.engines[i].name) >= sizeof(f.engines[i].name))
				abort();
			drm_engine_unit(f.engines[i].name);
		}
	}
	if (cuda_maps_line(text, "libcuda.so", &map) && (map.path[0] != '/' || strlen(map.path) >= sizeof(map.path)))
		abort();
	hooks_driver_of(text, 0xffffffffc0a1b2c0, driver, sizeof(driver));
	free(text);
	return 0;
}
