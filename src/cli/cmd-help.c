/* SPDX-License-Identifier: Apache-2.0 */
/* cli/cmd-help.c - cloche help and completion, from the tables of verbs and options */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/own.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/command-line.h"
#include "compat/applet.h"
#include "completion.h"
#include "run/options.h"

enum { COLUMNS = 80, OPTION_AT = 26, WORD_AT = 6 };

static const struct {
	const char *title, *verbs;
} groups[] = {
	{ "Daily", "run explain violations report session diff apply discard" },
	{ "Policy", "init learn policy trust secret" },
	{ "Agents", "hook mcp shim wrap as" },
	{ "Machine", "doctor verify preflight status top events gc firewall completion help" },
};

/* What stands first: a verb, or a verb and its word, in use */
static const struct {
	const char *call, *example;
} examples[] = {
	{ "run", "cloche run -- npm test" },
	{ "run", "cloche run --allow registry.example.org -- npm install" },
	{ "run", "cloche run --write ../out -c 'make && make check'" },
	{ "explain", "cloche explain -- npm test" },
	{ "violations", "cloche violations list --since 1h --kind write" },
	{ "violations list", "cloche violations list --since 1h --kind write" },
	{ "violations follow", "cloche violations follow --kind host" },
	{ "violations strip", "cloche violations strip < agent.log" },
	{ "violations clear", "cloche violations clear" },
	{ "violations restore", "cloche violations restore 0123456789ab" },
	{ "events", "cloche events export --format otlp --to http://localhost:4318" },
	{ "events export", "cloche events export --format otlp --to http://localhost:4318" },
	{ "report", "cloche report --since 1h -o report.html" },
	{ "top", "cloche top" },
	{ "status", "cloche status" },
	{ "session", "cloche run --session web -- npm run dev" },
	{ "session", "cloche session list" },
	{ "session list", "cloche session list" },
	{ "session stop", "cloche session stop web" },
	{ "session publish", "cloche session publish web 3000" },
	{ "diff", "cloche run --ephemeral -- make install; cloche diff" },
	{ "diff", "cloche diff -p src/main.c" },
	{ "apply", "cloche apply src/" },
	{ "discard", "cloche discard" },
	{ "policy", "cloche policy allow host registry.example.org" },
	{ "policy", "cloche policy why write ~/.bashrc" },
	{ "policy show", "cloche policy show --profile home" },
	{ "policy check", "cloche policy check .cloche.json" },
	{ "policy why", "cloche policy why host registry.example.org" },
	{ "policy why", "cloche policy why write ~/.bashrc" },
	{ "policy allow", "cloche policy allow host registry.example.org" },
	{ "policy allow", "cloche policy allow write ~/out" },
	{ "policy allow", "cloche policy allow unprotect .vscode" },
	{ "policy deny", "cloche policy deny read .env" },
	{ "policy remove", "cloche policy remove host registry.example.org" },
	{ "policy mode", "cloche policy mode auto-allow" },
	{ "policy exclude", "cloche policy exclude 'docker *'" },
	{ "policy unsandboxed", "cloche policy unsandboxed deny" },
	{ "policy diff", "cloche policy diff old/.cloche.json .cloche.json" },
	{ "init", "cloche init" },
	{ "learn", "cloche learn -- npm test" },
	{ "learn", "cloche learn --write project -- npm test" },
	{ "trust", "cloche trust --show" },
	{ "secret", "cloche secret set NPM_TOKEN" },
	{ "secret", "cloche run --secret NPM_TOKEN@registry.example.org -- npm publish" },
	{ "secret set", "cloche secret set NPM_TOKEN" },
	{ "secret get", "cloche secret get NPM_TOKEN --print" },
	{ "secret delete", "cloche secret delete NPM_TOKEN" },
	{ "secret bind", "cloche secret bind NPM_TOKEN registry.example.org" },
	{ "secret move", "cloche secret move --backend file" },
	{ "secret import", "cloche secret import --claude" },
	{ "hook", "cloche hook install claude" },
	{ "hook install", "cloche hook install claude --allow registry.example.org" },
	{ "hook print", "cloche hook print claude" },
	{ "hook status", "cloche hook status claude" },
	{ "hook uninstall", "cloche hook uninstall claude" },
	{ "hook AGENT", "cloche hook claude pre-tool-use < call.json" },
	{ "mcp", "cloche mcp wrap claude" },
	{ "mcp wrap", "cloche mcp wrap claude github --allow api.github.com" },
	{ "mcp unwrap", "cloche mcp unwrap claude github" },
	{ "mcp status", "cloche mcp status" },
	{ "mcp start", "cloche mcp start server -- ./server" },
	{ "shim", "cloche shim install npm --allow registry.example.org" },
	{ "shim install", "cloche shim install npm --allow registry.example.org" },
	{ "shim list", "cloche shim list" },
	{ "shim remove", "cloche shim remove npm" },
	{ "firewall up", "cloche firewall up --allow registry.example.org" },
	{ "firewall down", "cloche firewall down" },
	{ "firewall status", "cloche firewall status" },
	{ "firewall verify", "cloche firewall verify" },
	{ "wrap", "cloche wrap -- make test" },
	{ "as", "cloche as srt -- make test" },
	{ "doctor", "cloche doctor" },
	{ "verify", "cloche verify" },
	{ "preflight", "cloche preflight" },
	{ "gc", "cloche gc --older-than 7d" },
	{ "firewall", "cloche firewall up --allow registry.example.org" },
	{ "completion", "source <(cloche completion bash)" },
};

