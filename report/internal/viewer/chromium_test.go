package viewer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"torchpe/internal/expect"
)

func write(t *testing.T, html string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "a page #1.html")
	expect.NoError(t,
		os.WriteFile(file, []byte("<!doctype html><meta charset=utf-8><title>σ</title>"+html), 0o666))
	return file
}

func TestQuietPage(t *testing.T) {
	var got struct {
		Title               string
		Sum, Width, Scripts int
	}
	file := write(t, `<script>console.log("only said")</script>`)
	problems := Browser{600}.Evaluate(t, file, `
		const sum = await new Promise(r => setTimeout(() => r(1 + 1), 100));
		return {Title: document.title, Sum: sum, Width: innerWidth, Scripts: document.scripts.length};`, &got)
	if got.Title != "σ" || got.Sum != 2 || got.Width != 600 || got.Scripts != 1 ||
		len(problems) != 0 {
		t.Errorf(
			"%+v, problems %q: want the title σ, 1 + 1 = 2, a width of 600, the page's own script",
			got, problems)
	}
	if left, _ := filepath.Glob(filepath.Dir(file) + "/*.copy.html"); left != nil {
		t.Errorf("%q is left behind", left)
	}
}

// Each kind of error of a page is reported; otherwise the tests that use this package would pass
// whatever the page does.
func TestLoudPage(t *testing.T) {
	problems := Browser{800}.Evaluate(t, write(t, `<script>
		console.error("called");
		setTimeout(() => { throw new Error("thrown") }, 0);
		Promise.reject("broken promise");
	</script><img src="missing.png">`), "await new Promise(r => setTimeout(r, 100));", nil)
	expect.Contains(t, strings.Join(problems, "\n"), "called", "thrown", "broken promise", "missing.png")
}
