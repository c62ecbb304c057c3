// Package viewer shows tests what a reader sees of the pages that report writes, in headless Chromium
// (--dump-dom). Only tests import it.
package viewer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"torchpe/internal/expect"
)

// prologue runs before the page's own scripts and collects errors. Errors of resources do not bubble, so it
// captures them.
const prologue = `<script>
const problems = [];
addEventListener("error", (e) => {
  problems.push(e.message || "cannot load " + (e.target.src || e.target.href));
}, true);
addEventListener("unhandledrejection", (e) => problems.push("rejected: " + e.reason));
console.error = console.assert = (...args) => problems.push("console: " + args.join(" "));
document.currentScript.remove();
</script>`

// epilogue runs the test's script after the page has loaded and stores what it returns in an
// attribute of the root element.
const epilogue = `<script>
document.currentScript.remove();
addEventListener("load", async () => {
  const reply = {};
  try { reply.result = await (async () => { %s })(); } catch (e) { reply.failure = String(e); }
  reply.problems = problems;
  const bytes = new TextEncoder().encode(JSON.stringify(reply));
  document.documentElement.setAttribute("data-reply", btoa(String.fromCharCode(...bytes)));
});
</script>`

var replyAttribute = regexp.MustCompile(`data-reply="([A-Za-z0-9+/=]*)"`)

// Browser is a window of a width in CSS pixels.
type Browser struct{ Width int }

// Evaluate opens an HTML file that has a <title>, runs script, the body of an asynchronous
// JavaScript function, once the page has loaded, and decodes what it returns into result. It returns
// the errors that the page logged, threw or met in loading images. It skips the test if Chromium
// is not installed.
func (b Browser) Evaluate(t *testing.T, file, script string, result any) (problems []string) {
	t.Helper()
	program := findBrowser()
	if program == "" {
		t.Skip("chromium is not installed (Debian: chromium): the page is not checked in a browser")
	}
	page := expect.Must(os.ReadFile(file))
	copied := expect.Must(filepath.Abs(file + ".copy.html")) // beside the page, whose links are relative
	text := strings.Replace(string(page), "<title>", prologue+"<title>", 1) + fmt.Sprintf(epilogue, script)
	expect.NoError(t, os.WriteFile(copied, []byte(text), 0o666))
	defer os.Remove(copied)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "--headless", "--no-sandbox", "--disable-gpu",
		"--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
		"--user-data-dir="+newProfile(t), fmt.Sprintf("--window-size=%d,900", b.Width),
		"--virtual-time-budget=10000", "--dump-dom", (&url.URL{Scheme: "file",
			Path: copied}).String())
	cmd.WaitDelay = 5 * time.Second
	out, err := cmd.Output()
	m := replyAttribute.FindSubmatch(out)
	if m == nil {
		t.Fatalf("chromium: %v; no reply in the page it printed:\n%s", err, out)
	}
	var reply struct {
		Failure  string
		Problems []string
		Result   json.RawMessage
	}
	decoded := expect.Must(base64.StdEncoding.DecodeString(string(m[1])))
	expect.NoError(t, json.Unmarshal(decoded, &reply))
	if reply.Failure != "" {
		t.Fatalf("chromium: %s\n%s", reply.Failure, decoded)
	}
	if len(reply.Result) > 0 {
		expect.NoError(t, json.Unmarshal(reply.Result, result))
	}
	return reply.Problems
}

// findBrowser returns the path of Chromium or a browser made of it, or nothing.
func findBrowser() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome",
		"google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// newProfile makes a directory for the browser's files. t.TempDir would fail the test if the browser's children
// are still writing.
func newProfile(t *testing.T) string {
	dir := expect.Must(os.MkdirTemp("", "torchpe-chromium-"))
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