/* The options of run, in the order of options.def */
static const struct {
	enum option_id first;
	const char *title;
} option_groups[] = {
	{ OPTION_SETTINGS, "Policy" },
	{ OPTION_WRITE, "Files" },
	{ OPTION_ALLOW, "Hosts, ports and sockets" },
	{ OPTION_ENV, "Variables and secrets" },
	{ OPTION_CWD, "Command" },
	{ OPTION_TIMEOUT, "Limits" },
	{ OPTION_EPHEMERAL, "Changes, questions and reports" },
	{ OPTION_SESSION, "Sessions" },
	{ OPTION_TIER, "Strength of the sandbox" },
	{ OPTION_VERBOSE, "Messages" },
};

static const char kinds[] =
	"KIND is host, read, write, socket, port, address, variable, secret or unprotect (a protected name to give up).";

/* @text in lines of COLUMNS, all but the first behind @at blanks; @column: where the
 * first begins
 */
static void print_wrapped(const char *text, int at, int column)
{
	bool first = true;

	for (size_t n; *text; text += n + (text[n] == ' ')) {
		n = strcspn(text, " ");
		if (!first && column + 1 + (int)n > COLUMNS) {
			printf("\n%*s", at, "");
			column = at;
		} else if (!first) {
			column += printf(" ");
		}
		column += printf("%.*s", (int)n, text);
		first = false;
	}
	puts("");
}

static void print_title(const char *title)
{
	printf("\n%s%s%s\n", terminal_style(stdout, STYLE_HEAD), title,
	       terminal_style(stdout, STYLE_NONE));
}

static void print_option(const struct option_row *row)
{
	char left[64];
	int n;

	snprintf(left, sizeof(left), "%c%c%s--%s%s%s",
		 row->letter ? '-' : ' ', row->letter ? row->letter : ' ',
		 row->letter ? ", " : "  ", row->name,
		 row->argument ? " " : "", row->argument ? row->argument : "");
	n = printf("  %-*s", OPTION_AT - 3, left);
	if (n < OPTION_AT)
		printf(" ");
	else
		printf("\n%*s", OPTION_AT, "");
	print_wrapped(row->help, OPTION_AT, OPTION_AT);
}

const char *help_example(const char *call)
{
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		if (!strcmp(examples[i].call, call))
			return examples[i].example;
	}
	return NULL;
}

/* Behind an empty line, if there are any */
static void print_examples(const char *call)
{
	const char *before = "\n";

	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		if (strcmp(examples[i].call, call) != 0)
			continue;
		printf("%s  %s%s%s\n", before, terminal_style(stdout, STYLE_COMMAND),
		       examples[i].example, terminal_style(stdout, STYLE_NONE));
		before = "";
	}
}

/* The options of @word alone, or of all words; the help of run has its own */
static void print_flags(const struct verb *c, const char *word,
			const char *synopsis)
{
	bool first = true;

	for (const struct verb_option *f = verb_option_table(); f->name; f++) {
		const struct option_row row = {
			.name = f->name, .argument = f->argument,
			.help = f->help, .letter = verb_option_letter(f),
		};

		if (strcmp(f->verb, c->name) || (word && !text_has_word(f->words, word)))
			continue;
		if (first)
			print_title("Options");
		print_option(&row);
		first = false;
	}
	if (c->run == cli_run) {
		for (enum option_id id = 0; id < OPTION_COUNT; id++) {
			for (size_t i = 0; i < ARRAY_SIZE(option_groups); i++) {
				if (option_groups[i].first == id)
					print_title(option_groups[i].title);
			}
			print_option(option_row(id));
		}
	} else if (synopsis_has_run(synopsis)) {
		puts("\nThe options of run are understood: cloche help run");
	}
}

