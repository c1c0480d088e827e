/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests/live/gate-driver.c - a network without the rest of a sandbox
 *
 * gate-driver [OPTIONS] -- CLIENT [ARG...]
 *
 *   --allow/--deny HOST	rules of the policy, as in the settings
 *   --denied-address RANGE	deniedResolvedAddresses
 *   --name NAME=A,...[|B,...]	what NAME resolves to, in turns; others do not
 *   --host-port/--publish PORT, --capture PORT
 *   --parent URL, --http-proxy-port PORT, --socks-proxy-port PORT
 *   --ask yes|no|session	the answer to prompts; without it there are none
 *   --ms KIND=MS		another time of gate/conn-timers.def
 *   --conns N			fewer connections
 *   --nofile N			as many descriptors for the gate
 *   --origin COMMAND		runs on the host side; READY on its stdout first
 *   --events FILE		refusals, one JSON line each; questions too
 *   --reload FIFO		"allow HOST", "deny HOST" or "parent URL" in it: a
 *				new policy; "publish PORT": one more listener
 *   --pid FILE			the gate's pid, once it runs
 *   --system-resolver		getaddrinfo() instead of --name
 *
 * The "host" is a network namespace of its own in which every address is
 * local, so origins can have public ones; the sandbox is another one. The
 * status is the client's.
 */

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/sys.h"
#include "base/text.h"
#include "gate/gate-client.h"
#include "gate/gate-state.h"
#include "ipc/listener.h"
#include "ipc/socket.h"
#include "policy/host.h"
#include "policy/policy.h"
#include "sandbox/netns.h"
#include "gate-names.h"
#include "ns.h"

enum { PORTS_MAX = 16, RULES_MAX = 64, CHILDREN_MAX = 256 };

struct rule {
	enum string_list list;
	const char *text;
};

static struct rule rules[RULES_MAX];
static size_t n_rules;
static const char *denied_address, *parent, *ask, *origin, *events_path;
static const char *reload_path, *pid_path;
static uint16_t host_ports[PORTS_MAX], captures[PORTS_MAX], publish[PORTS_MAX];
static size_t n_host_ports, n_captures, n_publish;
static uint16_t http_proxy_port, socks_proxy_port;
static struct gate_config limits;
static unsigned int nofile;
static struct gate_client *keeper;
static struct loop *loop;
static FILE *events;
static int reload_fd = -1;

static void die(const char *what)
{
	fprintf(stderr, "gate-driver: %s: %s\n", what, strerror(errno));
	exit(99);
}

static void need(int r, const struct err *err)
{
	if (r < 0) {
		fprintf(stderr, "gate-driver: %s\n",
			*err->msg ? err->msg : strerror(-r));
		exit(99);
	}
}

static void read_text(const char *path, char *text, size_t size)
{
	auto_close int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[n < 0 ? 0 : n] = '\0';
}

/* The host: a user namespace to own everything, and a network of our own */
static void enter_host(void)
{
	struct listener_set none;
	struct err err = { 0 };

	if (ns_enter(CLONE_NEWNET) < 0) {
		fprintf(stderr, "gate-driver: no user namespaces here\n");
		exit(77);
	}
	need(netns_setup(&(struct netns_config){ .filtered = true }, &none,
			 &err), &err);
	listener_done(&none);
	if (ns_put("/proc/sys/net/ipv4/ip_unprivileged_port_start", "0") < 0)
		die("ip_unprivileged_port_start");
}

static pid_t start_sandbox(char **client, struct listener_set *set)
{
	const struct netns_config config = {
		.filtered = true, .capture = captures, .n_capture = n_captures,
		.host_ports = host_ports, .n_host_ports = n_host_ports,
		.publish = n_publish > 0,
	};
	struct err err = { 0 };
	int pair[2];
	pid_t pid;

	if (socket_pair(pair) < 0)
		die("socketpair");
	pid = fork();
	if (!pid) {
		struct listener_set mine;
		char c;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) < 0)
			die("unshare");
		need(netns_setup(&config, &mine, &err), &err);
		need(listener_send(pair[1], &mine), &err);
		listener_done(&mine);
		if (recv(pair[1], &c, 1, 0) != 1)
			exit(99);
		close(pair[0]);
		close(pair[1]);
		signal(SIGPIPE, SIG_DFL);
		execvp(client[0], client);
		die(client[0]);
	}
	close(pair[1]);
	need(listener_recv(pair[0], set), &err);
	/* The client starts when everything else stands; see main() */
	if (dup2(pair[0], 200) < 0)
		die("dup2");
	close(pair[0]);
	return pid;
}

