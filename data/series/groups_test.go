package series

import (
	"fmt"
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
