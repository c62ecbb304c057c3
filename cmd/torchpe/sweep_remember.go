package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
)

// rememberedFile is where the flags for Slurm with which a sweep was last submitted lie, below its directory.
const rememberedFile = "slurm/flags.json"

// remember writes down the flags that were given, or remembered before. They say nothing of what was computed; losing them costs typing.
func (f *slurmFlags) remember(dir string) error {
	given := map[string][]string{}
	f.own.VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		if list, several := flag.Value.(pflag.SliceValue); several {
			given[flag.Name] = list.GetSlice()
		} else {
			given[flag.Name] = []string{flag.Value.String()}
		}
	})
	text, err := json.MarshalIndent(given, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, rememberedFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	temp := path + ".new"
	if err := os.WriteFile(temp, append(text, '\n'), 0o666); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// recall sets the flags that were not given to what they were at the last submission, and says so.
func (f *slurmFlags) recall(dir string, progress io.Writer) error {
	path := filepath.Join(dir, rememberedFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before map[string][]string
	if err == nil {
		err = json.Unmarshal(text, &before)
	}
	if err != nil {
		return fmt.Errorf("%s: %w: remove it to give all flags anew", path, err)
	}
	var said []string
	f.own.VisitAll(func(flag *pflag.Flag) {
		values, there := before[flag.Name]
		if !there || flag.Changed {
			return
		}
		for _, v := range values {
			if setErr := f.own.Set(flag.Name, v); setErr != nil {
				err = errors.Join(err, fmt.Errorf("%s: %w", path, setErr))
			}
			said = append(said, "--"+flag.Name+"="+v)
		}
	})
	if said != nil {
		fmt.Fprintf(progress, "torchpe: as in the last submission: %s\n", strings.Join(said, " "))
	}
	return err
}
