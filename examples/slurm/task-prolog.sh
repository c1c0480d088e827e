#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# TaskProlog= in slurm.conf - where cloche keeps the records of this job
echo "export XDG_STATE_HOME=/var/spool/cloche/$(id -u)"
