#!/bin/sh
# Checks and measures decoding on this machine's GPU. Works in the folder that scripts/gpu/pack.sh
# packed, with nothing installed but the GPU's driver, and in a checkout as well:
#
#   tar -xf OUT.tar.xz && chairlift/scripts/gpu/run.sh --out results --time-limit 570
#
# (Without xz: python3 -m tarfile -e OUT.tar.xz.) Arguments: see scripts/gpu/bench.ts.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
PATH=${PATH:-/usr/local/bin:/usr/bin:/bin}:/usr/sbin:/sbin
node=$root/gpu/bin/node
[ -x "$node" ] || node=node

# What is carried comes last: it is for machines that have none.
libraries=${LD_LIBRARY_PATH:-}
for folder in /usr/local/nvidia/lib64 "$root/gpu/lib"; do
  [ -d "$folder" ] && libraries=${libraries:+$libraries:}$folder
done
export LD_LIBRARY_PATH="$libraries"

# Containers often have NVIDIA's driver without the file that tells Vulkan of it, or elsewhere.
if [ -z "${VK_DRIVER_FILES:-}" ] &&
  ! ls /usr/share/vulkan/icd.d/nvidia*.json /etc/vulkan/icd.d/nvidia*.json >/dev/null 2>&1; then
  mounted=/usr/local/nvidia/share/vulkan/icd.d/nvidia_icd.json
  if [ -f "$mounted" ]; then
    export VK_DRIVER_FILES="$mounted"
  elif ldconfig -p 2>/dev/null | grep -q 'libGLX_nvidia\.so\.0' ||
    [ -e /usr/local/nvidia/lib64/libGLX_nvidia.so.0 ]; then
    icd=$(mktemp -d)/nvidia_icd.json
    printf '{"file_format_version":"1.0.0","ICD":{"library_path":"libGLX_nvidia.so.0","api_version":"1.3.0"}}\n' >"$icd"
    export VK_DRIVER_FILES="$icd"
  fi
fi

start=$PWD
out=gpu-results
wants_out=
for argument in "$@"; do
  [ "$wants_out" = yes ] && out=$argument
  wants_out=
  case $argument in --out) wants_out=yes ;; --out=*) out=${argument#--out=} ;; esac
done
case $out in /*) ;; *) out=$start/$out ;; esac
# tsx is found from the repository; results go to where it was started.
cd "$root"
if [ -f scripts/gpu/bench.js ]; then
  exec "$node" scripts/gpu/bench.js "$@" --out "$out"
fi
exec "$node" --import tsx scripts/gpu/bench.ts "$@" --out "$out"
