/* SPDX-License-Identifier: Apache-2.0 */
/*
 * examples/run.c - run a sandboxed command, receive refusals, change its policy
 *
 *	cc -o run run.c $(pkg-config --cflags --libs libcloche) && ./run
 *
 * The command tries a write that no rule allows, then connects to a host that no rule
 * mentions. The program gets a request about that host, allows the write while the
 * command runs, and denies the host. The command repeats the write until it succeeds.
 */

#include <cloche.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] =
	"try() { (echo hi >\"$1/file\") 2>/dev/null && echo wrote || echo refused; }\n"
	"get() { curl -s -o /dev/null -x http://127.0.0.1:3128 \"http://$1/\"; }\n"
	"try \"$1\"\n"
	"get \"$2\"\n"
	"i=0; while [ $i -lt 200 ]; do\n"
	"	[ \"$(try \"$1\")\" = wrote ] && { echo wrote; exit 0; }\n"
	"	sleep 0.05; i=$((i + 1))\n"
	"done; exit 1\n";

struct story {
	char policy[4200];
	int updated;
};

static void on_violation(void *arg, cloche_run *run,
			 const struct cloche_violation *v)
{
	(void)arg;
	(void)run;
	fprintf(stderr, "refused: %s %s (%s)\n", v->kind, v->target, v->reason);
}

/* The command has tried its first write when this is called, and waits. Allow the
 * write before the answer, so that the next attempt succeeds.
 */
static void on_ask(void *arg, cloche_run *run,
		   const struct cloche_question *q)
{
	struct story *story = arg;

	fprintf(stderr, "asked: %s:%u\n", q->host, q->port);
	cloche_run_update(run, story->policy);
	cloche_run_answer(run, q->id, 0, 1);
}

static void on_updated(void *arg, cloche_run *run, unsigned int id, int error,
		       const char *why)
{
	struct story *story = arg;

	(void)run;
	story->updated = error == 0;
	fprintf(stderr, "update %u: %s\n", id, error ? why : "in force");
}

static int run(cloche_sandbox *box, const char *dir, const char *host)
{
	const char *const argv[] = { "sh", "-c", script, "sh", dir, host, NULL };
	const struct cloche_events events = {
		.size = sizeof(events), .violation = on_violation,
		.ask = on_ask, .updated = on_updated,
	};
	struct story story = { .updated = 0 };
	const struct cloche_run_options options = {
		.size = sizeof(options), .argv = argv, .events = &events,
		.arg = &story,
	};
	struct cloche_result how = { .size = sizeof(how) };
	cloche_run *r;

	snprintf(story.policy, sizeof(story.policy),
		 "{\"filesystem\": {\"allowWrite\": [\"%s\"]}}", dir);
	if (cloche_start(box, &options, &r) < 0) {
		fprintf(stderr, "%s\n", cloche_sandbox_message(box));
		return 1;
	}
	if (cloche_run_wait(r, &how) < 0)
		fprintf(stderr, "nothing ran: %s\n", how.message);
	cloche_run_free(r);
	return how.error || !story.updated ? 1 : how.status;
}

int main(int argc, char **argv)
{
	const struct cloche_sandbox_options options = {
		.size = sizeof(options), .program = getenv("CLOCHE"),
		.policy = "{\"filesystem\": {\"allowWrite\": []}}",
	};
	const char *dir = argc > 1 ? argv[1] : getenv("HOME");
	const char *host = argc > 2 ? argv[2] : "example.com";
	cloche_sandbox *box;
	char why[256];
	int status;

	if (cloche_sandbox_new(&options, &box, why, sizeof(why)) < 0) {
		fprintf(stderr, "%s\n", why);
		return 1;
	}
	status = run(box, dir, host);
	cloche_sandbox_free(box);
	return status;
}
