package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"
)

// pipe is a running browser: commands go to its file descriptor 3, replies and events come from 4, each a JSON object ended
// by a zero byte (Chromium's content/browser/devtools/devtools_pipe_handler.cc).
type pipe struct {
	write  *os.File
	stderr *bytes.Buffer // read only after done is closed
	done   chan struct{} // closed when the browser has ended

	mu      sync.Mutex
	last    int
	waiting map[int]chan message
}

type message struct {
	ID     int             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// start starts the browser, which calls event with each event and ends with the test.
func start(t *testing.T, program string, event func(method string, params json.RawMessage)) *pipe {
	t.Helper()
	profile, err := os.MkdirTemp("", "torchpe-chromium-") // t.TempDir fails the test where the browser's children still write
	if err != nil {
		t.Fatal(err)
	}
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &pipe{write: ourOut, stderr: &bytes.Buffer{}, done: make(chan struct{}), waiting: map[int]chan message{}}
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--hide-scrollbars",
		"--user-data-dir="+profile, "--remote-debugging-pipe")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	cmd.Stderr = p.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Start(); err != nil {
		t.Fatalf("chromium: %v", err)
	}
	theirIn.Close()
	theirOut.Close()
	go func() {
		p.read(ourIn, event)
		_ = cmd.Wait() // it is killed in the end
		close(p.done)
	}()
	t.Cleanup(func() {
		go func() { _ = p.call("", "Browser.close", nil, nil) }() // which may end it before it replies
		select {
		case <-p.done:
		case <-time.After(10 * time.Second):
		}
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what is left of its process group
		<-p.done
		ourOut.Close()
		ourIn.Close()
		_ = os.RemoveAll(profile)
	})
	return p
}

func (p *pipe) read(from *os.File, event func(method string, params json.RawMessage)) {
	for in := bufio.NewReader(from); ; {
		line, err := in.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		if m.ID == 0 {
			event(m.Method, m.Params)
			continue
		}
		p.mu.Lock()
		reply := p.waiting[m.ID]
		delete(p.waiting, m.ID)
		p.mu.Unlock()
		if reply != nil {
			reply <- m
		}
	}
}

// call sends a command and waits for its result.
func (p *pipe) call(session, method string, params map[string]any, result any) error {
	reply := make(chan message, 1)
	p.mu.Lock()
	p.last++
	id := p.last
	p.waiting[id] = reply
	command := map[string]any{"id": id, "method": method}
	if session != "" {
		command["sessionId"] = session
	}
	if params != nil {
		command["params"] = params
	}
	line, err := json.Marshal(command)
	if err == nil {
		_, err = p.write.Write(append(line, 0))
	}
	p.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case m := <-reply:
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	case <-p.done:
		return errors.New("the browser has ended")
	case <-time.After(patience):
		return errors.New("no reply")
	}
}

// log is what the browser has printed, where it has ended.
func (p *pipe) log() string {
	select {
	case <-p.done:
		return p.stderr.String()
	case <-time.After(time.Second):
		return ""
	}
}
