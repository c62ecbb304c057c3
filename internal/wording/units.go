package wording

import "fmt"

// Seconds writes a time in a suitable unit: "36.5 seconds", "30 minutes", "2.5 hours", "3.1 days".
func Seconds(seconds float64) string {
	switch {
	case seconds >= 48*3600:
		return fmt.Sprintf("%.1f days", seconds/86400)
	case seconds >= 2*3600:
		return fmt.Sprintf("%.1f hours", seconds/3600)
	case seconds >= 2*60:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	}
	return fmt.Sprintf("%.1f seconds", seconds)
}

// Megabytes writes a size in a suitable unit: "256 kB", "30 MB", "2.5 GB".
func Megabytes(mb float64) string {
	switch {
	case mb >= 1024:
		return fmt.Sprintf("%.1f GB", mb/1024)
	case mb >= 1:
		return fmt.Sprintf("%.0f MB", mb)
	}
	return fmt.Sprintf("%.0f kB", mb*1024)
}
