package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// surviveClosedOutput makes writing to a pipe that nobody reads an error: without it the Go runtime
// ends the program, as `torchpe train 2>&1 | head` would in the middle of training.
func surviveClosedOutput() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// untilSignal returns a context that ends with the first SIGINT, SIGTERM, SIGHUP or SIGUSR1, and a
// function that gives the exit code for it. The second signal ends the process at once. Signals
// that were ignored at the start, such as SIGHUP under nohup, stay so.
func untilSignal(w io.Writer) (context.Context, func() int) {
	ctx, cancel := context.WithCancel(context.Background())
	code := make(chan int, 1)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1} {
		if !signal.Ignored(s) {
			signal.Notify(signals, s)
		}
	}
	go func() {
		c := signalCode(<-signals)
		code <- c
		fmt.Fprintln(w, "torchpe: finishing the step and saving; once more stops at once")
		cancel()
		os.Exit(signalCode(<-signals))
	}()
	return ctx, func() int { return <-code }
}

func signalCode(s os.Signal) int {
	switch s {
	case syscall.SIGTERM, syscall.SIGHUP:
		return exitTerminated
	case syscall.SIGUSR1:
		return exitRequeue
	}
	return exitInterrupted
}
