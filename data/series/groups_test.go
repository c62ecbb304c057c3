package series

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

// One subject whose datasets are named like several is noted: frames of all of them would be on both sides of a split.
func TestGroupsLikeSubjects(t *testing.T) {
	for want, runs := range map[string][]Run{
		"[]": {{File: "a.h5", Name: "/rest1", Subject: "a"}, {File: "a.h5", Name: "/sub-01/rest2", Subject: "a"},
			{File: "b.h5", Name: "/sub-02/rest", Subject: "b"}},
		"[a.h5 counts as one subject, a, but its datasets are named like several (sub-01, sub-2): to hold out " +
			"subjects, write a file for each.]": {{File: "a.h5", Name: "/sub-01/rest1", Subject: "a"},
			{File: "a.h5", Name: "/sub-01/rest2", Subject: "a"}, {File: "a.h5", Name: "/sub-2/rest1", Subject: "a"}},
		"[b.npz counts as one subject, b, but its datasets are named like several (100307, 100408): to hold out " +
			"subjects, write a file for each.]": {{File: "b.npz", Name: "100307", Subject: "b"},
			{File: "b.npz", Name: "100408", Subject: "b"}},
	} {
		expect.Equal(t, "notes", fmt.Sprint(groupNotes(runs)), want)
	}
}

// Two arrays of a file that number subjects number the same ones, and a note says so.
func TestTwoArraysOfSubjects(t *testing.T) {
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range []string{"controls.npy", "patients.npy"} {
		_, err := expect.Must(z.Create(name)).Write(expect.Must(os.ReadFile(fixture("stack.npy"))))
		expect.NoError(t, err)
	}
	expect.NoError(t, z.Close())
	file := expect.File(t, "groups.npz", packed.String())
	o := Options{Axes: []Axis{SubjectAxis, TokenAxis, FrameAxis}, Datasets: []string{"controls", "patients"}}
	set := expect.Must(Load([]string{file}, o))
	expect.Equal(t, "runs", len(set.Runs), 4)
	expect.Contains(t, strings.Join(set.Notes, "\n"), "subjects of controls and patients with one number count as one")
	expect.Equal(t, "subjects", expect.Must(Inspect(file, o)).Subjects, 2)
	// A name with brackets is that of one dataset.
	set = expect.Must(Load([]string{expect.File(t, "brackets.npz", strings.ReplaceAll(packed.String(), "controls",
		"contr[1]"))}, Options{Axes: o.Axes, Datasets: []string{"contr[1]"}}))
	expect.Equal(t, "runs of contr[1]", len(set.Runs), 2)
}
