// Package runs finds finished runs and reads what an analysis needs of them: the settings, the
// final numbers, the records of training, and the probes.
//
// It reads run directories by their format alone, so that a report can be made years later.
// Settings that this version does not know are passed over, and settings that a run of an older one
// lacks have their zero value. Nothing is written.
package runs
