#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prolog= in slurm.conf - a directory for the records of the job's user, on this node
#
# A home of a cluster is often on NFS, where two nodes that append to one file overwrite
# each other's lines.
set -eu
install -d -m 0755 /var/spool/cloche
install -d -m 0700 -o "$SLURM_JOB_UID" -g "$SLURM_JOB_GID" "/var/spool/cloche/$SLURM_JOB_UID"
