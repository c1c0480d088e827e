/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/nft.c - the kernel's tables, through the program nft
 *
 * Theory of operation: what goes in and what comes out are files in memory, so
 * that neither side waits for a full pipe. The program gets a fixed environment. Only
 * directories of the distribution are searched, and only if $PATH names them: a
 * project's directory on the path of root is no place for this program.
 */

#include "firewall/firewall.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

enum { WORDS_MAX = 12, NFT_OUTPUT_MAX = 4 << 20 };

/* The program, and the directory on $PATH that stands for it: ordinary users
 * have no sbin there
 */
static const struct {
	const char *directory, *beside;
} places[] = {
	{ "/usr/sbin", "/usr/bin" },
	{ "/sbin", "/bin" },
	{ "/usr/bin", NULL },
	{ "/usr/local/sbin", "/usr/local/bin" },
	{ "/run/current-system/sw/bin", NULL },
};

static bool is_on_path(const char *directory)
{
	const char *list = directory ? getenv("PATH") : NULL;
	bool found = false;

	for (char *dir; !found && (dir = path_next_dir(&list)) != NULL; free(dir))
		found = !strcmp(dir, directory);
	return found;
}

static int find(char *path, size_t size, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		if (!is_on_path(places[i].directory) &&
		    !is_on_path(places[i].beside))
			continue;
		snprintf(path, size, "%s/nft", places[i].directory);
		if (access(path, X_OK) == 0)
			return 0;
	}
	return fail(err, -ENOENT, "the program nft is not here; install the package nftables");
}

static int refuse_permission(struct err *err)
{
	return fail(err, -EPERM, "the firewall needs CAP_NET_ADMIN in this network namespace: be root, or start the container with --cap-add NET_ADMIN");
}

int nft_check(struct err *err)
{
	struct sys_caps caps;
	char path[64];
	const int r = find(path, sizeof(path), err);

	if (r < 0)
		return r;
	if (sys_capget(&caps) < 0)
		return fail_errno(err, "cannot read our capabilities");
	return caps.effective & 1U << CAP_NET_ADMIN ? 0 :
		refuse_permission(err);
}

static void exec_nft(const char *path, const char *const *argv,
		     const int fds[3])
{
	static const char *const environment[] = {
		"LC_ALL=C", "PATH=/usr/sbin:/usr/bin", NULL,
	};

	for (int i = 0; i < 3; i++) {
		if (dup2(fds[i], i) < 0)
			_exit(127);
	}
	if (chdir("/") == 0)
		(void)execve(path, (char *const *)(size_t)argv,
			     (char *const *)(size_t)environment);
	_exit(127);
}

/* The first line that says something, without nft's own prefix */
static void message(const struct buf *text, struct buf *ret)
{
	const char *line = buf_str(text);
	const char *error = strstr(line, "Error: ");
	auto_free char *first = NULL;

	if (error)
		line = error + strlen("Error: ");
	first = mem_strndup(line, strcspn(line, "\n"));
	text_escape(ret, first);
}

static int check_status(int status, const struct buf *errors, struct err *err)
{
	auto_buf struct buf text = { 0 };

	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (strstr(buf_str(errors), "Operation not permitted"))
		return refuse_permission(err);
	message(errors, &text);
	return fail(err, -EIO, "nft failed: %s",
		    text.len ? buf_str(&text) : "no reason given");
}

static int read_back(int fd, struct buf *out, struct err *err)
{
	if (lseek(fd, 0, SEEK_SET) < 0)
		return fail_errno(err, "cannot read nft's output");
	return fs_read_fd(fd, NFT_OUTPUT_MAX, out, err);
}

static int run(const char *const *argv, const struct buf *input,
	       struct buf *out, struct err *err)
{
	auto_close int in = memfd_create("nft-input", MFD_CLOEXEC);
	auto_close int output = memfd_create("nft-output", MFD_CLOEXEC);
	auto_close int errors = memfd_create("nft-errors", MFD_CLOEXEC);
	const int fds[3] = { in, output, errors };
	auto_buf struct buf messages = { 0 };
	char path[64];
	int status, r = find(path, sizeof(path), err);
	pid_t pid;

	if (r < 0)
		return r;
	if (in < 0 || output < 0 || errors < 0)
		return fail_errno(err, "cannot make files in memory");
	if (input && (fs_write_all(in, input->p, input->len) < 0 ||
		      lseek(in, 0, SEEK_SET) < 0))
		return fail(err, -EIO, "cannot pass the ruleset to nft");
	pid = fork();
	if (!pid)
		exec_nft(path, argv, fds);
	if (pid < 0)
		return fail_errno(err, "cannot start nft");
	status = reap_wait(pid);
	r = read_back(errors, &messages, err);
	if (r == 0)
		r = check_status(status, &messages, err);
	return r < 0 || !out ? r : read_back(output, out, err);
}

int nft_load(const struct buf *text, struct err *err)
{
	static const char *const argv[] = { "nft", "-f", "-", NULL };

	return run(argv, text, NULL, err);
}

json_t *nft_list(const char *const *args, struct err *err)
{
	const char *argv[WORDS_MAX + 1] = { "nft", "-j", "list" };
	auto_buf struct buf out = { 0 };
	auto_json json_t *root = NULL;
	json_t *list;

	for (size_t i = 0; args[i] && i + 3 < WORDS_MAX; i++)
		argv[i + 3] = args[i];
	if (run(argv, NULL, &out, err) < 0)
		return NULL;
	root = json_parse(buf_str(&out), out.len, "nft", err);
	list = json_incref(json_object_get(root, "nftables"));
	if (!list)
		fail(err, -EBADMSG, "nft answered with something else than a list");
	return list;
}