static pid_t start_origin(void)
{
	int out[2];
	char line[64];
	ssize_t n;
	pid_t pid;

	if (pipe2(out, O_CLOEXEC) < 0)
		die("pipe");
	pid = fork();
	if (!pid) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(out[1], 1);
		execl("/bin/sh", "sh", "-c", origin, (char *)NULL);
		die("sh");
	}
	close(out[1]);
	n = read(out[0], line, sizeof(line));
	if (n < 5 || memcmp(line, "READY", 5) != 0) {
		fprintf(stderr, "gate-driver: the origin did not start\n");
		exit(99);
	}
	return pid;
}

/* Messages to it are in its log before it ends; see origin.py */
static void end_origin(pid_t pid)
{
	if (pid > 0 && kill(pid, SIGTERM) == 0)
		(void)waitpid(pid, NULL, 0);
}

static struct policy *make_policy(void)
{
	struct policy *p = policy_new("/", NULL);
	struct err err = { 0 };

	for (size_t i = 0; i < n_rules; i++) {
		const struct source *s = policy_add_source(p, SCOPE_FLAG,
			rules[i].list == HOST_DENY ? "--deny" : "--allow",
			NULL, 0, NULL);

		need(policy_add_host(p, rules[i].list, rules[i].text, NULL,
				     origin_make(s, NULL, NULL), &err), &err);
	}
	if (denied_address)
		policy_add_string(p, LIST_DENIED_ADDRESSES, denied_address,
				  origin_make(NULL, NULL, NULL), NULL);
	if (parent)
		policy_set_text(p, TEXT_PARENT_HTTP, parent,
				origin_make(NULL, NULL, NULL));
	if (http_proxy_port)
		policy_set_number(p, NUMBER_HTTP_PROXY_PORT, http_proxy_port,
				  origin_make(NULL, NULL, NULL));
	if (socks_proxy_port)
		policy_set_number(p, NUMBER_SOCKS_PROXY_PORT, socks_proxy_port,
				  origin_make(NULL, NULL, NULL));
	return p;
}

static void on_violation(void *arg, const struct violation *v)
{
	auto_buf struct buf line = { 0 };

	(void)arg;
	if (!events)
		return;
	violation_to_json(v, &line);
	fputs(buf_str(&line), events);
	fflush(events);
}

static void on_ask(void *arg, uint32_t id, const struct host *host, pid_t pid)
{
	(void)(arg && pid);
	if (events) {
		fprintf(events, "{\"ask\":\"%s\",\"port\":%u}\n", host->name,
			host->port);
		fflush(events);
	}
	if (strcmp(ask, "never") != 0)
		gate_client_answer(keeper, id, strcmp(ask, "no") != 0,
				  strcmp(ask, "session") ? ASK_ONCE
							 : ASK_SESSION);
}

static void on_gone(void *arg, const char *why)
{
	(void)arg;
	fprintf(stderr, "gate-driver: %s\n", why);
}

static int on_client_end(void *arg)
{
	(void)arg;
	loop_stop(loop, 0);
	return 0;
}

static unsigned int number(const char *text, unsigned int max)
{
	uint64_t n;

	if (text_to_u64(text, max, &n) < 0) {
		errno = EINVAL;
		die(text);
	}
	return (unsigned int)n;
}

static uint16_t port(const char *text)
{
	return (uint16_t)number(text, UINT16_MAX);
}

/* It replaces all others, unless it begins with "+" */
static void add_rule(const char *text, const char *host)
{
	if (*text != '+')
		n_rules = 0;
	rules[n_rules++] = (struct rule){
		strstr(text, "deny") ? HOST_DENY : HOST_ALLOW,
		mem_strdup(host),
	};
}

/* One line of --reload */
static void reload(const char *text)
{
	const char *space = strchr(text, ' ');
	auto_policy struct policy *p = NULL;
	struct err err = { 0 };

	if (!space)
		return;
	if (!strncmp(text, "publish ", 8)) {
		/* Others' descriptors may be on their way: then it is none */
		(void)gate_client_publish(keeper, port(space + 1), &err);
		return;
	}
	if (!strncmp(text, "parent ", 7))
		parent = mem_strdup(space + 1);
	else
		add_rule(text, space + 1);
	p = make_policy();
	need(gate_client_reload(keeper, p, &err), &err);
}

static int on_reload(void *arg)
{
	static char text[512];
	const ssize_t n = read(reload_fd, text, sizeof(text) - 1);
	char *save = NULL;

	(void)arg;
	if (n <= 0)
		return 0;
	text[n] = '\0';
	for (const char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save))
		reload(line);
	return 0;
}

