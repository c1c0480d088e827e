/* SPDX-License-Identifier: Apache-2.0 */
/* tests/live/gate-names.h - what names resolve to, for gate-driver */

#ifndef GATE_NAMES_H
#define GATE_NAMES_H

#include "gate/resolver.h"

/* "NAME=A,...[|B,...]": addresses, one list or the other in turns; "hang" for
 * no answer. Kept, not copied.
 */
void gate_names_add(const char *text);

/* Runs in the resolver: only memory that was there before */
void gate_names_find(const char *name, struct resolve_answer *ret);

#endif /* GATE_NAMES_H */
