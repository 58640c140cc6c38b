/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/gpu/nvml_lib.c - opens NVIDIA's management library where it is installed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nvml_api.h"

#define SYMBOL_MAX 64

/* "newer|older": the first that the library has. Both have the same arguments. */
static void *find(void *handle, const char *symbols)
{
	while (*symbols) {
		size_t n = strcspn(symbols, "|");
		char name[SYMBOL_MAX];
		void *at;

		if (n >= sizeof(name))
			return NULL;
		memcpy(name, symbols, n);
		name[n] = '\0';
		at = dlsym(handle, name);
		if (at)
			return at;
		symbols += n + (symbols[n] == '|');
	}
	return NULL;
}

/* ISO C has no cast from a data pointer to a function's; POSIX says that both have the same representation. */
#define RESOLVE(member_, symbol_, args_)                         \
	do {                                                     \
		void *at_ = find(lib->handle, symbol_);          \
		memcpy(&lib->member_, &at_, sizeof(at_));        \
	} while (0);

int nvml_lib_open(struct nvml_lib *lib, const char *path, char *why, size_t why_size)
{
	const char *file = path ? path : "libnvidia-ml.so.1";
	void *at;

	memset(lib, 0, sizeof(*lib));
	lib->handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!lib->handle) {
		const char *error = dlerror();

		if (!error || strstr(error, "No such file"))
			snprintf(why, why_size, "no NVIDIA driver here (%s)", file);
		else
			snprintf(why, why_size, "%s", error);
		return -ENOENT;
	}
	NVML_FUNCTIONS(RESOLVE)
	at = dlsym(lib->handle, "nvmlErrorString");
	memcpy(&lib->error_string, &at, sizeof(at));
	if (!lib->init || !lib->shutdown || !lib->count || !lib->by_index || !lib->uuid) {
		snprintf(why, why_size, "%s has no nvmlInit_v2, nvmlShutdown, nvmlDeviceGetCount_v2, "
			 "nvmlDeviceGetHandleByIndex_v2 or nvmlDeviceGetUUID: older than R319, or not NVML", file);
		nvml_lib_close(lib);
		return -ELIBBAD;
	}
	return 0;
}

void nvml_lib_close(struct nvml_lib *lib)
{
	if (lib->handle)
		dlclose(lib->handle);
	memset(lib, 0, sizeof(*lib));
}

const char *nvml_error(const struct nvml_lib *lib, unsigned int error)
{
	const char *text = lib->error_string ? lib->error_string(error) : NULL;

	return text ? text : "NVML error";
}
