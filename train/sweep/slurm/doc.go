// Package slurm runs the tasks of a sweep as job arrays of a Slurm cluster.
//
// [Launcher] submits each task that has not ended and is not in Slurm's queue. Only the sweep's
// folders tell how a task ended. The package uses only sbatch, squeue, scontrol and scancel, in
// forms that Slurm 21.08 and later accept, and needs no accounting (sacct).
//
// Every job runs job.sh, which calls "torchpe sweep run-task" for its tasks in turn. The protocol
// between the two:
//   - A task that has an end returns 0 at once: a job that is queued again begins with its first task.
//   - On USR1, sent some time before the job's limit, the program saves and exits with [ExitRequeue];
//     the job is then queued again. On TERM it saves and exits with any other status.
//   - After a status above 128 the script calls the program with --ended STATUS, which records that a
//     signal killed it.
//   - The program locks a task, so that it never runs twice, regardless of the queue.
//
// A submission consists of arrays that are not larger than the cluster allows. Its files are in DIR/slurm:
//
//	job.sh               the job script, the same for all
//	NAME.TOKEN.K.tasks   the tasks of array index 0, 1, ..., a line each
//	NAME.TOKEN.K.json    the [Job]
//	flags.json           the flags of the last submission
//
// TOKEN is new for each launch and part of the job's name. Jobs are identified by name, because
// Slurm reuses ids after its controller has crashed.
package slurm
