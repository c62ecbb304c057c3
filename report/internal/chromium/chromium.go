// Package chromium has a browser open the pages that report writes: headless Chromium, steered through its DevTools protocol
// over a pipe. A test then sees what a reader sees: what is drawn, what is logged, what is asked of the network. Only tests
// import it; it imports the standard library only.
package chromium

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long any one step may take on a busy machine.
const patience = 60 * time.Second

// Page is an open page. Its methods fail the test where the browser does.
type Page struct {
	t       *testing.T
	pipe    *pipe
	session string

	mu       sync.Mutex
	problems []string
	requests []string
}

// Open opens the file in a window of 1280 by 900 and waits until it has loaded. It skips the test where Chromium is not installed.
// The browser is closed when the test ends.
func Open(t *testing.T, file string) *Page {
	t.Helper()
	program := find()
	if program == "" {
		t.Skip("chromium is not installed (Debian: chromium); skipping the check of the page in a browser")
	}
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &Page{t: t}
	loaded := make(chan struct{}, 1)
	p.pipe = start(t, program, func(method string, params json.RawMessage) {
		if method == "Page.loadEventFired" {
			select {
			case loaded <- struct{}{}:
			default:
			}
		}
		p.note(method, params)
	})
	var target struct{ TargetID, SessionID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	p.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		p.call(domain+".enable", nil, nil)
	}
	p.Resize(1280, 900)
	p.call("Page.navigate", map[string]any{"url": (&url.URL{Scheme: "file", Path: file}).String()}, nil)
	select {
	case <-loaded:
	case <-time.After(patience):
		t.Fatalf("chromium: %s has not loaded after %v", file, patience)
	}
	return p
}

// find returns the path of Chromium or of a browser made of it, or nothing.
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// note keeps what the page logs as an error, throws, or asks of anything but itself.
func (p *Page) note(method string, params json.RawMessage) {
	var e struct {
		Type             string
		Args             []struct{ Value, Description any }
		Entry            struct{ Level, Text, URL string }
		ExceptionDetails struct {
			Text      string
			Exception struct{ Description string }
		}
		Request struct{ URL string }
	}
	if json.Unmarshal(params, &e) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case method == "Runtime.consoleAPICalled" && (e.Type == "error" || e.Type == "assert"):
		text, _ := json.Marshal(e.Args)
		p.problems = append(p.problems, "console: "+string(text))
	case method == "Runtime.exceptionThrown":
		p.problems = append(p.problems, e.ExceptionDetails.Text+" "+e.ExceptionDetails.Exception.Description)
	case method == "Log.entryAdded" && e.Entry.Level == "error":
		p.problems = append(p.problems, e.Entry.Text+" "+e.Entry.URL)
	case method == "Network.requestWillBeSent":
		p.requests = append(p.requests, e.Request.URL)
	}
}

// Problems are the errors that the page has logged or thrown.
func (p *Page) Problems() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.problems...)
}

// Requests are the addresses that the page has asked for, its own and data: among them.
func (p *Page) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.requests...)
}

// Evaluate runs a JavaScript expression in the page, waits for it where it is a promise, and stores its value in result, which
// is a pointer or nil.
func (p *Page) Evaluate(expression string, result any) {
	p.t.Helper()
	var reply struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{
		"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
	}, &reply)
	if e := reply.ExceptionDetails; e != nil {
		p.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(reply.Result.Value, result); err != nil {
		p.t.Fatalf("%s = %s: %v", expression, reply.Result.Value, err)
	}
}

// Resize gives the window a size in CSS pixels.
func (p *Page) Resize(width, height int) {
	p.t.Helper()
	p.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// Media shows the page for a medium, "screen" or "print", and in a colour scheme, "light" or "dark".
func (p *Page) Media(medium, scheme string) {
	p.t.Helper()
	p.call("Emulation.setEmulatedMedia", map[string]any{
		"media": medium, "features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil)
}

// Screenshot returns what the window shows as a PNG.
func (p *Page) Screenshot() []byte {
	return p.image("Page.captureScreenshot", map[string]any{"format": "png"})
}

// PDF returns the page as it prints, with backgrounds.
func (p *Page) PDF() []byte {
	return p.image("Page.printToPDF", map[string]any{"printBackground": true})
}

func (p *Page) image(method string, params map[string]any) []byte {
	p.t.Helper()
	var reply struct{ Data string }
	p.call(method, params, &reply)
	data, err := base64.StdEncoding.DecodeString(reply.Data)
	if err != nil {
		p.t.Fatalf("chromium: %s: %v", method, err)
	}
	return data
}

// Save writes what take returns, a screenshot or PDF, to the directory that TORCHPE_SCREENSHOTS names, for people to look at. It
// does nothing where that is not set.
func Save(t *testing.T, name string, take func() []byte) {
	t.Helper()
	if dir := os.Getenv("TORCHPE_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name), take(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *Page) call(method string, params map[string]any, result any) {
	p.t.Helper()
	if err := p.pipe.call(p.session, method, params, result); err != nil {
		p.t.Fatalf("chromium: %s: %v\n%s", method, err, p.pipe.log())
	}
}
