/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redaction: which words are secrets and which are not, in place, and a second pass changes nothing; generated secrets
 * leave no trace; user tables and their errors.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/identify/redact.h"

/* Words separated by '\x1f', a character that no sample needs. */
#define _ "\x1f"

struct sample {
	const char *before;
	const char *after; /* NULL: unchanged */
};

static struct redact *redact;

static int setup(void **state)
{
	struct diag diag;

	(void)state;
	diag_init(&diag);
	redact = redact_new(NULL, &diag);
	diag_print(&diag, stderr);
	diag_clear(&diag);
	return redact ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	redact = redact_free(redact);
	return 0;
}

static void swap(char *text, size_t len, char from, char to)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] == from)
			text[i] = to;
}

/* On the heap and exactly as long: the sanitizer finds a read behind the list. */
static unsigned run(const struct redact *with, const char *exe, const char *words, char **ret, uint32_t *ret_len)
{
	uint32_t len = (uint32_t)strlen(words) + 1;
	char *list = malloc(len);
	unsigned n;

	assert_non_null(list);
	memcpy(list, words, len);
	swap(list, len, '\x1f', '\0');
	n = redact_argv(with, exe, list, &len);
	*ret = list;
	*ret_len = len;
	return n;
}

static void check(const struct redact *with, const char *exe, const char *before, const char *after)
{
	uint32_t len, again;
	unsigned n;
	char *list, *copy;

	n = run(with, exe, before, &list, &len);
	assert_true(len <= strlen(before) + 1);
	assert_true(len > 0 && list[len - 1] == '\0');
	copy = malloc(len);
	assert_non_null(copy);
	memcpy(copy, list, len);
	swap(copy, len - 1, '\0', '\x1f');
	if (strcmp(copy, after ? after : before) != 0) {
		swap(copy, len - 1, '\x1f', '|');
		fail_msg("'%s' became '%s'", before, copy);
	}
	if ((n > 0) != (after != NULL))
		fail_msg("'%s': %u blanked", before, n);
	again = len;
	memcpy(copy, list, len);
	if (redact_argv(with, exe, list, &again) != 0 || again != len || memcmp(copy, list, len) != 0)
		fail_msg("'%s': a second pass changes it again", before);
	free(copy);
	free(list);
}

static void check_all(const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++)
		check(redact, NULL, samples[i].before, samples[i].after);
}
#define CHECK_ALL(samples) check_all(samples, sizeof(samples) / sizeof((samples)[0]))

