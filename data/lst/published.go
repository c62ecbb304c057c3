package lst

// publishedProbes counts the training puzzles of the published pool by condition and by the cell of
// their probe, row by row. The pool has 3 x 3000 puzzles (files generated_puzzle_data_*_dist80.csv of
// github.com/ljhearne/LSTNN_public).
var publishedProbes = [3][Cells]int{
	{147, 232, 290, 108, 357, 85, 145, 188, 162, 100, 84, 316, 243, 202, 298, 43},
	{197, 206, 212, 114, 312, 109, 151, 205, 257, 112, 119, 288, 160, 190, 298, 70},
	{144, 187, 184, 131, 191, 180, 220, 199, 153, 155, 171, 270, 129, 253, 339, 94},
}

// publishedValidationGivens counts the published validation items by condition and by their number of
// givens, 0-11 (puzzle_data_original.csv, 12 items in 3 rotations each, counted once).
var publishedValidationGivens = [3][12]int{
	{6: 1, 7: 3, 8: 2, 9: 3, 10: 2, 11: 1},
	{5: 1, 6: 2, 7: 2, 8: 4, 10: 2, 11: 1},
	{4: 1, 5: 3, 6: 3, 7: 3, 9: 2},
}

// publishedTrainingGivens counts the puzzles of the published training pool in the same way.
var publishedTrainingGivens = [3][12]int{
	{3: 12, 4: 105, 5: 234, 6: 476, 7: 363, 8: 307, 9: 441, 10: 688, 11: 374},
	{3: 103, 4: 430, 5: 579, 6: 769, 7: 387, 8: 209, 9: 225, 10: 215, 11: 83},
	{3: 96, 4: 557, 5: 669, 6: 756, 7: 369, 8: 228, 9: 150, 10: 146, 11: 29},
}
