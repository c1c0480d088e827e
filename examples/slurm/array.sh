#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sbatch examples/slurm/array.sh COMMAND... - 64 jobs, each in a sandbox of its own
#
# scancel sends SIGTERM to the step: cloche passes it on, ends whatever the command left
# running, and ends with 143.
#SBATCH --job-name=cloche
#SBATCH --array=0-63
#SBATCH --ntasks=1
#SBATCH --output=cloche-%a.out
exec srun cloche run -- "$@"
