// Package cohort finds finished runs and reads what an analysis needs: the settings, the final numbers, the
// records of training, and the probes. It alone decides which models may be averaged: those of one group,
// which differ only in their seeds, have one length of training, are no copies, and did not diverge. It
// knows which models have fitted and which have stopped.
//
// It depends only on the format of run directories, so that a report can be made years later. It ignores
// settings that this version does not know; settings that an older run lacks have their zero value. It
// writes nothing.
package cohort
