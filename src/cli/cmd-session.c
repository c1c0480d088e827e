/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-session.c - cloche session: sandboxes that outlive a command */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/sys.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "report/run-record.h"
#include "report/violation-store.h"
#include "report/violation.h"
#include "session/session.h"

static int64_t number(const json_t *of, const char *key)
{
	return json_integer_value(json_object_get(of, key));
}

static const char *text(const json_t *of, const char *key)
{
	const char *s = json_get_text(of, key);

	return s ? s : "";
}

/* "3s", "12m", "5h", "2d" */
static void add_age(struct buf *out, int64_t ms)
{
	const int64_t s = ms > 0 ? ms / 1000 : 0;

	if (s < 60)
		buf_addf(out, "%" PRId64 "s", s);
	else if (s < 3600)
		buf_addf(out, "%" PRId64 "m", s / 60);
	else
		buf_addf(out, s < 86400 ? "%" PRId64 "h" : "%" PRId64 "d",
			 s < 86400 ? s / 3600 : s / 86400);
}

static void add_ports(struct buf *out, const json_t *ports)
{
	const json_t *port;
	size_t i;

	json_array_foreach(ports, i, port)
		buf_addf(out, "%s%lld", i ? ", " : "; listens on ",
			 (long long)json_integer_value(port));
}

static void print_session(const json_t *s)
{
	const int64_t now = now_ms(CLOCK_REALTIME);
	auto_buf struct buf line = { 0 };
	const json_t *command;
	size_t i;

	text_escape(&line, text(s, "name"));
	if (*text(s, "error")) {
		buf_adds(&line, "  ");
		text_escape(&line, text(s, "error"));
		printf("%s\n", buf_str(&line));
		return;
	}
	buf_adds(&line, "  ");
	text_escape(&line, text(s, "project"));
	buf_adds(&line, "  ");
	add_age(&line, now - number(s, "startMs"));
	buf_addf(&line, "  %" PRId64 " process%s, %" PRId64 ".%02" PRId64 " s, %" PRId64 " MiB",
		 number(s, "processes"), number(s, "processes") == 1 ? "" : "es", number(s, "cpuMs") / 1000,
		 number(s, "cpuMs") % 1000 / 10, number(s, "memory") >> 20);
	add_ports(&line, json_object_get(s, "ports"));
	buf_addc(&line, '\n');
	json_array_foreach(json_object_get(s, "commands"), i, command) {
		buf_adds(&line, "    ");
		add_age(&line, now - number(command, "startMs"));
		buf_adds(&line, "  ");
		text_escape(&line, text(command, "command"));
		buf_addc(&line, '\n');
	}
	fputs(buf_str(&line), stdout);
}

static int find_run(void *arg, const struct run_record *run)
{
	const struct record_filter *f = arg;

	if (run->session && !strcmp(run->session, f->session))
		json_object_set_new_nocheck(f->runs, run->run, json_true());
	return 0;
}

int record_filter_open(struct record_filter *f, struct violation_store *store,
		       struct err *err)
{
	f->runs = json_object();
	return f->session && store ? violation_store_each_run(store, find_run, f, err) : 0;
}

/* Of a session also what a command left in its background */
bool record_filter_has(const struct record_filter *f, const struct violation *v)
{
	const char *command = v->command ? v->command : "";

	return v->time_ms >= f->since_ms &&
	       (!f->run || (v->run && !strcmp(v->run, f->run))) &&
	       (!f->session || (v->run && json_object_get(f->runs, v->run)) ||
		(!strncmp(command, "session ", 8) && !strcmp(command + 8, f->session)));
}

int cmd_session_list(struct call *call, struct err *err)
{
	auto_json json_t *list = session_list(err);
	const json_t *each;
	size_t i;

	if (!list)
		return err->code;
	if (call_flag(call, "json")) {
		print_json(json_pack("{s:i, s:O}", "version", 1, "sessions", list),
			   JSON_INDENT(2) | JSON_ENSURE_ASCII);
		return 0;
	}
	json_array_foreach(list, i, each)
		print_session(each);
	return 0;
}

int cmd_session_stop(struct call *call, struct err *err)
{
	return session_stop(call->args[0], err);
}

int cmd_session_publish(struct call *call, struct err *err)
{
	uint64_t port = 0;

	if (text_to_u64(call->args[1], 65535, &port) < 0 || !port)
		return fail(err, -EINVAL, "'%s' is not a port", call->args[1]);
	return session_publish(call->args[0], (uint16_t)port, err);
}
