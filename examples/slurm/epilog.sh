#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Epilog= in slurm.conf - hand the records of the job's user to the collector of this node
#
# Jobs that end at once wait for each other here. A collector that is away must not drain
# the node: its records stay in the store, and the next export delivers them.
store=/var/spool/cloche/$SLURM_JOB_UID
exec setpriv --reuid "$SLURM_JOB_UID" --regid "$SLURM_JOB_GID" --clear-groups \
	env XDG_STATE_HOME="$store" \
	flock "$store" \
	sh -c 'cloche events export --format otlp || :'
