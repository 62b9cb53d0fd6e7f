#!/bin/sh
# Packs what scripts/gpu/run.sh needs on an x64 Linux machine with a GPU and nothing else:
#
#   scripts/gpu/pack.sh OUT.tar.xz      (35 MiB; other endings of tar do as well)
#
# Run it where the repository is installed (npm ci). LIBRARIES may name a folder of further shared
# libraries to take along, such as CUDA's and cuDNN's for the CUDA provider. That provider itself is
# taken along if onnxruntime-node's install script has fetched it.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 OUT.tar.xz" >&2; exit 2; }
case $1 in /*) out=$1 ;; *) out=$PWD/$1 ;; esac
cd "$(dirname "$0")/../.."

staging=$(mktemp -d)
trap 'rm -rf "$staging"' EXIT
pack=$staging/chairlift
mkdir -p "$pack/gpu/bin" "$pack/gpu/lib" "$pack/scripts/gpu" "$pack/node_modules"

# In one file each, and with them the packages that have native code.
node_modules/.bin/esbuild scripts/gpu/bench.ts scripts/gpu/measure.ts --outdir="$pack/scripts/gpu" \
  --bundle --platform=node --target=node20 --format=esm --external:koffi \
  --external:onnxruntime-node --log-level=warning
cp scripts/gpu/run.sh scripts/gpu/torch_generate.py "$pack/scripts/gpu/"
cp package.json "$pack/"
tar -cf - -C node_modules/ --exclude='onnxruntime-node/bin/napi-v6/darwin' \
  --exclude='onnxruntime-node/bin/napi-v6/win32' --exclude='onnxruntime-node/bin/napi-v6/linux/arm64' \
  --exclude='koffi/doc' --exclude='koffi/vendor' \
  koffi @koromix/koffi-linux-x64 onnxruntime-node | tar -xf - -C "$pack/node_modules"

cp -L "$(node -p process.execPath)" "$pack/gpu/bin/node"
strip -s "$pack/gpu/bin/node" 2>/dev/null || true
# The Vulkan loader, and what NVIDIA's driver for it wants though nothing is drawn.
for name in libvulkan.so.1 libX11.so.6 libXext.so.6 libxcb.so.1 libXau.so.6 libXdmcp.so.6 \
  libbsd.so.0 libmd.so.0; do
  path=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -n "s|^[[:space:]]*$name (.*x86-64.*) => ||p" | head -n 1)
  if [ -n "$path" ]; then
    cp -L "$path" "$pack/gpu/lib/$name"
  else
    echo "no $name here: WebGPU may need one on the other machine" >&2
  fi
done
if [ -n "${LIBRARIES:-}" ]; then cp -LR "$LIBRARIES"/. "$pack/gpu/lib/"; fi

tar -caf "$out" -C "$staging" chairlift
echo "$out: $(du -h "$out" | cut -f 1)"
