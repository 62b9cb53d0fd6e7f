/** Devices that the Vulkan loader finds on this machine: WebGPU runs on it under Linux. */
import koffi from 'koffi';

export interface VulkanDevice {
  readonly name: string;
  /** A driver that computes on the CPU, slower than the CPU by itself. */
  readonly isSoftware: boolean;
  /** Memory of its own (of a GPU that shares the machine's: what it may take of that), in bytes. */
  readonly memoryBytes: number;
}

// From vulkan_core.h: values of enumerations, and offsets and sizes of structures in bytes.
const SUCCESS = 0;
const INSTANCE_CREATE_INFO = { type: 1, bytes: 64 };
const PROPERTIES = { bytes: 1024, deviceType: 16, deviceName: 20, deviceNameBytes: 256 };
const MEMORY = { bytes: 1024, heapCount: 260, heaps: 264, heapBytes: 16, heapFlags: 8 };
const DEVICE_TYPE_CPU = 4;
const HEAP_IS_DEVICE_LOCAL = 1;
const MAX_DEVICES = 16;

/** Empty where there is no Vulkan loader or no driver. */
export function vulkanDevices(): VulkanDevice[] {
  let vulkan: ReturnType<typeof koffi.load>;
  try {
    vulkan = koffi.load(process.platform === 'win32' ? 'vulkan-1.dll' : 'libvulkan.so.1');
  } catch {
    return [];
  }
  const createInstance = vulkan.func('vkCreateInstance', 'int', ['void *', 'void *', 'void *']);
  const destroyInstance = vulkan.func('vkDestroyInstance', 'void', ['void *', 'void *']);
  const enumerate = vulkan.func('vkEnumeratePhysicalDevices', 'int', [
    'void *',
    'void *',
    'void *',
  ]);
  const getProperties = vulkan.func('vkGetPhysicalDeviceProperties', 'void', ['void *', 'void *']);
  const getMemory = vulkan.func('vkGetPhysicalDeviceMemoryProperties', 'void', [
    'void *',
    'void *',
  ]);

  const info = new DataView(new ArrayBuffer(INSTANCE_CREATE_INFO.bytes));
  info.setUint32(0, INSTANCE_CREATE_INFO.type, true);
  const instance = new BigUint64Array(1);
  if (createInstance(info, null, instance) !== SUCCESS) return [];
  try {
    const count = Uint32Array.of(MAX_DEVICES);
    const handles = new BigUint64Array(MAX_DEVICES);
    if (enumerate(instance[0], count, handles) < SUCCESS) return [];
    return Array.from(handles.subarray(0, count[0]), (handle) => {
      const properties = new DataView(new ArrayBuffer(PROPERTIES.bytes));
      getProperties(handle, properties);
      const memory = new DataView(new ArrayBuffer(MEMORY.bytes));
      getMemory(handle, memory);
      return {
        name: text(properties, PROPERTIES.deviceName, PROPERTIES.deviceNameBytes),
        isSoftware: properties.getUint32(PROPERTIES.deviceType, true) === DEVICE_TYPE_CPU,
        memoryBytes: largestLocalHeap(memory),
      };
    });
  } finally {
    destroyInstance(instance[0], null);
  }
}

function largestLocalHeap(memory: DataView): number {
  let largest = 0;
  for (let heap = 0; heap < memory.getUint32(MEMORY.heapCount, true); heap++) {
    const offset = MEMORY.heaps + heap * MEMORY.heapBytes;
    const isLocal = memory.getUint32(offset + MEMORY.heapFlags, true) & HEAP_IS_DEVICE_LOCAL;
    if (isLocal) largest = Math.max(largest, Number(memory.getBigUint64(offset, true)));
  }
  return largest;
}

/** A string that ends with a zero. */
function text(view: DataView, offset: number, maxBytes: number): string {
  const bytes = new Uint8Array(view.buffer, offset, maxBytes);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}
