/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firewall/fetch-ranges.c - networks from a document on the web, and the last good one
 *
 * Theory of operation: the rules are active already and let out what they allow, so the
 * document can come only from an allowed host. It decides what else is allowed, so all of
 * it is refused if one of its networks is wide or not public. The last good document is
 * kept: a service that does not answer must not shut a container out.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/text.h"
#include "firewall/firewall.h"
#include "gate/address.h"

enum {
	FETCH_BITS4_MIN = 8,	/* The widest network that a document may open */
	FETCH_BITS6_MIN = 16,
};

#define FETCH_SECONDS	"20"

static int check_ranges(const char *url, const struct range_list *list, struct err *err)
{
	for (size_t i = 0; i < list->len; i++) {
		const struct host_range *range = &list->v[i].range;
		const bool four = range->kind == HOST_IPV4;
		const struct address_range *reserved;
		struct host first;

		host_of_address(range->address, four ? 4 : 16, 0, &first);
		reserved = address_range_of(&first);
		if (range->bits < (four ? FETCH_BITS4_MIN : FETCH_BITS6_MIN))
			return fail(err, -EINVAL, "%s: %s/%u is too wide", url, first.name,
				    range->bits);
		if (reserved && !(reserved->use & RANGE_NOWHERE))
			return fail(err, -EINVAL, "%s: %s/%u is not public: %s", url,
				    first.name, range->bits, reserved->what);
	}
	return 0;
}

static int take(const char *url, const struct buf *text, struct range_list *ret,
		struct err *err)
{
	struct range_list list = { 0 };
	int r = ranges_parse(buf_str(text), text->len, url, &list, err);

	if (r == 0)
		r = check_ranges(url, &list, err);
	for (size_t i = 0; r == 0 && i < list.len; i++) {
		if (range_list_add(ret, &list.v[i].range) < 0)
			r = fail(err, -E2BIG, "%s: too many networks", url);
	}
	range_list_done(&list);
	return r;
}

/* By curl: this program has no TLS, proxies or certificates */
static int fetch(const char *url, struct buf *ret, struct err *err)
{
	auto_close int out = memfd_create("ranges", MFD_CLOEXEC);
	/* A document without an end must not fill the memory until the time is over */
	static const struct rlimit most = { JSON_TEXT_MAX, JSON_TEXT_MAX };
	const pid_t pid = out < 0 ? -1 : fork();
	int status;

	if (pid < 0)
		return fail_errno(err, "cannot start curl");
	if (pid == 0) {
		if (setrlimit(RLIMIT_FSIZE, &most) == 0 && dup2(out, STDOUT_FILENO) >= 0)
			(void)execlp("curl", "curl", "-q", "-fsS", "--max-time",
				     FETCH_SECONDS, "--", url, (char *)NULL);
		_exit(EXIT_NOT_FOUND);
	}
	status = reap_wait(pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return fail(err, -EIO, WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NOT_FOUND ?
			    "%s: the program curl is not here" :
			    "%s: curl could not fetch it", url);
	return lseek(out, 0, SEEK_SET) < 0 ? fail_errno(err, "cannot read what curl wrote") :
	       fs_read_fd(out, JSON_TEXT_MAX, ret, err);
}

static int keep_list(const char *file, const struct buf *text, struct err *err)
{
	auto_free char *dir = path_parent(file);
	auto_close int fd = fs_open_dir_p(dir, 0755, err);

	return fd < 0 ? fd : fs_replace(fd, path_base(file), text->p, text->len, 0644,
					err);
}

static void add_note(json_t *report, const char *what, const char *why)
{
	(void)json_array_append_new(report, json_sprintf("note: %s: %s", why, what));
}

int fetch_ranges(const char *url, struct range_list *ret, json_t *report)
{
	auto_free char *file = mem_printf(FETCH_KEPT "/ranges-%016llx.json",
					  (unsigned long long)text_hash(url));
	auto_buf struct buf text = { 0 }, old = { 0 };
	struct err err = { 0 }, stale = { 0 };
	int r = fetch(url, &text, &err);

	if (r == 0)
		r = take(url, &text, ret, &err);
	if (r == 0 && keep_list(file, &text, &err) < 0)
		add_note(report, "the list is used, but not kept for the next time", err.msg);
	if (r == 0)
		return 1;
	if (fs_read(AT_FDCWD, file, JSON_TEXT_MAX, &old, NULL) == 0 &&
	    take(file, &old, ret, &stale) == 0) {
		add_note(report, "the last good list is used", err.msg);
		return 1;
	}
	add_note(report, "only the addresses that the names have now are allowed", err.msg);
	return 0;
}
