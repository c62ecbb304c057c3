package lst

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
