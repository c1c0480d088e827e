/* SPDX-License-Identifier: Apache-2.0 */
/* report/test-command-text.c - secrets of a command line are redacted in records */

#include "report/command-text.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/own.h"
#include "base/text.h"
#include "test.h"

#define ARGS(...) (const char *const []){ __VA_ARGS__, NULL }

static void check_text(const char *const *argv, const char *want)
{
	auto_buf struct buf out = { 0 }, plain = { 0 };
	const bool cut = command_text(argv, 4096, &out);

	text_shell_words(&plain, argv, 4096);
	CHECK_STR(buf_str(&out), want);
	CHECK_INT(cut, strcmp(buf_str(&plain), want) != 0);
}

TEST(values_of_secret_names_are_redacted)
{
	check_text(ARGS("deploy", "--token", "abc", "now"), "deploy --token '***' now");
	check_text(ARGS("deploy", "--token=abc", "now"), "deploy '--token=***' now");
	check_text(ARGS("env", "DEPLOY_KEY=abc", "make"), "env 'DEPLOY_KEY=***' make");
	check_text(ARGS("curl", "-H", "X-Api-Key: abc"), "curl -H '***'");
	check_text(ARGS("curl", "-d", "{\"password\":\"abc\"}"), "curl -d '{\"password\":***'");
	check_text(ARGS("curl", "-u", "me:abc"), "curl -u '***'");
	check_text(ARGS("curl", "--user", "me:abc", "x"), "curl --user '***' x");
}

TEST(values_that_look_like_secrets_are_redacted)
{
	check_text(ARGS("gh", "ghp_0123456789abcdefghij0123"), "gh '***'");
	check_text(ARGS("curl", "-H", "Authorization: Bearer abc"), "curl -H '***'");
	check_text(ARGS("git", "clone", "https://me:abc@registry.example.org/x"),
		   "git clone https://registry.example.org/x");
}

TEST(a_script_with_a_secret_is_redacted_as_a_whole)
{
	check_text(ARGS("sh", "-c", "export API_TOKEN=abc; make"), "sh -c '***'");
	check_text(ARGS("sh", "-c", "mysql --password abc"), "sh -c '***'");
	check_text(ARGS("sh", "-c", "curl -u me:abc x"), "sh -c '***'");
	check_text(ARGS("sh", "-c", "TOKEN='abc' make"), "sh -c '***'");
}

TEST(other_arguments_are_kept)
{
	check_text(ARGS("make", "-j4", "CFLAGS=-O2"), "make -j4 CFLAGS=-O2");
	check_text(ARGS("sort", "--key=2", "a b"), "sort --key=2 'a b'");
	check_text(ARGS("sh", "-c", "KEY=$OTHER make"), "sh -c 'KEY=$OTHER make'");
	check_text(ARGS("git", "log", "--author=me", "a:b"), "git log --author=me a:b");
	check_text(ARGS("docker", "run", "-u", "me", "x:1"), "docker run -u me x:1");
	check_text(ARGS("ssh", "-o", "PasswordAuthentication=no", "x"),
		   "ssh -o PasswordAuthentication=no x");
}

TEST(a_command_text_is_cut_at_its_limit)
{
	auto_buf struct buf out = { 0 };

	CHECK(!command_text(ARGS("ab", "cd", "ef"), 5, &out));
	CHECK_STR(buf_str(&out), "ab cd");
}
