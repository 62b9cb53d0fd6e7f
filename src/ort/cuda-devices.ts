/** Devices that the NVIDIA driver finds on this machine. */
import koffi from 'koffi';

export interface CudaDevice {
  readonly name: string;
  /** In bytes. */
  readonly memoryBytes: number;
}

const SUCCESS = 0;
const NAME_BYTES = 256;

/** In the order of CUDA's device ids; empty where there is no NVIDIA driver. */
export function cudaDevices(): CudaDevice[] {
  let cuda: ReturnType<typeof koffi.load>;
  try {
    cuda = koffi.load(process.platform === 'win32' ? 'nvcuda.dll' : 'libcuda.so.1');
  } catch {
    return [];
  }
  const init = cuda.func('cuInit', 'int', ['uint']);
  const deviceCount = cuda.func('cuDeviceGetCount', 'int', ['void *']);
  const deviceName = cuda.func('cuDeviceGetName', 'int', ['void *', 'int', 'int']);
  const totalMemory = cuda.func('cuDeviceTotalMem_v2', 'int', ['void *', 'int']);
  const count = new Int32Array(1);
  if (init(0) !== SUCCESS || deviceCount(count) !== SUCCESS) return [];
  return Array.from({ length: count[0] ?? 0 }, (_, device) => {
    const name = new Uint8Array(NAME_BYTES);
    const bytes = new BigUint64Array(1);
    deviceName(name, NAME_BYTES, device);
    totalMemory(bytes, device);
    const end = name.indexOf(0);
    return {
      name: new TextDecoder().decode(name.subarray(0, end)),
      memoryBytes: Number(bytes[0]),
    };
  });
}
