#!/usr/bin/env bash
# gofmt, go vet, and golangci-lint (installed into .build/tools on first use).
set -euo pipefail
cd "$(dirname "$0")/.."
version=v2.15.0
unformatted=$(git ls-files '*.go' | xargs gofmt -l)
[ -z "$unformatted" ] || { echo "gofmt would change:" >&2; echo "$unformatted" >&2; exit 1; }
go vet ./...
tool=.build/tools/golangci-lint-$version
if [ ! -x "$tool" ]; then
  mkdir -p .build/tools
  GOBIN="$PWD/.build/tools" go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$version"
  mv .build/tools/golangci-lint "$tool"
fi
"$tool" run ./...
