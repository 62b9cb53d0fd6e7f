#!/bin/sh
# Packs everything that scripts/gpu/run.sh needs on a machine with a GPU and nothing else:
#
#   scripts/gpu/pack.sh OUT.tar.gz
#
# Run it where the repository is installed (npm ci). LIBRARIES may name a folder of further shared
# libraries to take along, such as CUDA's and cuDNN's for the CUDA provider.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 OUT.tar.gz" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.."

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
pack=$staging/chairlift
mkdir -p "$pack/gpu/bin" "$pack/gpu/lib"

git ls-files -co --exclude-standard -- . ':!node_modules' |
  while read -r file; do [ -f "$file" ] && echo "$file"; done |
  tar -cf - -T - | tar -xf - -C "$pack"
# The libraries of other platforms are most of the size.
mkdir "$pack/node_modules"
tar -cf - -C node_modules/ --exclude=./onnxruntime-node/bin/napi-v6/darwin \
  --exclude=./onnxruntime-node/bin/napi-v6/win32 --exclude=./.cache . |
  tar -xf - -C "$pack/node_modules"

cp -L "$(node -p process.execPath)" "$pack/gpu/bin/node"
vulkan=$(ldconfig -p | sed -n 's/.*libvulkan\.so\.1 .*x86-64.* => //p' | head -n 1)
if [ -n "$vulkan" ]; then
  cp -L "$vulkan" "$pack/gpu/lib/libvulkan.so.1"
else
  echo "no libvulkan.so.1 here (Debian: libvulkan1): WebGPU needs one on the other machine" >&2
fi
if [ -n "${LIBRARIES:-}" ]; then cp -LR "$LIBRARIES"/. "$pack/gpu/lib/"; fi

tar -czf "$out" -C "$staging" chairlift
echo "$out: $(du -h "$out" | cut -f 1)"
