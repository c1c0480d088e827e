/* SPDX-License-Identifier: Apache-2.0 */
/* observe/test-sockets.c - socket calls that the observer makes for a waiting tracee */

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "test.h"
#include "base/btime.h"
#include "observe/notification.h"
#include "observe/sockets.h"
#include "observe/test-rules.h"
#include "observe/tracee.h"

static void name_of(struct sockaddr_un *a, const char *name)
{
	*a = (struct sockaddr_un){ .sun_family = AF_UNIX };
	CHECK(snprintf(a->sun_path, sizeof(a->sun_path), "%s", name) <
	      (int)sizeof(a->sun_path));
}

/* As if this process had asked, and had been killed since */
static struct decision ask(struct addresses *a, int nr, int fd,
			   struct sockaddr_un *name)
{
	static struct observer_rules rules;
	static const struct observer_config config = {
		.rules = &rules, .listener = -1,
		.sockets_by_path = true,
	};
	const struct seccomp_notif notif = { .data.args = {
		(unsigned long long)fd, (unsigned long long)(size_t)name,
		sizeof(*name),
	} };
	struct notification q = { .notif = &notif, .call = call_find(nr) };
	struct resolved_path place = { .parent = -1 };
	struct decision answer;
	struct tracees tracees;

	tracees_init(&tracees, NULL);
	q.tracee = tracee_get(&tracees, getpid());
	q.what = q.call->what;
	CHECK_INT(address_answer(a, &config, &q, &place, &answer), 0);
	resolved_path_done(&place);
	tracees_done(&tracees);
	return answer;
}

TEST(no_connect_is_made_for_an_exited_tracee)
{
	struct addresses a = { 0 };
	auto_close int server = socket(AF_UNIX, SOCK_STREAM, 0);
	auto_close int client = socket(AF_UNIX, SOCK_STREAM, 0);
	auto_close int there = -1;
	struct decision answer;
	struct sockaddr_un name, other;
	struct stat st;

	CHECK_INT(chdir(test_dir()), 0);
	name_of(&name, "allowed");
	CHECK_INT(bind(server, (struct sockaddr *)&name, sizeof(name)), 0);
	CHECK_INT(listen(server, 1), 0);
	there = open("allowed", O_PATH);
	CHECK_INT(fstat(there, &st), 0);
	*vec_push(&a.allowed) = (struct observer_socket){
		.dev = st.st_dev, .ino = st.st_ino, .birth = btime_of(there),
	};

	answer = ask(&a, SYS_connect, client, &name);
	CHECK_INT(answer.answer, DECISION_DONE);
	CHECK_INT(answer.error, EINTR);
	CHECK(getpeername(client, (struct sockaddr *)&other,
			  &(socklen_t){ sizeof(other) }) < 0);
	/* The control: nothing else is in the way */
	CHECK_INT(connect(client, (struct sockaddr *)&name, sizeof(name)), 0);
	addresses_done(&a);
}
