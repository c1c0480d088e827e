/* SPDX-License-Identifier: Apache-2.0 */
/* secret/helper-words.h - results as words, both ways */

#ifndef SECRET_HELPER_WORDS_H
#define SECRET_HELPER_WORDS_H

/* 1, 0 or a negative errno; -EPROTO for a word that is none */
int helper_result(const char *word);

/* The word for @r; "failed" for an errno that has none */
const char *helper_word(int r);

#endif /* SECRET_HELPER_WORDS_H */
