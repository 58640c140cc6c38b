/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plugins/identity: the hash (vectors of FIPS 180 and RFC 4231), the machine's id, os-release, cpuinfo.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>

#include "plugins/identity/hmac.h"
#include "plugins/identity/identity.h"

static const char *hex(const uint8_t h[SHA256_SIZE])
{
	static char text[2 * SHA256_SIZE + 1];

	for (unsigned i = 0; i < SHA256_SIZE; i++)
		snprintf(text + 2 * i, 3, "%02x", h[i]);
	return text;
}

static void hash(void **state)
{
	static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
	uint8_t h[SHA256_SIZE], key[20];
	char *million = malloc(1000000);

	(void)state;
	skep_sha256("", 0, h);
	assert_string_equal(hex(h), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	skep_sha256("abc", 3, h);
	assert_string_equal(hex(h), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	skep_sha256(two_blocks, sizeof(two_blocks) - 1, h);
	assert_string_equal(hex(h), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
	assert_non_null(million);
	memset(million, 'a', 1000000);
	skep_sha256(million, 1000000, h);
	assert_string_equal(hex(h), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	free(million);

	memset(key, 0x0b, sizeof(key));
	hmac_sha256(key, sizeof(key), "Hi There", 8, h);
	assert_string_equal(hex(h), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, h);
	assert_string_equal(hex(h), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

/*
 * The second value is the output of "systemd-id128 machine-id --app-specific=8d399ba1d158fcf132e6275746c36cb6" on a
 * machine whose /etc/machine-id has the first. The value must never change, or every host gets a new id.
 */
static void machine_id(void **state)
{
	static const char *const bad[] = {
		"",
		"uninitialized",
		"3d1219c7c4c5404aaa1f6d2a48adfda",
		"3d1219c7c4c5404aaa1f6d2a48adfda4a",
		"3d1219c7c4c5404aaa1f6d2a48adfdx4",
		"00000000000000000000000000000000",
	};
	char id[33] = "untouched";

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(identity_machine_id(bad[i], id), -EBADMSG);
	assert_string_equal(id, "untouched");
	assert_int_equal(identity_machine_id("3d1219c7c4c5404aaa1f6d2a48adfda4", id), 0);
	assert_string_equal(id, "f61a9894479d4acabed4afb8f1c3f47a");
}

static void os_release(void **state)
{
	struct identity_os os = { 0 };

	(void)state;
	identity_os_release(
		skep_text_of("PRETTY_NAME=\"A \\\"B\\\" 12\"\nNAME=x\nVERSION_ID='9.3'\n# ID=no\nID=rocky\nID_LIKE=\"rhel\"\nVERSION_CODENAME=z"),
		&os);
	assert_string_equal(os.os, "rocky");
	assert_string_equal(os.version, "9.3");
	assert_string_equal(os.description, "A \"B\" 12");
	identity_os_release(skep_text_of("ID=\nVERSION_ID=\"\nPRETTY_NAME=a\x1b[0mb\n"), &os);
	assert_string_equal(os.os, "");
	assert_string_equal(os.version, "\"");
	assert_string_equal(os.description, "a[0mb"); /* no terminal control character */
}

static void cpuinfo(void **state)
{
	struct identity_machine m = { 0 };

	(void)state;
	identity_cpuinfo(
		skep_text_of("processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
			     "model name\t: Intel(R) Xeon(R) Platinum 8488C\nstepping\t: 8\nflags\t\t: fpu vme hypervisor lahf_lm\n\n"
			     "processor\t: 1\nvendor_id\t: Other\n"),
		&m);
	assert_string_equal(m.vendor, "GenuineIntel");
	assert_string_equal(m.model, "Intel(R) Xeon(R) Platinum 8488C");
	assert_string_equal(m.family, "6");
	assert_string_equal(m.model_id, "143");
	assert_string_equal(m.stepping, "8");
	assert_true(m.guest);

	m = (struct identity_machine){ 0 };
	identity_cpuinfo(
		skep_text_of("processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd40\n"
			     "CPU revision\t: 1\nnonsense\n"),
		&m);
	assert_string_equal(m.vendor, "0x41");
	assert_string_equal(m.model_id, "0xd40");
	assert_string_equal(m.family, "8");
	assert_false(m.guest);
}

static void arch(void **state)
{
	(void)state;
	assert_string_equal(identity_arch("x86_64"), "amd64");
	assert_string_equal(identity_arch("aarch64"), "arm64");
	assert_string_equal(identity_arch("riscv64"), "riscv64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hash),    cmocka_unit_test(machine_id), cmocka_unit_test(os_release),
		cmocka_unit_test(cpuinfo), cmocka_unit_test(arch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
