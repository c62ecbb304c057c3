// Package sweep trains many configurations: it expands a grid over the flags of "torchpe train" into a plan
// of tasks, runs the tasks in worker processes, and creates a run directory for each run.
//
//	DIR/sweep.json                the plan: hashed tasks, written once; more may be appended, none changes
//	    tasks/000123/lock         held by the process that works on the task
//	                 attempt-1.json  who began the first attempt at it, and so on
//	                 heartbeat.json  its last step
//	                 log.txt      the output of all attempts
//	                 run/         the run directory of the task's ensemble, while it trains
//	                 done         the task is complete; or
//	                 failed.json  how it ended instead
//	    runs/NAME/                finished runs, one per configuration and seed, as if trained alone
//	    cancel                    asks all workers to stop; removed by the next launch
//
// A task is an ensemble: runs that differ only in seed, sigma, learning rate and weight decay.
//
// Invariants.
//   - The states of tasks - done, failed, running, lost, pending - are read from folders alone.
//   - One process at a time works on a task: it holds the lock, and has made the file of its attempt,
//     which decides between hosts that share no locks.
//   - done is written after all of the task's runs are in runs/, and failed.json is never beside
//     it. Both have the hash of the task. A done task whose runs were removed is to be done again.
//   - A directory in runs/ is complete: it is built elsewhere and renamed.
//   - The plan only grows; a task keeps its index, its members and the names of its runs.
//
// The package imports the run directory's format (runlog), the settings (config), wording, YAML and file
// locks: it needs no libtorch. The caller converts flags to configurations; train.RunTask trains them.
package sweep