static void test_options(void **state)
{
	static const struct sample samples[] = {
		{ "x" _ "--password=hunter2" _ "y", "x" _ "--password=***" _ "y" },
		{ "x" _ "--password" _ "hunter2" _ "y", "x" _ "--password" _ "***" _ "y" },
		{ "x" _ "--Password=hunter2", "x" _ "--Password=***" },
		{ "x" _ "--password=a", "x" _ "--password=*" },
		{ "x" _ "--password=ab", "x" _ "--password=**" },
		{ "x" _ "--password=abc", "x" _ "--password=***" },
		{ "x" _ "--password=", NULL },
		{ "x" _ "--password", NULL },
		{ "x" _ "--password" _ "" _ "y", NULL },
		{ "x" _ "--password" _ "--host" _ "h", NULL },
		{ "x" _ "--password=my secret words" _ "y", "x" _ "--password=***" _ "y" },
		{ "x" _ "--db-password=x1y2" _ "--api-key" _ "k1k2", "x" _ "--db-password=***" _ "--api-key" _ "***" },
		{ "x" _ "--auth-token=t1t2" _ "--access-key-id=AKxx",
		  "x" _ "--auth-token=***" _ "--access-key-id=***" },
		{ "x" _ "--admin-token=abcd" _ "--super-token=abcd" _ "--notepad-token=abcd",
		  "x" _ "--admin-token=***" _ "--super-token=***" _ "--notepad-token=***" },
		{ "x" _ "--client-secret" _ "t1t2", "x" _ "--client-secret" _ "***" },
		{ "java" _ "-storepass" _ "changeit", "java" _ "-storepass" _ "***" },
		{ "kubectl" _ "create" _ "secret" _ "generic" _ "x" _ "--from-literal=a=bcd",
		  "kubectl" _ "create" _ "secret" _ "generic" _ "x" _ "--from-literal=***" },
		{ "docker" _ "build" _ "--build-arg=NPM_TOKEN=abcd" _ ".",
		  "docker" _ "build" _ "--build-arg=NPM_TOKEN=***" _ "." },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_names(void **state)
{
	static const struct sample samples[] = {
		{ "env" _ "PGPASSWORD=hunter2" _ "psql", "env" _ "PGPASSWORD=***" _ "psql" },
		{ "env" _ "AWS_SECRET_ACCESS_KEY=wJalrXUt" _ "aws", "env" _ "AWS_SECRET_ACCESS_KEY=***" _ "aws" },
		{ "env" _ "MY_PASSWORD=two words" _ "x", "env" _ "MY_PASSWORD=***" _ "x" },
		{ "docker" _ "run" _ "-e" _ "GITHUB_TOKEN=abc" _ "-eDB_PASS=abcd" _ "img",
		  "docker" _ "run" _ "-e" _ "GITHUB_TOKEN=***" _ "-eDB_PASS=***" _ "img" },
		{ "env" _ "ADMIN_TOKEN=abcd" _ "LAUNCHPAD_TOKEN=abcd" _ "API_TOKENS=a,bc" _ "x",
		  "env" _ "ADMIN_TOKEN=***" _ "LAUNCHPAD_TOKEN=***" _ "API_TOKENS=***" _ "x" },
		{ "java" _ "-Dspring.datasource.password=abcd" _ "-Dx=y" _ "-jar" _ "a.jar",
		  "java" _ "-Dspring.datasource.password=***" _ "-Dx=y" _ "-jar" _ "a.jar" },
		{ "helm" _ "install" _ "--set" _ "auth.password=abcd",
		  "helm" _ "install" _ "--set" _ "auth.password=***" },
		{ "psql" _ "host=h user=u password=abcd dbname=d", "psql" _ "host=h user=u password=*** dbname=d" },
		{ "psql" _ "host=h password=ab;cd|e dbname=d", "psql" _ "host=h password=*** dbname=d" },
		{ "psql" _ "host=h password='ab cd' dbname=d", "psql" _ "host=h password='***' dbname=d" },
		{ "x" _ "Server=s;Uid=u;Pwd=abcd;Database=d", "x" _ "Server=s;Uid=u;Pwd=***;Database=d" },
		{ "mount" _ "-o" _ "username=u,password=abcd,uid=5" _ "//h/s",
		  "mount" _ "-o" _ "username=u,password=***,uid=5" _ "//h/s" },
		{ "PATH=/x", NULL },
		{ "env" _ "PATH=/x" _ "PWD=/home" _ "SSH_AUTH_SOCK=/tmp/s" _ "PASSWORD_FILE=/run/s" _
		  "TOKENIZERS_PARALLELISM=false",
		  NULL },
		{ "env" _ "MAX_TOKENS=100" _ "OLDPWD=/x" _ "KEY=a", NULL },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_text(void **state)
{
	static const struct sample samples[] = {
		{ "git" _ "clone" _ "https://bob:s3cret@h.org/x.git", "git" _ "clone" _ "https://bob:***@h.org/x.git" },
		{ "x" _ "postgres://u:p@ss@h:5432/d", "x" _ "postgres://u:***@h:5432/d" },
		{ "x" _ "postgres://u:pa/ss@h:5432/d", "x" _ "postgres://u:***@h:5432/d" },
		{ "x" _ "redis://:abcd@h/0", "x" _ "redis://:***@h/0" },
		{ "x" _ "https://h:8080/a@b" _ "https://bob@h/x" _ "git@h:x/y" _ "http://[::1]:80/x@y", NULL },
		{ "x" _ "https://h/x?a=1&token=abcd&b=2", "x" _ "https://h/x?a=1&token=***&b=2" },
		{ "x" _ "https://h/x?X-Amz-Signature=abcd#f", "x" _ "https://h/x?X-Amz-Signature=***#f" },
		{ "x" _ "https://h/x?sig=ab%2Fcd&se=2026", "x" _ "https://h/x?sig=***&se=2026" },
		{ "x" _ "https://h/cb#access_token=abcd", "x" _ "https://h/cb#access_token=***" },
		{ "curl" _ "-d" _ "user=u&password=abcd" _ "h", "curl" _ "-d" _ "user=u&password=***" _ "h" },
		{ "curl" _ "-d" _ "{\"user\":\"u\",\"password\": \"ab\\\"cd\",\"n\":1}",
		  "curl" _ "-d" _ "{\"user\":\"u\",\"password\": \"***\",\"n\":1}" },
		{ "x" _ "{'api_key': 'abcd', 'max_tokens': 100}", "x" _ "{'api_key': '***', 'max_tokens': 100}" },
		{ "x" _ "{\"pin_token\": 12345}", "x" _ "{\"pin_token\": ***}" },
		{ "sh" _ "-c" _ "curl -d \"{\\\"token\\\":\\\"abcd\\\"}\" h",
		  "sh" _ "-c" _ "curl -d \"{\\\"token\\\":\\\"***\\\"}\" h" },
		{ "curl" _ "-H" _ "Authorization: Bearer abcdefgh" _ "h", "curl" _ "-H" _ "Authorization: ***" _ "h" },
		{ "curl" _ "-HX-Api-Key:abcd" _ "h", "curl" _ "-HX-Api-Key:***" _ "h" },
		{ "curl" _ "--header=Cookie: a=b; c=d" _ "h", "curl" _ "--header=Cookie: ***" _ "h" },
		{ "x" _ "Bearer abcdefghij", "x" _ "Bearer ***" },
		{ "x" _ "id=AKIAIOSFODNN7EXAMPLE,x", "x" _ "id=***,x" },
		{ "x" _ "ghp_0123456789abcdefghijABCDEFGHIJ" _ "y", "x" _ "***" _ "y" },
		{ "x" _ "--x=glpat-0123456789abcdefghij" _ "xoxb-123456789012-abc", "x" _ "--x=***" _ "***" },
		{ "x" _ "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_def", "x" _ "***" },
		{ "x" _ "sk-proj-abcdefghij0123456789ABCD", "x" _ "***" },
		{ "x" _ "AKIAIOSFODNN7EXAMPLEX" _ "task-abcdefghij0123456789ABCD" _ "sk-learn-without-any-digit-in-it" _
		  "eyJust-a-long-word-without-dots",
		  NULL },
		{ "mysql" _ "-e" _ "CREATE USER u IDENTIFIED BY 'ab cd'; x",
		  "mysql" _ "-e" _ "CREATE USER u IDENTIFIED BY '***'; x" },
		{ "psql" _ "-c" _ "ALTER USER u PASSWORD 'abcd'", "psql" _ "-c" _ "ALTER USER u PASSWORD '***'" },
		{ "x" _ "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n",
		  "x" _ "-----BEGIN RSA PRIVATE KEY-----***" },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_programs(void **state)
{
	static const struct sample samples[] = {
		{ "mysql" _ "-uroot" _ "-psecret" _ "db", "mysql" _ "-uroot" _ "-p***" _ "db" },
		{ "mysqldump" _ "-upeter" _ "-hpluto" _ "-p" _ "db", NULL },
		{ "sudo" _ "mysqladmin" _ "-psecret" _ "status", "sudo" _ "mysqladmin" _ "-p***" _ "status" },
		{ "mysqladmin" _ "password" _ "secret", "mysqladmin" _ "password" _ "***" },
		{ "sshpass" _ "-p" _ "secret" _ "ssh" _ "-p" _ "22" _ "h",
		  "sshpass" _ "-p" _ "***" _ "ssh" _ "-p" _ "22" _ "h" },
		{ "sshpass" _ "-psecret" _ "scp" _ "-p" _ "a" _ "b", "sshpass" _ "-p***" _ "scp" _ "-p" _ "a" _ "b" },
		{ "curl" _ "-u" _ "bob:secret" _ "h", "curl" _ "-u" _ "bob:***" _ "h" },
		{ "curl" _ "-subob:secret" _ "--user=a:bcd" _ "-U" _ "x:yyy" _ "h",
		  "curl" _ "-subob:***" _ "--user=a:***" _ "-U" _ "x:***" _ "h" },
		{ "curl" _ "-u" _ "bob" _ "-ouser:out" _ "h", NULL },
		{ "curl" _ "-d" _ "token=abcd" _ "h", "curl" _ "-d" _ "token=***" _ "h" },
		{ "wget" _ "--http-password=abcd" _ "--header=X-Auth-Token: abcd" _ "h",
		  "wget" _ "--http-password=***" _ "--header=X-Auth-Token: ***" _ "h" },
		{ "redis-cli" _ "-h" _ "h" _ "-a" _ "abcd" _ "ping", "redis-cli" _ "-h" _ "h" _ "-a" _ "***" _ "ping" },
		{ "redis-cli" _ "AUTH" _ "abcd", "redis-cli" _ "AUTH" _ "***" },
		{ "smbclient" _ "-U" _ "user%pass" _ "//h/s", "smbclient" _ "-U" _ "user%***" _ "//h/s" },
		{ "ldapsearch" _ "-x" _ "-D" _ "cn=w" _ "-w" _ "abcd" _ "-b" _ "dc=x",
		  "ldapsearch" _ "-x" _ "-D" _ "cn=w" _ "-w" _ "***" _ "-b" _ "dc=x" },
		{ "htpasswd" _ "-b" _ "file" _ "user" _ "abcd", "htpasswd" _ "-b" _ "file" _ "user" _ "***" },
		{ "htpasswd" _ "-nbB" _ "user" _ "abcd", "htpasswd" _ "-nbB" _ "user" _ "***" },
		{ "htpasswd" _ "-n" _ "user", NULL },
		{ "openssl" _ "rsa" _ "-passin" _ "pass:abcd" _ "-in" _ "k",
		  "openssl" _ "rsa" _ "-passin" _ "***" _ "-in" _ "k" },
		{ "docker" _ "login" _ "-u" _ "u" _ "-p" _ "abcd" _ "r",
		  "docker" _ "login" _ "-u" _ "u" _ "-p" _ "***" _ "r" },
		{ "docker" _ "run" _ "-p" _ "8080:80" _ "img", NULL },
		{ "docker" _ "login" _ "--password-stdin" _ "r", NULL },
		{ "docker" _ "exec" _ "c" _ "mysql" _ "-pabcd", "docker" _ "exec" _ "c" _ "mysql" _ "-p***" },
		{ "aws" _ "configure" _ "set" _ "aws_secret_access_key" _ "abcd",
		  "aws" _ "configure" _ "set" _ "aws_secret_access_key" _ "***" },
		{ "mongosh" _ "-u" _ "u" _ "-p" _ "abcd" _ "h", "mongosh" _ "-u" _ "u" _ "-p" _ "***" _ "h" },
		{ "7z" _ "a" _ "-pabcd" _ "x.7z" _ "f", "7z" _ "a" _ "-p***" _ "x.7z" _ "f" },
		{ "sqlplus" _ "scott/tiger@db", "sqlplus" _ "scott/***" },
		{ "xfreerdp" _ "/u:me" _ "/p:abcd", "xfreerdp" _ "/u:me" _ "/p:***" },
		{ "lftp" _ "-u" _ "me,abcd" _ "h", "lftp" _ "-u" _ "me,***" _ "h" },
		{ "vault" _ "login" _ "abcd", "vault" _ "login" _ "***" },
		{ "vault" _ "kv" _ "get" _ "x", NULL },
	};

	(void)state;
	CHECK_ALL(samples);
	/* The program is known by its file where argv[0] is different. */
	check(redact, "/usr/bin/mariadb", "db" _ "-psecret", "db" _ "-p***");
	check(redact, "/usr/bin/other", "db" _ "-psecret", NULL);
}

static void test_command_lines(void **state)
{
	static const struct sample samples[] = {
		{ "bash" _ "-c" _ "mysql -psecret; curl https://u:p@h",
		  "bash" _ "-c" _ "mysql -p***; curl https://u:*@h" },
		{ "bash" _ "-lc" _ "PGPASSWORD=abcd psql -h h", "bash" _ "-lc" _ "PGPASSWORD=*** psql -h h" },
		{ "bash" _ "-c" _ "export TOKEN=abcd; x -p 5", "bash" _ "-c" _ "export TOKEN=***; x -p 5" },
		{ "bash" _ "-c" _ "x|mysql -psecret>out 2>&1", "bash" _ "-c" _ "x|mysql -p***>out 2>&1" },
		{ "bash" _ "-c" _ "x --password 'a b' --n 5", "bash" _ "-c" _ "x --password '***' --n 5" },
		{ "bash" _ "-c" _ "x --password=\"a b\" y", "bash" _ "-c" _ "x --password=\"***\" y" },
		{ "bash" _ "-c" _ "curl -H 'Authorization: Bearer abcdefghi' https://h",
		  "bash" _ "-c" _ "curl -H 'Authorization: ***' https://h" },
		{ "bash" _ "-c" _ "curl -u 'a:b c' h", "bash" _ "-c" _ "curl -u 'a:***' h" },
		{ "bash" _ "-c" _ "ssh h 'mysql -psecret'", "bash" _ "-c" _ "ssh h 'mysql -p***'" },
		{ "bash" _ "-c" _ "echo it's; mysql -psecret", "bash" _ "-c" _ "echo it's; mysql -p***" },
		{ "ssh" _ "h" _ "cd x; mysql -psecret", "ssh" _ "h" _ "cd x; mysql -p***" },
		/* perhaps not a shell: blanks the whole word */
		{ "ssh" _ "h" _ "PGPASSWORD=a;b psql", "ssh" _ "h" _ "PGPASSWORD=***" },
		{ "bash" _ "-c" _ "mysql -pa; mkdir -pb", "bash" _ "-c" _ "mysql -p*; mkdir -pb" },
		{ "bash" _ "-c" _ "cp -p mysql.txt x\nmkdir -p d", NULL },
		{ "echo" _ "a sentence about a password, no more" _ "don't", NULL },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_innocent(void **state)
{
	static const struct sample samples[] = {
		{ "x" _ "--token-count" _ "5", NULL },
		{ "x" _ "--max-tokens" _ "100" _ "--max_new_tokens=5", NULL },
		{ "samtools" _ "sort" _ "-p" _ "x", NULL },
		{ "mkdir" _ "-p" _ "dir", NULL },
		{ "cp" _ "-p" _ "a" _ "b", NULL },
		{ "rsync" _ "-a" _ "/var/lib/mysql" _ "/b" _ "-pvz", NULL },
		{ "python" _ "-m" _ "tokenize" _ "x.py", NULL },
		{ "x" _ "--password-file" _ "/run/secrets/p" _ "--token-file=/t" _ "--secret-name" _ "n", NULL },
		{ "x" _ "{\"max_tokens\": 5, \"pad_token\": \"[PAD]\"}", NULL },
		{ "x" _ "--no-password" _ "file" _ "--ask-become-pass" _ "file", NULL },
		{ "gcc" _ "-DPASS1=1" _ "-DTOKENIZER=1" _ "-o" _ "x" _ "x.c", NULL },
		{ "bwa" _ "mem" _ "-R" _ "@RG\tID:1\tSM:a" _ "ref.fa", NULL },
		{ "x" _ "a***b****" _ "*" _ "", NULL },
		{ "", NULL },
		{ "git" _ "commit" _ "-m" _ "the token: it's read", NULL },
		{ "x" _ "s3://b/k?versionId=5" _ "a;b,c&d?e#f", NULL },
	};

	(void)state;
	CHECK_ALL(samples);
}

static void test_borders(void **state)
{
	char cut[] = "x\0--password=hunter2", one[] = "x";
	uint32_t len = sizeof(cut) - 1; /* no NUL at its end, because the kernel side cut it there */

	(void)state;
	assert_int_equal(redact_argv(redact, NULL, cut, &len), 1);
	assert_int_equal(len, sizeof("x\0--password=***") - 1);
	assert_memory_equal(cut, "x\0--password=***", len);
	len = 0;
	assert_int_equal(redact_argv(redact, NULL, NULL, &len), 0);
	assert_int_equal(redact_argv(redact, "", one, &len), 0);
	assert_int_equal(len, 0);
}

/*
 * The shapes of keys as their issuers and lists of secret scanners publish them: a prefix and that many of these
 * characters. The test assembles them, so that no scanner takes this file for a leak.
 */
static void test_published_shapes(void **state)
{
	static const char hex[] = "0123456789abcdef", alnum[] = "aB3dE5fG7hJ9kLmNpQrStUvWxYz",
			  upper[] = "ABC2DEF3GHJ4KLM5NPQ6", url[] = "aB3-E5_G7hJ9kL";
	static const struct {
		const char *prefix, *chars;
		size_t n;
	} shapes[] = {
		{ "AKIA", upper, 16 },
		{ "ASIA", upper, 16 },
		{ "ABIA", upper, 16 },
		{ "ACCA", upper, 16 },
		{ "ABSK", alnum, 120 },
		{ "ghp_", alnum, 36 },
		{ "gho_", alnum, 36 },
		{ "ghu_", alnum, 36 },
		{ "ghs_", alnum, 36 },
		{ "ghr_", alnum, 36 },
		{ "github_pat_", alnum, 82 },
		{ "glpat-", url, 20 },
		{ "glptt-", hex, 40 },
		{ "gldt-", url, 20 },
		{ "glrt-", url, 20 },
		{ "glrt-t1_", url, 27 },
		{ "glft-", url, 20 },
		{ "glffct-", url, 20 },
		{ "glimt-", url, 25 },
		{ "glagent-", url, 50 },
		{ "gloas-", url, 64 },
		{ "glsoat-", url, 20 },
		{ "glcbt-64_", url, 20 },
		{ "GR1348941", url, 20 },
		{ "xoxb-123456789012-", alnum, 24 },
		{ "xoxp-123456789012-", alnum, 30 },
		{ "xoxe-1-", upper, 146 },
		{ "xoxe.xoxp-1-", upper, 163 },
		{ "xoxd-", alnum, 40 },
		{ "xoxc-", alnum, 40 },
		{ "xapp-1-A012345-1234567890-", hex, 64 },
		{ "AIza", url, 35 },
		{ "ya29.", url, 60 },
		{ "GOCSPX-", url, 28 },
		{ "sk-", alnum, 48 },
		{ "sk-proj-", url, 74 },
		{ "sk-ant-api03-", url, 93 },
		{ "sk-or-v1-", hex, 64 },
		{ "hf_", alnum, 34 },
		{ "api_org_", alnum, 34 },
		{ "gsk_", alnum, 52 },
		{ "nvapi-", url, 64 },
		{ "pplx-", alnum, 48 },
		{ "xai-", alnum, 80 },
		{ "r8_", alnum, 37 },
		{ "npm_", alnum, 36 },
		{ "pypi-AgEIcHlwaS5vcmc", url, 60 },
		{ "rubygems_", hex, 48 },
		{ "dckr_pat_", alnum, 27 },
		{ "dckr_oat_", alnum, 32 },
		{ "sk_live_", alnum, 24 },
		{ "sk_test_", alnum, 24 },
		{ "rk_live_", alnum, 24 },
		{ "whsec_", alnum, 32 },
		{ "sq0atp-", url, 22 },
		{ "SG.aB3dE5fG7hJ9kLmNpQrStU.", url, 43 },
		{ "key-", hex, 32 },
		{ "dop_v1_", hex, 64 },
		{ "doo_v1_", hex, 64 },
		{ "dor_v1_", hex, 64 },
		{ "dapi", hex, 32 },
		{ "dp.pt.", alnum, 43 },
		{ "dt0c01.", upper, 24 + 1 + 64 },
		{ "glsa_", alnum, 41 },
		{ "glc_", alnum, 60 },
		{ "eyJrIjoi", alnum, 80 },
		{ "hvs.", url, 90 },
		{ "hvb.", url, 138 },
		{ "shpat_", hex, 32 },
		{ "shpca_", hex, 32 },
		{ "shppa_", hex, 32 },
		{ "shpss_", hex, 32 },
		{ "lin_api_", alnum, 40 },
		{ "figd_", url, 40 },
		{ "ntn_", alnum, 46 },
		{ "pscale_tkn_", url, 43 },
		{ "PMAK-", hex, 59 },
		{ "pnu_", alnum, 36 },
		{ "pul-", hex, 40 },
		{ "rdme_", alnum, 70 },
		{ "xkeysib-", hex, 64 },
		{ "sgp_", hex, 40 },
		{ "sntryu_", hex, 64 },
		{ "sntrys_", alnum, 100 },
		{ "ATATT3", url, 186 },
		{ "ATBB", alnum, 32 },
		{ "NRAK-", upper, 27 },
		{ "HRKU-AA", url, 58 },
		{ "tskey-auth-", alnum, 40 },
		{ "fo1_", url, 43 },
		{ "CCIPAT_", alnum, 40 },
		{ "AKCp", alnum, 69 },
		{ "cmVmd", alnum, 59 },
		{ "sha256~", url, 43 },
		{ "ops_eyJ", alnum, 250 },
		{ "AGE-SECRET-KEY-1", upper, 58 },
	};
	char key[512], before[700], after[100];

	(void)state;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		size_t n = strlen(shapes[i].prefix);

		memcpy(key, shapes[i].prefix, n);
		for (size_t k = 0; k < shapes[i].n; k++)
			key[n++] = shapes[i].chars[k % strlen(shapes[i].chars)];
		key[n] = '\0';
		for (size_t form = 0; form < 4; form++) {
			static const char *const forms[][2] = { { "x" _, _ "y" },
								{ "x" _ "-k" _ "id=", ",z" },
								{ "sh" _ "-c" _ "x '", "' y" },
								{ "x" _ "https://h/p/", "?a=1" } };

			snprintf(before, sizeof(before), "%s%s%s", forms[form][0], key, forms[form][1]);
			snprintf(after, sizeof(after), "%s***%s", forms[form][0], forms[form][1]);
			check(redact, NULL, before, after);
		}
	}
}

static void test_published_places(void **state)
{
	static const struct sample samples[] = {
		{ "ssh-keygen" _ "-t" _ "rsa" _ "-N" _ "abcd" _ "-f" _ "k",
		  "ssh-keygen" _ "-t" _ "rsa" _ "-N" _ "***" _ "-f" _ "k" },
		{ "ssh-keygen" _ "-p" _ "-P" _ "abcd" _ "-Nefgh" _ "-f" _ "k",
		  "ssh-keygen" _ "-p" _ "-P" _ "***" _ "-N***" _ "-f" _ "k" },
		{ "ssh-keygen" _ "-qN" _ "" _ "-t" _ "ed25519" _ "-C" _ "me@PN", NULL },
		{ "git" _ "clone" _ "https://0123456789abcdef0123@h.org/x.git",
		  "git" _ "clone" _ "https://***@h.org/x.git" },
		{ "git" _ "clone" _ "https://0123456789abcdef0123:x-oauth-basic@h.org/x",
		  "git" _ "clone" _ "https://***:***@h.org/x" },
		{ "git" _ "clone" _ "ssh://git@h.org/x" _ "https://somebody@h.org" _ "https://firstname.lastname@h.org",
		  NULL },
		{ "x" _ "--dsn-public" _ "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/2",
		  "x" _ "--dsn-public" _ "https://***@o1.ingest.sentry.io/2" },
		{ "curl" _ "https://api.telegram.org/bot123456789:AAabcdefghijABCDEFGHIJ0123456789abc/getMe",
		  "curl" _ "https://api.telegram.org/bot***" },
		{ "curl" _ "https://hooks.slack.com/services/T0123ABCD/B0123ABCD/abcdefghijklmnopqrstuvwx",
		  "curl" _ "https://hooks.slack.com/services/***" },
		{ "curl" _ "--cert" _ "c.pem:abcd" _ "-E" _ "d.pem:efgh" _ "h",
		  "curl" _ "--cert" _ "c.pem:***" _ "-E" _ "d.pem:***" _ "h" },
		{ "az" _ "--connection-string" _ "AccountName=a;AccountKey=abcd==;E=s",
		  "az" _ "--connection-string" _ "***" },
		{ "x" _ "https://a.blob.core.windows.net/c?sv=2022&se=2026&sp=r&sig=ab%2Bcd%3D",
		  "x" _ "https://a.blob.core.windows.net/c?sv=2022&se=2026&sp=r&sig=***" },
		{ "terraform" _ "apply" _ "-var=db_password=abcd" _ "-var" _ "api_token=abcd",
		  "terraform" _ "apply" _ "-var=db_password=***" _ "-var" _ "api_token=***" },
		{ "ansible-playbook" _ "--extra-vars" _ "ansible_password=abcd x=1",
		  "ansible-playbook" _ "--extra-vars" _ "ansible_password=***" },
		{ "ansible-playbook" _ "-e" _ "{\"ansible_become_pass\": \"abcd\"}",
		  "ansible-playbook" _ "-e" _ "{\"ansible_become_pass\": \"***\"}" },
		{ "kubectl" _ "--token" _ "abcd" _ "get" _ "pods", "kubectl" _ "--token" _ "***" _ "get" _ "pods" },
		{ "wget" _ "--password=abcd" _ "h", "wget" _ "--password=***" _ "h" },
		{ "rclone" _ "--sftp-pass" _ "abcd" _ "ls", "rclone" _ "--sftp-pass" _ "***" _ "ls" },
		{ "x264" _ "--first-pass" _ "1" _ "--two-pass" _ "2", NULL },
		{ "npm" _ "--otp=123456" _ "publish", "npm" _ "--otp=***" _ "publish" },
		{ "npm" _ "config" _ "set" _ "//registry.npmjs.org/:_authToken=abcd",
		  "npm" _ "config" _ "set" _ "//registry.npmjs.org/:_authToken=***" },
		{ "plink" _ "-ssh" _ "-pw" _ "abcd" _ "h", "plink" _ "-ssh" _ "-pw" _ "***" _ "h" },
		{ "gh" _ "secret" _ "set" _ "N" _ "--body" _ "abcd", "gh" _ "secret" _ "set" _ "N" _ "--body" _ "***" },
		{ "gh" _ "pr" _ "create" _ "--body" _ "text", NULL },
		{ "mc" _ "alias" _ "set" _ "m" _ "https://h" _ "key" _ "abcd",
		  "mc" _ "alias" _ "set" _ "m" _ "https://h" _ "key" _ "***" },
		{ "rabbitmqctl" _ "add_user" _ "u" _ "abcd", "rabbitmqctl" _ "add_user" _ "u" _ "***" },
		{ "poetry" _ "config" _ "pypi-token.pypi" _ "abcd", "poetry" _ "config" _ "pypi-token.pypi" _ "***" },
		{ "cqlsh" _ "-u" _ "u" _ "-p" _ "abcd" _ "h", "cqlsh" _ "-u" _ "u" _ "-p" _ "***" _ "h" },
		{ "fence_ipmilan" _ "-a" _ "h" _ "-l" _ "u" _ "-p" _ "abcd",
		  "fence_ipmilan" _ "-a" _ "h" _ "-l" _ "u" _ "-p" _ "***" },
		{ "pdftotext" _ "-upw" _ "abcd" _ "f.pdf", "pdftotext" _ "-upw" _ "***" _ "f.pdf" },
		{ "pdftk" _ "a.pdf" _ "output" _ "b.pdf" _ "user_pw" _ "abcd",
		  "pdftk" _ "a.pdf" _ "output" _ "b.pdf" _ "user_pw" _ "***" },
		{ "winexe" _ "-U" _ "d/u%abcd" _ "//h" _ "cmd", "winexe" _ "-U" _ "d/u%***" _ "//h" _ "cmd" },
		{ "env" _ "SSHPASS=abcd" _ "AZURE_DEVOPS_EXT_PAT=abcd" _ "x",
		  "env" _ "SSHPASS=***" _ "AZURE_DEVOPS_EXT_PAT=***" _ "x" },
		{ "curl" _ "-H" _ "Ocp-Apim-Subscription-Key: abcd" _ "h",
		  "curl" _ "-H" _ "Ocp-Apim-Subscription-Key: ***" _ "h" },
		{ "x" _ "Basic dXNlcjpwYXNzMQ==", "x" _ "Basic ***" },
		{ "x" _ "Basic configuration of it" _ "key-value" _ "pul-request" _ "ops_team_of_ours_and_theirs" _
		  "npm_package_without_digits_here",
		  NULL },
		{ "x" _ "monkey-0123456789abcdef0123456789abcdef" _ "s3://bucket/sgp_/x" _ "dapibus" _ "ASIA", NULL },
	};

	(void)state;
	CHECK_ALL(samples);
}

/* ---- generated secrets --------------------------------------------------------------- */

static uint64_t seed;

static unsigned draw(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

/* Each secret contains "Zq", and nothing else does. */
static void secret(char *ret)
{
	static const char chars[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXY0123456789_-";
	size_t n = 0, front = draw(12), back = 4 + draw(40);

	while (n < front)
		ret[n++] = chars[draw(sizeof(chars) - 3)]; /* not '-' first: that would be an option */
	ret[n++] = 'Z';
	ret[n++] = 'q';
	for (; back > 0; back--)
		ret[n++] = chars[draw(sizeof(chars) - 1)];
	ret[n] = '\0';
}

static const char *const secret_words[] = {
	"--password=%s",
	"--password" _ "%s",
	"--db-passwd=%s",
	"--auth-token" _ "%s",
	"--api-key=%s",
	"DB_PASSWORD=%s",
	"GITHUB_TOKEN=%s",
	"-Ddb.password=%s",
	"https://user:%s@host/p",
	"https://h/p?x=1&access_token=%s&y=2",
	"Authorization: Bearer %s",
	"X-Api-Key: %s",
	"Cookie: a=%s; b=%s",
	"{\"password\": \"%s\"}",
	"{\"k\":1,\"api_key\":\"%s\",\"z\":2}",
	"mysql" _ "-uroot" _ "-p%s",
	"curl" _ "-u" _ "me:%s" _ "h",
	"redis-cli" _ "-a" _ "%s",
	"sshpass" _ "-p" _ "%s" _ "ssh" _ "h",
	"sh" _ "-c" _ "mysql -p%s db; ls",
	"sh" _ "-c" _ "X_TOKEN=%s run && curl -u me:%s https://h",
	"ssh" _ "h" _ "curl -H 'Authorization: Basic %s' h",
	"host=h password=%s dbname=d",
	"-e" _ "API_TOKEN=%s",
	"sh" _ "-c" _ "bash -c \"x --token=%s\"",
	"IDENTIFIED BY '%s'",
	"sh" _ "-c" _ "x --password '%s' y",
	"ghp_0123456789abcdefghij0123456789",
	"AKIAIOSFODNN7EXAMPLE",
};
static const char *const other_words[] = {
	"x",         "-v",       "--threads=4", "-o",           "out.bam", "a b c",       "it's",         "--",
	"",          "\"",       "x=y",         "/usr/bin/env", "-p",      "https://h/p", "--max-tokens", "100",
	"don't; do", "samtools", "sort",        "--dry-run",    "?",       "\\",          "a:b",          "$(x)",
	"`y`",       "\t",       "\xc3\xa9",
};

static void test_generated(void **state)
{
	static const char shape[] = "0123456789abcdefghij0123456789", key[] = "AKIAIOSFODNN7EXAMPLE";
	uint32_t len, before, again;
	char value[64], list[4096], copy[4096];

	(void)state;
	seed = 0x9e3779b97f4a7c15ull;
	for (int round = 0; round < 20000; round++) {
		int n = 0, words = 1 + (int)draw(8), wanted = 0, size;
		unsigned counted;

		for (int i = 0; i < words; i++) {
			if (draw(2)) {
				size = snprintf(list + n, sizeof(list) - (size_t)n, "%s" _,
						other_words[draw(sizeof(other_words) / sizeof(other_words[0]))]);
			} else {
				const char *form = secret_words[draw(sizeof(secret_words) / sizeof(secret_words[0]))];
				char word[512], *to = word;

				/* "sh -c" after an option with a value is not a shell: draw again. */
				for (const char *p = form; *p; p++) {
					if (p[0] == '%' && p[1] == 's') {
						secret(value);
						to = stpcpy(to, value);
						p++;
					} else {
						*to++ = *p;
					}
				}
				*to = '\0';
				wanted++;
				size = snprintf(list + n, sizeof(list) - (size_t)n, "run" _ "%s" _, word);
			}
			assert_true(size >= 0 && (size_t)size < sizeof(list) - (size_t)n);
			n += size;
		}
		len = before = (uint32_t)n;
		memcpy(copy, list, len);
		swap(copy, len, '\x1f', '|');
		copy[len] = '\0';
		swap(list, len, '\x1f', '\0');
		counted = redact_argv(redact, "/usr/bin/run", list, &len);
		assert_true(len <= before);
		if (memmem(list, len, "Zq", 2) || memmem(list, len, shape, sizeof(shape) - 1) ||
		    memmem(list, len, key, sizeof(key) - 1)) {
			swap(list, len, '\0', '|');
			fail_msg("round %d: %s\nbecame %.*s", round, copy, (int)len, list);
		}
		assert_true((counted > 0) || wanted == 0);
		/* As many words as before the redaction. */
		again = 0;
		for (uint32_t i = 0; i < len; i++)
			again += list[i] == '\0';
		for (char *p = copy; *p; p++)
			again -= *p == '|';
		assert_int_equal(again, 0);
		memcpy(copy, list, len);
		again = len;
		if (redact_argv(redact, "/usr/bin/run", list, &again) != 0 || again != len ||
		    memcmp(list, copy, len) != 0) {
			swap(copy, len, '\0', '|');
			fail_msg("round %d: a second pass changes %.*s", round, (int)len, copy);
		}
	}
}

/* No step may take time that grows with the square of the length. */
static void test_long(void **state)
{
	static const char *const parts[] = {
		"sk-",
		"eyJ",
		"://a:b@",
		"://a:b/",
		"'",
		"\"",
		"'\"",
		"?a",
		"&token=x",
		"x=",
		":",
		"\"a\":",
		"-",
		"a-",
		"password '",
		"mysql -px ",
		"sh -c '",
		"\\\"",
		"Bearer ",
		"-----BEGIN PRIVATE KEY-----",
		";",
		"(((",
		"token=",
		"a:",
		"AKIA",
		"{\"token\":",
		"\" ",
		" \"",
		"password(  ",
		"npm_-",
		"npm_-sk-",
		"glsa_=",
		"ops_.pul-",
		"eyJrIjoi=",
		"Basic ",
		"dapi-",
		"://aaaaaaaaaaaaaaaaaaa@",
		"hooks.slack.com/services/",
		"xai-gsk_-sk-pul-",
	};
	size_t size = 256 * 1024;
	char *list = malloc(size);

	(void)state;
	assert_non_null(list);
	for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
		size_t n = strlen(parts[k]), used = 0;
		uint32_t len;

		for (; used + n < size; used += n)
			memcpy(list + used, parts[k], n);
		len = (uint32_t)used;
		alarm(200); /* quadratic time would take hours */
		redact_argv(redact, NULL, list, &len);
		assert_true(len <= used);
	}
	alarm(0);
	free(list);
}

/* ---- a user's table --------------------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void test_user_table(void **state)
{
	char file[] = "/tmp/skep-test-redact-XXXXXX";
	const char *more[] = { file, NULL };
	struct redact *mine;
	struct diag diag;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	write_file(file,
		   "{ // ours\n"
		   " \"options\": { \"secret\": [\"--badge\", \"--max-tokens\"], \"public\": [\"--password\"] },\n"
		   " \"names\": { \"secret\": [\"BADGE_*\"] }, \"parameters\": { \"secret\": [\"badge\"] },\n"
		   " \"headers\": { \"secret\": [\"x-badge\"] }, \"phrases\": [\"BADGE NO\"],\n"
		   " \"shapes\": [ { \"prefixes\": [\"badge-\"], \"chars\": \"0-9\", \"min\": 4, \"max\": 6 } ],\n"
		   " \"programs\": [ { \"match\": [\"door*\"], \"value_options\": [\"-b\"] },\n"
		   "   { \"match\": [\"mysql\"] } ] }\n");
	diag_init(&diag);
	mine = redact_new(more, &diag);
	diag_print(&diag, stderr);
	assert_non_null(mine);
	check(mine, NULL, "x" _ "--badge" _ "1234" _ "--max-tokens=5", "x" _ "--badge" _ "***" _ "--max-tokens=*");
	check(mine, NULL, "x" _ "--password=1234", NULL);
	check(mine, NULL, "x" _ "BADGE_X=1234" _ "h?badge=abcd" _ "X-Badge: 1" _ "badge no '12'",
	      "x" _ "BADGE_X=***" _ "h?badge=***" _ "X-Badge: *" _ "badge no '**'");
	check(mine, NULL, "x" _ "badge-12345" _ "badge-123" _ "badge-1234567",
	      "x" _ "***" _ "badge-123" _ "badge-1234567");
	check(mine, NULL, "doorctl" _ "-b" _ "1234" _ "-b99", "doorctl" _ "-b" _ "***" _ "-b**");
	check(mine, NULL, "mysql" _ "-psecret", NULL);
	redact_free(mine);
	diag_clear(&diag);
	unlink(file);
}

static void test_wrong_tables(void **state)
{
	static const struct {
		const char *text;
		int line;
		const char *error;
	} samples[] = {
		{ "{ \"option\": {} }", 1, "unknown key \"option\": did you mean \"options\"?" },
		{ "{ \"options\": { \"secret\": [\n\"--x[\"] } }", 2,
		  "options.secret[0]: \"--x[\": a '[' without its ']'" },
		{ "{ \"names\": { \"secrets\": [] } }", 1, "names: unknown key \"secrets\": did you mean \"secret\"?" },
		{ "{ \"names\": [] }", 1, "names: is an array: give an object" },
		{ "{ \"shapes\": [ { \"prefixes\": [\"x\"] } ] }", 1, "shapes[0]: has no \"chars\"" },
		{ "{ \"shapes\": [ { \"chars\": \"a-z\" } ] }", 1, "shapes[0]: has no \"prefixes\"" },
		{ "{ \"shapes\": [ { \"prefixes\": [\"x\"], \"chars\": \"z-a\" } ] }", 1,
		  "the range z-a goes backwards: write a-z" },
		{ "{ \"shapes\": [ { \"prefixes\": [\"***\"], \"chars\": \"a-z\" } ] }", 1,
		  "a prefix of stars alone matches everything" },
		{ "{ \"shapes\": [ { \"prefixes\": [\"x\"], \"chars\": \"a\", \"min\": 5, \"max\": 4 } ] }", 1,
		  "shapes[0].max: is the integer 4: give a whole number from 5" },
		{ "{ \"programs\": [ { } ] }", 1, "programs[0]: has no \"match\"" },
		{ "{ \"programs\": [ { \"match\": [\"a/b\"] } ] }", 1, "\"a/b\" has a slash" },
		{ "{ \"programs\": [ { \"match\": [\"a\"], \"value_options\": [\"p\"] } ] }", 1,
		  "write it with its dashes, as \"-p\"" },
		{ "{ \"programs\": [ { \"match\": [\"a\"], \"value_options\": [\"-p\"], \"attached_options\": [\"-p\"] } ] }",
		  1, "this program names \"-p\" more than once" },
		{ "{ \"programs\": [ { \"match\": [\"a\"], \"separator\": \"::\" } ] }", 1,
		  "\"::\" is not one character" },
		{ "{ \"programs\": [ { \"match\": [\"a\"], \"secret_operands\": [ { \"with\": \"b\" } ] } ] }", 1,
		  "has no \"index\"" },
		{ "{ \"programs\": [ { \"match\": [\"a\"], \"secret_operands\": [ { \"with\": \"-b\", \"index\": 1 } ] } ] }",
		  1, "'-' is not a letter" },
	};
	char file[] = "/tmp/skep-test-redact-XXXXXX";
	const char *more[] = { file, NULL };
	struct diag diag;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	diag_init(&diag);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		write_file(file, samples[i].text);
		assert_null(redact_new(more, &diag));
		assert_true(diag.n >= 1);
		assert_string_equal(diag.entries[0].file, file);
		assert_int_equal(diag.entries[0].line, samples[i].line);
		if (!strstr(diag.entries[0].text, samples[i].error))
			fail_msg("'%s' is not in '%s'", samples[i].error, diag.entries[0].text);
		diag_clear(&diag);
	}
	unlink(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_options),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_command_lines),
		cmocka_unit_test(test_published_shapes),
		cmocka_unit_test(test_published_places),
		cmocka_unit_test(test_innocent),
		cmocka_unit_test(test_borders),
		cmocka_unit_test(test_generated),
		cmocka_unit_test(test_long),
		cmocka_unit_test(test_user_table),
		cmocka_unit_test(test_wrong_tables),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
