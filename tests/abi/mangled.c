/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/abi/mangled.c - a plugin that does nothing, in several bad ways.
 *
 *   (plain)           "good": sound, until a test patches mangled_variant in a copy of
 *                     the file, by which its descriptor or its open() goes wrong
 *   MANGLED_TRAP      "trap": sound, but running any of its code kills the process: for
 *                     tests that must be refused before it is loaded
 *   MANGLED_NO_ENTRY  "noentry": a note, but no entry function
 *   MANGLED_UNDEFINED "undefined": needs a function that no library has
 */
#include <skep/plugin.h>
#include <stdlib.h>
#include <string.h>

#if defined(MANGLED_TRAP)
#define NAME "trap"
#elif defined(MANGLED_NO_ENTRY)
#define NAME "noentry"
#elif defined(MANGLED_UNDEFINED)
#define NAME "undefined"
#else
#define NAME "good"
#endif

#ifdef MANGLED_NO_ENTRY
/* The macro SKEP_PLUGIN without its function. */
static const struct {
	uint32_t namesz, descsz, type;
	char owner[8];
	struct skep_plugin_note note;
} mangled_note __attribute__((section(SKEP_NOTE_SECTION), used, aligned(4))) = {
	sizeof(SKEP_NOTE_OWNER),
	sizeof(struct skep_plugin_note),
	SKEP_NOTE_TYPE,
	SKEP_NOTE_OWNER,
	{ SKEP_NOTE_MAGIC, SKEP_ABI_MAJOR, SKEP_ABI_MINOR, SKEP_KIND_PROBE, NAME, "1.0" },
};
#else

struct mangled {
	const struct skep_host *host;
	void *memory;
};

/* volatile: the value in the file at run time counts, not the one at compile time. */
#define VARIANT_PREFIX "mangled variant "
static const volatile char mangled_variant[48] = VARIANT_PREFIX "none";

static bool variant_is(const char *name)
{
	const volatile char *p = mangled_variant + sizeof(VARIANT_PREFIX) - 1;

	while (*name && *name == *p) {
		name++;
		p++;
	}
	return *name == *p;
}

#ifdef MANGLED_TRAP
__attribute__((constructor)) static void trap(void)
{
	abort();
}
#endif

#ifdef MANGLED_UNDEFINED
int skep_function_of_no_library(void);
#endif

static int mangled_open(struct skep_instance *inst, void *state, const struct skep_host *host)
{
	struct mangled *mangled = state;

	mangled->host = host;
	mangled->memory = malloc(100);
	if (!mangled->memory)
		return host->fail(inst, -ENOMEM, "out of memory");
	if (variant_is("open fails"))
		return host->fail(inst, -ENODEV, "no such %s on this machine", "device");
	if (variant_is("open mute"))
		return -ENXIO;
#ifdef MANGLED_UNDEFINED
	return skep_function_of_no_library();
#else
	return 0;
#endif
}

static int mangled_start(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
	return 0;
}

static void mangled_stop(struct skep_instance *inst, void *state)
{
	(void)inst;
	(void)state;
}

static void mangled_close(struct skep_instance *inst, void *state)
{
	struct mangled *mangled = state;

	(void)inst;
	free(mangled->memory);
	mangled->memory = NULL;
}

static struct skep_plugin mangled_plugin = {
	.magic = SKEP_NOTE_MAGIC,
	.abi_major = SKEP_ABI_MAJOR,
	.abi_minor = SKEP_ABI_MINOR,
	.size = sizeof(struct skep_plugin),
	.kind = SKEP_KIND_PROBE,
	.name = NAME,
	.version = "1.0",
	.summary = "for tests of the loader",
	.license = "Apache-2.0",
	.state_size = sizeof(struct mangled),
	.open = mangled_open,
	.start = mangled_start,
	.stop = mangled_stop,
	.close = mangled_close,
};

/* The note's function has the name skep_plugin_entry too; ours replaces it, and is the one that is exported. */
#define skep_plugin_entry mangled_plain_entry
#undef SKEP_EXPORT
#define SKEP_EXPORT static
SKEP_PLUGIN(mangled_plugin, SKEP_KIND_PROBE, NAME, "1.0")
#undef skep_plugin_entry

#define EXPORT __attribute__((visibility("default")))
EXPORT const struct skep_plugin *skep_plugin_entry(const struct skep_host *host);
EXPORT const struct skep_plugin *skep_plugin_entry(const struct skep_host *host)
{
	struct skep_plugin *plugin = &mangled_plugin;

	if (variant_is("no descriptor"))
		return NULL;
	if (variant_is("other magic"))
		plugin->magic = 0x12345678;
	if (variant_is("other minor"))
		plugin->abi_minor++;
	if (variant_is("other kind"))
		plugin->kind = SKEP_KIND_SINK;
	if (variant_is("other name"))
		plugin->name = "somebody";
	if (variant_is("other version"))
		plugin->version = "9.9";
	if (variant_is("too short"))
		plugin->size = offsetof(struct skep_plugin, drain);
	if (variant_is("no start"))
		plugin->start = NULL;
	if (variant_is("huge state"))
		plugin->state_size = 17u << 20;
	return mangled_plain_entry(host);
}
#endif
