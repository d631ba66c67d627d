#!/bin/sh
# Epilog of the controller: slurm.conf says EpilogSlurmctld=/etc/slurm/epilog.sh (read when slurmctld starts).
# Drops a note for each job that ended. An epilog must be short and call no command of Slurm, so it does nothing else.
# `logdoctor slurm --watch --notes FOLDER` takes the notes, and asks Slurm at once.
: > "${LOGDOCTOR_NOTES:-/var/spool/logdoctor}/$SLURM_JOB_ID"
exit 0
