/* SPDX-License-Identifier: Apache-2.0 */
/* embed/embedded.c - the supervisor of a run that the library started */

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "embed/embedded.h"
#include "ipc/wire.h"
#include "run/host-channel.h"
#include "run/options.h"
#include "run/output.h"
#include "run/run.h"
#include "session/session.h"

static void on_say(void *arg, const char *line)
{
	host_channel_tell(arg, WIRE_SAY, line);
}

static void on_print(void *arg, const char *text, size_t n)
{
	(void)n;
	host_channel_tell(arg, WIRE_REPORT, text);
}

/* @text is the words, each with its NUL; *@ret points into it, to be freed */
static int split_words(const struct buf *text, char ***ret)
{
	struct { char **v; size_t len, cap; } words = { 0 };
	static char verb[] = EMBED_VERB;
	char *at = text->p;
	int n;

	*vec_push(&words) = verb;
	while (at && at < text->p + text->len) {
		*vec_push(&words) = at;
		at += strlen(at) + 1;
	}
	n = (int)words.len;
	*vec_push(&words) = NULL;
	*ret = words.v;
	return n;
}

static int read_words(struct buf *text, struct err *err)
{
	auto_close int fd = EMBED_WORDS;
	const int r = fs_read_fd(fd, EMBED_WORDS_MAX, text, err);

	if (r < 0)
		return r;
	if (text->len && text->p[text->len - 1])
		return fail(err, -EPROTO, "the options do not end");
	return 0;
}

/* A caller may read the command's output to its end before it reads our socket */
static void release_streams(void)
{
	auto_close int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; null >= 0 && i < 3; i++)
		(void)dup2(null, i);
}

/* The command's own variables come first. Returns how many words that are. */
static int take_env(char **words, int n, char ***ret, struct err *err)
{
	uint64_t count = 0;

	*ret = NULL;
	if (n > 1 && !strcmp(words[1], EMBED_OWN_ENV))
		return 1;
	if (n < 2 || text_to_u64(words[1], (uint64_t)n - 2, &count) < 0)
		return fail(err, -EPROTO, "the library is of another version");
	*ret = mem_zalloc((count + 1) * sizeof(**ret));
	memcpy(*ret, words + 2, count * sizeof(**ret));
	return (int)count + 1;
}

static int run_words(struct options *options, const struct output *output,
		     struct err *err)
{
	static struct run one;
	auto_buf struct buf text = { 0 };
	auto_free char **words = NULL, **env = NULL;
	int n, first, r = read_words(&text, err);

	if (r < 0)
		return r;
	n = split_words(&text, &words);
	r = take_env(words, n, &env, err);
	if (r < 0)
		return r;
	options->env = env;
	first = options_parse(n - r, words + r, options, err);
	if (first < 0 || (n = options_expand(options, err)) < 0)
		return first < 0 ? first : n;
	first += r;
	/* The library reports each refusal: the footer would repeat them */
	if (!options_has(options, OPTION_ANNOTATE))
		(void)options_add(options, OPTION_ANNOTATE, "never", NULL);
	one = (struct run){ .options = options, .output = output,
			    .argv = words + first, .err = err };
	return options_has(options, OPTION_SESSION) ? session_run(&one)
						    : run(&one);
}

int cli_embedded(int argc, char **argv, struct err *err)
{
	struct options options = { 0 };
	struct output output = { .say = on_say, .print = on_print };
	uint64_t parent = 0;
	int r;

	if (argc != 2 || text_to_u64(argv[1], INT32_MAX, &parent) < 0 ||
	    fcntl(EMBED_SOCKET, F_SETFD, FD_CLOEXEC) < 0 ||
	    fcntl(EMBED_WORDS, F_SETFD, FD_CLOEXEC) < 0)
		return fail(err, -EINVAL, "only the library starts this");
	r = host_channel_new(EMBED_SOCKET, (pid_t)parent, &output.channel, err);
	if (r < 0)
		return r;
	output.arg = output.channel;
	r = run_words(&options, &output, err);
	release_streams();
	host_channel_ended(output.channel, r, err->msg);
	host_channel_free(output.channel);
	options_done(&options);
	return r;
}
