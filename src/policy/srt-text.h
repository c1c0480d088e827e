/* SPDX-License-Identifier: Apache-2.0 */
/* policy/srt-text.h - which texts srt takes, by the kind of their key */

#ifndef POLICY_SRT_TEXT_H
#define POLICY_SRT_TEXT_H

/* The kinds of srt.def */
enum srt_kind {
	SRT_OBJECT, SRT_STRICT, SRT_TLS,
	SRT_FLAG, SRT_NUMBER, SRT_ENUM, SRT_CALLBACK,
	SRT_TEXT, SRT_TEXTS,	/* A list of them */
	SRT_WORD,		/* Not empty */
	SRT_PATH, SRT_BINARY, SRT_URL, SRT_ENTRY, SRT_EXTRACT, SRT_VARIABLE, SRT_SERVICE,
	SRT_ALLOWED, SRT_DENIED, SRT_HOST, SRT_RANGE,
};

/* What is wrong with @text, in srt's words; NULL if nothing is */
const char *srt_judge_text(enum srt_kind kind, const char *text);

#endif /* POLICY_SRT_TEXT_H */
