// Package runlog keeps one training run on disk: the run directory.
//
//	config.json                   the resolved configuration, with a schema version
//	environment.json              versions, device, threads, commit and command line; again for each resumption
//	metrics.jsonl                 one JSON record per line, a few lines per log interval
//	checkpoint.safetensors        the newest state of training
//	checkpoint.prev.safetensors   the one before
//	probes.safetensors            what was measured inside the model at the end
//	result.json                   the final numbers; its presence means that the run is complete
//	tensorboard/                  the records once more, for TensorBoard: one folder with an event file per member
//	lock                          who writes to the directory now
//
// Event files are rewritten from metrics.jsonl when training starts or resumes; see [Board].
//
// [Create] starts a run, [Resume] continues a stopped one, [Open] reads one.
//
// Invariants.
//   - One process at a time has a [Run] for a directory.
//   - From the first [Run.SaveCheckpoint] on there is at every instant, also after a crash or a power loss, a complete
//     checkpoint in the directory, the newest or the one before, and the metrics up to its step.
//   - A file with a final name is complete: config, environment, checkpoints, probes and result are written under a
//     temporary name, synced and renamed.
//   - Checkpoints, probes and the result have checksums, and the result has that of its configuration.
//   - Which checkpoint is newest is decided by its step, never by a clock.
//   - Nothing is written outside the directory, also when symbolic links were planted in it.
//
// The order of calls with which a resumed run repeats the uninterrupted one: [Run.Append] the
// records of a step, then [Run.SaveCheckpoint] of that step; after [Resume], [Run.LoadCheckpoint],
// then [Run.TruncateMetrics] to its step.
//
// The package needs golang.org/x/sys (free space) and github.com/gofrs/flock, and no libtorch. It
// does not interpret configurations. A Run is not safe for concurrent use.
package runlog
