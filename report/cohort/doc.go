// Package cohort finds finished runs and reads what an analysis needs of them: the settings, the
// final numbers, the records of training, and the probes. It alone decides which models may be averaged:
// those of one group, which differ in their seeds alone, trained for one length, each once, none of them
// diverged. It tells which have fitted and which have stopped.
//
// It reads run directories by their format alone, so that a report can be made years later.
// Settings that this version does not know are passed over, and settings that a run of an older one
// lacks have their zero value. Nothing is written.
package cohort
