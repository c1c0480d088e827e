/* SPDX-License-Identifier: Apache-2.0 */
/* cli/bwrap/program.c - bwrap as a program of its own: small, quick to start,
 * and found again by callers that run /proc/self/exe
 */

#include "cli/persona.h"

int main(int argc, char **argv)
{
	return persona_bwrap(argc, argv);
}
