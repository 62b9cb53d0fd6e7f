#!/bin/sh
# Checks and measures decoding on this machine's GPU. Works in the folder that scripts/gpu/pack.sh
# packed, with nothing installed but the GPU's driver, and in a checkout as well:
#
#   tar -xzf OUT.tar.gz && chairlift/scripts/gpu/run.sh --out results
#
# Arguments: see scripts/gpu/bench.ts.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
libraries=$root/gpu/lib
node=$root/gpu/bin/node
[ -x "$node" ] || node=node
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

# Containers often have NVIDIA's driver without the file that tells Vulkan of it.
if [ -z "${VK_DRIVER_FILES:-}" ] && ldconfig -p 2>/dev/null | grep -q 'libGLX_nvidia\.so\.0' &&
  ! ls /usr/share/vulkan/icd.d/nvidia*.json /etc/vulkan/icd.d/nvidia*.json >/dev/null 2>&1; then
  icd=$(mktemp -d)/nvidia_icd.json
  printf '{"file_format_version":"1.0.0","ICD":{"library_path":"libGLX_nvidia.so.0","api_version":"1.3.0"}}\n' >"$icd"
  export VK_DRIVER_FILES="$icd"
fi

# tsx is found from the repository; results go to where it was started.
start=$PWD
cd "$root"
out=gpu-results
for argument in "$@"; do
  if [ "${wants_out:-}" = yes ]; then out=$argument; wants_out=; fi
  [ "$argument" = --out ] && wants_out=yes
done
case $out in /*) ;; *) out=$start/$out ;; esac
exec "$node" --import tsx scripts/gpu/bench.ts "$@" --out "$out"
