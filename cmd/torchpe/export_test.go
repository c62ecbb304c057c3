package main

import "testing"

// A member goes to a folder and back to a run that lists beside the first; mistakes exit with two and
// write nothing.
func TestExportAndImport(t *testing.T) {
	dir := learnedRun(t)
	says(t, dir, "export runs/learned --member 2 --out twin", exitUsage, "members 0 to 1")
	says(t, dir, "export runs/learned --member 1 --out twin", 0, "member 1 of runs/learned after 18 steps")
	says(t, dir, "export runs/learned --member 1 --out twin", exitUsage, "--force")
	says(t, dir, "import twin --out back", 0, "with the weights of twin, validation accuracy")
	says(t, dir, "runs list back --columns seed,steps,status --csv -", 0, "5,18,done")
}