static void set_ms(const char *text)
{
	static const char *const kinds[] = {
#define TIMER(id, ms, words) [TIMER_##id] = #id,
#include "gate/conn-timers.def"
#undef TIMER
	};

	for (size_t i = 0; i < TIMER_KINDS; i++) {
		const size_t n = strlen(kinds[i]);

		if (!strncmp(text, kinds[i], n) && text[n] == '=')
			limits.ms[i] = number(text + n + 1, 1 << 30);
	}
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "allow", 1, NULL, 'a' }, { "deny", 1, NULL, 'd' },
		{ "denied-address", 1, NULL, 'D' }, { "name", 1, NULL, 'n' },
		{ "host-port", 1, NULL, 'h' }, { "publish", 1, NULL, 'p' },
		{ "capture", 1, NULL, 'c' }, { "parent", 1, NULL, 'P' },
		{ "http-proxy-port", 1, NULL, 'x' },
		{ "socks-proxy-port", 1, NULL, 'X' },
		{ "ask", 1, NULL, 'q' }, { "ms", 1, NULL, 'm' },
		{ "conns", 1, NULL, 'N' }, { "nofile", 1, NULL, 'f' }, { "origin", 1, NULL, 'o' },
		{ "events", 1, NULL, 'e' }, { "reload", 1, NULL, 'r' },
		{ "pid", 1, NULL, 'i' }, { "system-resolver", 0, NULL, 's' },
		{ 0 },
	};
	int c;

	limits.lookup = gate_names_find;
	while ((c = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		switch (c) {
		case 'a':
			rules[n_rules++] = (struct rule){ HOST_ALLOW, optarg };
			break;
		case 'd':
			rules[n_rules++] = (struct rule){ HOST_DENY, optarg };
			break;
		case 'D': denied_address = optarg; break;
		case 'n': gate_names_add(optarg); break;
		case 'h': host_ports[n_host_ports++] = port(optarg); break;
		case 'p': publish[n_publish++] = port(optarg); break;
		case 'c': captures[n_captures++] = port(optarg); break;
		case 'P': parent = optarg; break;
		case 'x': http_proxy_port = port(optarg); break;
		case 'X': socks_proxy_port = port(optarg); break;
		case 'q': ask = optarg; break;
		case 'm': set_ms(optarg); break;
		case 'N': limits.conns_max = number(optarg, 1 << 20); break;
		case 'f': nofile = number(optarg, 1 << 20); break;
		case 'o': origin = optarg; break;
		case 'e': events_path = optarg; break;
		case 'r': reload_path = optarg; break;
		case 'i': pid_path = optarg; break;
		case 's': limits.lookup = NULL; break;
		default: exit(99);
		}
	}
	if (optind == argc) {
		errno = EINVAL;
		die("no client");
	}
}

/* The pid of our child that is called so, as text; "" if there is none */
static const char *find_gate(char *children)
{
	char path[64], name[32], *save = NULL;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	read_text(path, children, CHILDREN_MAX);
	for (char *pid = strtok_r(children, " ", &save); pid;
	     pid = strtok_r(NULL, " ", &save)) {
		snprintf(path, sizeof(path), "/proc/%s/comm", pid);
		read_text(path, name, sizeof(name));
		if (!strncmp(name, "cloche-gate", 11))
			return pid;
	}
	return "";
}

static void write_pid(void)
{
	char children[CHILDREN_MAX];
	const char *pid = "";
	FILE *out = fopen(pid_path, "we");

	while (!*pid)	/* It takes its name after the fork */
		pid = find_gate(children);
	if (!out || fprintf(out, "%s\n", pid) < 0 || fclose(out))
		die(pid_path);
}

int main(int argc, char **argv)
{
	struct gate_client_config config = {
		.sink = { on_violation, NULL }, .gone = on_gone,
		.limits = &limits,
	};
	struct listener_set set;
	struct loop_source client = { .fn = on_client_end };
	struct loop_source edits = { .fn = on_reload };
	struct err err = { 0 };
	int status = 0;
	pid_t pid, server = 0;

	parse(argc, argv);
	if (events_path)
		events = fopen(events_path, "we");
	enter_host();
	if (origin)
		server = start_origin();
	pid = start_sandbox(argv + optind, &set);
	config.policy = make_policy();
	config.ask = ask ? on_ask : NULL;
	need(loop_new(&loop, &err), &err);
	client.fd = pidfd_open(pid, 0);
	need(loop_add(loop, &client, EPOLLIN), &err);
	need(gate_client_new(loop, &config, &set, &keeper, &err), &err);
	for (size_t i = 0; i < n_publish; i++)
		need(gate_client_publish(keeper, publish[i], &err), &err);
	if (nofile && setrlimit(RLIMIT_NOFILE, &(struct rlimit){
			nofile, nofile }) < 0)
		die("setrlimit");
	if (reload_path) {
		reload_fd = open(reload_path, O_RDWR | O_CLOEXEC);
		edits.fd = reload_fd;
		need(loop_add(loop, &edits, EPOLLIN), &err);
	}
	if (pid_path) {
		need(gate_client_start(keeper, &err), &err);
		write_pid();
	}
	if (send(200, "g", 1, 0) != 1)
		die("start");
	close(200);
	loop_run(loop);
	if (waitpid(pid, &status, 0) < 0)
		die("wait");
	gate_client_finish(keeper);
	gate_client_free(keeper);
	policy_unref(config.policy);
	loop_free(loop);
	end_origin(server);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