static void print_usage(const char *verb, const char *word,
			const char *synopsis)
{
	const int n = printf("\nUsage: cloche %s%s%s ", verb, word ? " " : "",
			     word ? word : "") - 1;

	print_wrapped(synopsis, 9, n);
}

static void print_applets(void)
{
	print_title("Names");
	for (const struct applet *p = applet_table(); p->name; p++)
		printf("  %-10s %s\n", p->name, p->help);
}

static void print_verb(const struct verb *c)
{
	const int n = printf("  cloche %-10s ", c->name);

	print_wrapped(c->help, n, n);
}

static void print_overview(void)
{
	printf("cloche - run a command in a sandbox that the kernel enforces\n");
	print_examples("run");
	for (size_t g = 0; g <= ARRAY_SIZE(groups); g++) {
		const bool rest = g == ARRAY_SIZE(groups);

		if (!rest)
			print_title(groups[g].title);
		for (const struct verb *c = verb_table(); c->name; c++) {
			bool listed = false;

			for (size_t i = 0; i < ARRAY_SIZE(groups); i++)
				listed |= text_has_word(groups[i].verbs, c->name);
			if (rest ? !listed :
			    text_has_word(groups[g].verbs, c->name))
				print_verb(c);
		}
	}
	printf("\n'cloche help COMMAND' shows more; 'cloche --version' prints the version.\n"
	       "Exit status of run: the command's own; 128+N when signal N ended it; 124 time\n"
	       "limit; 125 the sandbox could not be built (nothing ran); 126 not executable;\n"
	       "127 not found.\n");
}

/* The words of a verb that has some */
static void print_words(const struct verb *c)
{
	const struct word *w = word_first(c);

	if (w)
		print_title("Commands");
	for (; w; w = word_next(w)) {
		int n = printf("  %s%s", w->name, *w->synopsis ? " " : "");

		print_wrapped(w->synopsis, WORD_AT, n);
		n = printf("%*s", WORD_AT, "");
		print_wrapped(w->help, WORD_AT, n);
	}
}

static void print_word(const struct verb *c, const struct word *w)
{
	char call[64];

	print_wrapped(w->help, 0, 0);
	snprintf(call, sizeof(call), "%s %s", c->name, w->name);
	print_examples(call);
	print_usage(c->name, w->name, w->synopsis);
	if (strstr(w->synopsis, "KIND ")) {
		puts("");
		print_wrapped(kinds, 0, 0);
	}
	print_flags(c, w->name, w->synopsis);
}

int cli_help(int argc, char **argv, struct err *err)
{
	const struct verb *c;
	const struct word *w;

	if (argc < 2) {
		print_overview();
		return 0;
	}
	c = verb_find(argv[1]);
	if (!c)
		return verb_fail(argv[1], err);
	w = argc > 2 ? word_find(c, argv[2]) : NULL;
	if (w && !strcmp(w->name, argv[2])) {
		print_word(c, w);
		return 0;
	}
	puts(c->help);
	print_examples(c->name);
	print_usage(c->name, NULL, c->synopsis);
	print_words(c);
	if (!strcmp(c->name, "policy")) {
		puts("");
		print_wrapped(kinds, 0, 0);
	}
	if (c->raw == cli_as)
		print_applets();
	print_flags(c, NULL, c->synopsis);
	return 0;
}

int cli_completion(int argc, char **argv, struct err *err)
{
	static const struct {
		const char *name, *script;
	} shells[] = {
		{ "bash", completion_bash },
		{ "zsh", completion_zsh },
		{ "fish", completion_fish },
	};

	if (argc != 2)
		return fail(err, -EINVAL,
			    "completion needs one of bash, zsh, fish");
	for (size_t i = 0; i < ARRAY_SIZE(shells); i++) {
		if (!strcmp(shells[i].name, argv[1])) {
			(void)fputs(shells[i].script, stdout);	/* main() looks */
			return 0;
		}
	}
	return fail(err, -EINVAL,
		    "completion: '%s' is not one of bash, zsh, fish", argv[1]);
}
