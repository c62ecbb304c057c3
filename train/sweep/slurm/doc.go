// Package slurm runs numbered tasks as job arrays of a Slurm cluster.
//
// Launcher submits the tasks of a sweep, and asks Slurm for them. Below it, the client knows nothing of
// sweeps or training. A task is an index I, and running it is one call of a program,
// `Program... --index I`. The package writes job scripts, submits them, says where each task stands
// in the queue, and submits again what left the queue without an end. It talks to Slurm through
// sbatch, squeue, scontrol and scancel, in forms that Slurm 21.08 and later have, and needs neither
// accounting (sacct) nor JSON output.
//
// What the program must keep to:
//   - It records the end of a task, good or bad, in a folder, after all else of the task is
//     written. Only folders count: Slurm keeps no list of ended jobs.
//   - Called for a task that has an end, it returns 0 at once: a job that is queued again begins
//     with its first task.
//   - On USR1, sent some time before the limit, it saves its state and exits with [ExitRequeue];
//     the job is then queued again. On TERM it saves and exits with any other status. It goes on
//     from its last checkpoint when no signal came.
//   - Called as `Program... --index I --ended STATUS`, after it ended with a status above 128, it
//     records that a signal killed it, unless the task has an end. Without such a record the task
//     would be submitted again to the same end.
//   - It locks a task: the package starts none twice, but a controller that lost its state may.
//
// Files of an array lie in Dir/slurm, one set a submission; but for the record they are never
// written again once sbatch was called:
//
//	NAME.TOKEN.K.sh      the job script
//	NAME.TOKEN.K.tasks   the task indexes of array index 0, 1, ..., a line each
//	NAME.TOKEN.K.json    the [Job]
//
// TOKEN is new for each submission and part of the job's name. A job is known by its name, because
// Slurm gives ids again after its controller crashed.
//
// The package imports the standard library, internal/atomicfile and, in launcher.go, sweep.
package slurm
