/* SPDX-License-Identifier: Apache-2.0 */
/* doctor/verify-try-race.c - attempts that change things while they are looked
 * at: paths, addresses, the ground of the next run
 */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/now.h"
#include "base/own.h"
#include "doctor/verify-row.h"
#include "doctor/verify-scratch.h"
#include "doctor/verify-try.h"

enum { CONTROL_MS = 4000 };

/* A control has as long as it takes, within reason */
static int64_t until(const struct world *w, const char *argument, char **rest)
{
	const int64_t ms = strtol(argument, rest, 10);

	return now_ms(CLOCK_MONOTONIC) + (w->inside ? ms : CONTROL_MS);
}

/* "MS PLACE": how long, and where the link leads */
static int64_t split(const struct world *w, const char *argument, char *ret)
{
	char *place;
	const int64_t end = until(w, argument, &place);

	world_path(w, place + 1, NULL, ret, PATH_MAX);
	return end;
}

/* A directory of ours and a link to @place change names without end */
static pid_t swap(const struct world *w, const struct found *f,
		  const char *place, char *ret)
{
	char link[PATH_MAX + 8];
	pid_t pid;

	snprintf(ret, PATH_MAX, "%s/project/race-%zu", w->root, f->row);
	snprintf(link, sizeof(link), "%s-link", ret);
	(void)mkdir(ret, 0700);
	(void)!symlink(place, link);
	pid = fork();
	if (pid != 0)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)renameat2(AT_FDCWD, ret, AT_FDCWD, link, RENAME_EXCHANGE);
}

static void finish(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

void attempt_race_write(const struct world *w, const char *argument,
			struct found *f)
{
	char place[PATH_MAX], dir[PATH_MAX], path[PATH_MAX + 16];
	const int64_t end = split(w, argument, place);
	char *name = strrchr(place, '/');
	char hit[PATH_MAX];
	pid_t pid;

	snprintf(hit, sizeof(hit), "%s", place);
	*name++ = '\0';
	pid = swap(w, f, place, dir);
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f->error = EACCES;
	while (pid > 0 && now_ms(CLOCK_MONOTONIC) < end &&
	       access(hit, F_OK) < 0) {
		auto_close int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC,
					 0600);

		(void)!write(fd, "raced\n", 6);
	}
	finish(pid);
}

void attempt_race_read(const struct world *w, const char *argument,
		       struct found *f)
{
	char place[PATH_MAX], dir[PATH_MAX], path[PATH_MAX + NAME_MAX];
	const int64_t end = split(w, argument, place);
	char *name = strrchr(place, '/');
	pid_t pid;

	*name++ = '\0';
	pid = swap(w, f, place, dir);
	snprintf(path, sizeof(path), "%s/%.200s", dir, name);
	while (pid > 0 && !f->len && now_ms(CLOCK_MONOTONIC) < end)
		found_fd(f, open(path, O_RDONLY | O_CLOEXEC));
	f->error = f->len ? 0 : EACCES;
	finish(pid);
}

/* Between an address that is somebody's business and one that is nobody's */
static void flip(struct sockaddr_in *room, const struct sockaddr_in *both)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		memcpy(room, &both[0], sizeof(*room));
		__asm__ volatile("" : : : "memory");
		memcpy(room, &both[1], sizeof(*room));
		__asm__ volatile("" : : : "memory");
	}
}

void attempt_race_connect(const struct world *w, const char *argument,
			  struct found *f)
{
	const int64_t end = until(w, argument, NULL);
	const char *url = getenv("HTTP_PROXY");
	const char *colon = url ? strrchr(url, ':') : NULL;
	const long proxy = colon ? strtol(colon + 1, NULL, 10) : HTTP_PROXY;
	const struct sockaddr_in both[2] = {
		{ .sin_family = AF_INET, .sin_port = htons((uint16_t)proxy),
		  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
		{ .sin_family = AF_INET, .sin_port = htons((uint16_t)w->tcp4),
		  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
	};
	struct sockaddr_in *room = mmap(NULL, sizeof(*room),
					PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid;

	if (room == MAP_FAILED)
		return;
	pid = fork();
	if (pid == 0)
		flip(room, both);
	f->error = EACCES;
	while (pid > 0 && now_ms(CLOCK_MONOTONIC) < end) {
		auto_close int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC,
					   0);
		struct sockaddr_in peer = { 0 };
		socklen_t n = sizeof(peer);

		if (connect(fd, (struct sockaddr *)room, sizeof(*room)) < 0 ||
		    getpeername(fd, (struct sockaddr *)&peer, &n) < 0 ||
		    peer.sin_port != both[1].sin_port)
			continue;
		try_word(f, fd);
		break;
	}
	finish(pid);
}

/* The ground for the next run: what it will make or use leads elsewhere. It
 * is tried in two runs, one after the other.
 */
void attempt_twice(const struct world *w, const char *argument,
		   struct found *f)
{
	static const char *const used[] = {
		SCRATCH_LINKS, "P/twice",
	};
	char place[PATH_MAX], path[PATH_MAX], file[PATH_MAX + NAME_MAX];
	struct stat st;

	world_path(w, argument, NULL, place, sizeof(place));
	*strrchr(place, '/') = '\0';
	f->error = EACCES;
	for (size_t i = w->inside ? 0 : ARRAY_SIZE(used) - 1;
	     i < ARRAY_SIZE(used); i++) {
		auto_close int fd = -1;

		world_path(w, used[i], NULL, path, sizeof(path));
		(void)rmdir(path);
		(void)!symlink(place, path);
		/* A directory that stays leads nowhere: leave nothing in it */
		if (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode))
			continue;
		snprintf(file, sizeof(file), "%s%.200s", path,
			 strrchr(argument, '/'));
		fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0)
			f->error = 0;
	}
}
