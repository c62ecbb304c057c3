# `make` lists the targets. Each does its own set-up.
SHELL := /bin/bash
.DEFAULT_GOAL := help
LST ?=
ARCH ?=
GO_PACKAGES := ./...

.PHONY: help setup shim build demo reproduce-quick evidence quick test test-race test-libtorch2 test-arm64 test-pytorch \
  test-cuda-build dist test-dist lint fuzz nightly gpu-kit bench fixtures clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## install what is missing (as root), or print the command
	@scripts/setup.sh

shim: setup ## build lib/libtorchpe.so against the libtorch found (LIBTORCH=/path or LIBTORCH=python)
	@scripts/build_shim.sh

build: shim ## build bin/torchpe
	@go build -buildvcs=auto -tags installed -o bin/torchpe ./cmd/torchpe && echo "built bin/torchpe"

demo: build ## train four models in minutes; table and demo/accuracy.pdf (LST=dir: published puzzles)
	@bin/torchpe demo --out demo $(if $(LST),--lst $(LST))

reproduce-quick: build ## a reduced grid of the paper on a CPU, 40 minutes; reproduce/report/index.html
	@bin/torchpe sweep quick --out reproduce && bin/torchpe report reproduce

evidence: ## write results/evidence, results/leaderboard and docs/encodings.md from the CSV files
	@go test ./results/evidence -count=1 -update
	@go test ./report/catalogue -run Page -count=1 -update

# Packages that import no libtorch; the module's name is a prefix of the one package of its root.
PURE = $$(go list -f '{{.ImportPath}} {{join .Deps " "}}' ./... | grep -v internal/ctorch | cut -d' ' -f1)
quick: ## run the short tests of what needs no libtorch (under a minute once it is built)
	@go test -short $(PURE)

test: shim ## run all tests (a quarter of an hour on two cores)
	@go test -timeout 30m $(GO_PACKAGES)

test-race: shim ## run the tests under the race detector
	@go test -race -short $(GO_PACKAGES)

test-libtorch2: shim ## check with libtorch 2.6 in a Debian 13 folder; RELEASE=sid: 2.14 (root; 1.7 GB)
	@scripts/test_libtorch2.sh

test-arm64: shim ## build for 64-bit ARM and run tests there by an emulator (Debian; root; 1.3 GB; 50 minutes)
	@scripts/test_arm64.sh

test-pytorch: ## compare exported models with PyTorch 2.6 in a Debian 13 folder (root; 1.5 GB)
	@scripts/test_pytorch.sh

test-cuda-build: ## check that the GPU side compiles and links, without a GPU (root; 7.5 GB)
	@scripts/test_cuda_build.sh

dist: shim ## pack an archive that runs without Go, root or other packages: dist/ (Debian; 78 MB); ARCH=arm64
	@ARCH=$(ARCH) scripts/dist.sh

test-dist: ## run that archive in bare Debian 12 and 13, Ubuntu 22.04 and 24.04 (root; 1 GB)
	@scripts/test_dist.sh

lint: ## gofmt, go vet and golangci-lint
	@scripts/lint.sh

fuzz: ## fuzz every reader of foreign files, a minute each
	@scripts/fuzz.sh 60

nightly: shim ## kills, histories of sweeps and fuzzing for hours: SIGKILL 200 times and more
	@TORCHPE_KILLS=200 TORCHPE_SWEEP_KILLS=200 TORCHPE_SWEEP_HISTORY=10m go test -count=1 -timeout 5h -v \
	  -run 'Killed|Histories' ./train ./train/sweep ./cmd/torchpe
	@scripts/fuzz.sh 240

gpu-kit: shim ## build what scripts/gpu_check.sh needs on a GPU machine without Go: .build/gpu.tgz
	@scripts/gpu_kit.sh

bench: build ## time a training step, beside PyTorch where python3 has it
	@scripts/bench.sh

fixtures: ## write all testdata anew from PyTorch, numpy, scipy, h5py and nibabel
	@scripts/setup.sh python3-torch python3-numpy python3-scipy python3-h5py python3-nibabel \
	  python3-protobuf protobuf-compiler
	@set -e; for make in scripts/reference_model.py scripts/reference_groups.py \
	  $$(git ls-files '*/testdata/make.py'); do echo $$make; /usr/bin/python3 $$make; done

clean: ## remove what was built and the demo
	@rm -rf bin .build dist lib demo third_party/libtorch
