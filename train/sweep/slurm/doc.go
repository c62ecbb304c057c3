// Package slurm runs numbered tasks as job arrays of a Slurm cluster.
//
// It knows nothing of training. A task is an index I, and running it is one call of a program, `Program... --index I`. The
// package writes job scripts, submits them, says where each task stands in the queue, and submits again what left the queue
// without an end. It talks to Slurm through sbatch, squeue, scontrol and scancel, in forms that Slurm 21.08 and later have, and
// needs neither accounting (sacct) nor JSON output.
//
// What the program must keep to:
//   - It records the end of a task, good or bad, in a folder, after everything else of the task is written. Folders are the
//     truth: Slurm forgets jobs.
//   - Called for a task that has an end, it returns 0 at once: a job that is queued again begins with its first task.
//   - On USR1, sent some time before the limit, it saves its state and exits with [ExitRequeue]; the job is then queued again. On
//     TERM it saves and exits with any other status. It must be able to go on from its last checkpoint when no signal came.
//   - Called as `Program... --index I --ended STATUS`, after it ended with a status above 128, it records that a signal killed it, unless
//     the folder says better. Without such a record the task would be submitted again to the same end.
//   - Two processes at the same task are a matter of its own locks. The package never asks for that, but a controller that lost
//     its memory may start what it forgot.
//
// Files of an array lie in Dir/slurm, one set a submission; but for the record they are never written again once sbatch was called:
//
//	NAME.TOKEN.K.sh      the job script
//	NAME.TOKEN.K.tasks   the task indexes of array index 0, 1, ..., a line each
//	NAME.TOKEN.K.json    the [Job]
//
// TOKEN is new for each submission and part of the job's name. So a job is known by its name alone: Slurm gives job ids
// again after its controller crashed, and never is a job of another submission taken for this one.
//
// The package imports only the standard library.
package slurm
