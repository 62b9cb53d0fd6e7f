import { existsSync } from 'node:fs';
import koffi from 'koffi';

/** SwiftShader, a Vulkan driver that computes on the CPU, as Debian's chromium-common has it. */
const SOFTWARE_DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json';

/**
 * The environment variables with which WebGPU runs on this machine without a GPU; null, and a line
 * that says so, where there is no such driver.
 */
export function softwareDriver(): Readonly<Record<string, string>> | null {
  if (existsSync(SOFTWARE_DRIVER) && hasVulkan()) return { VK_DRIVER_FILES: SOFTWARE_DRIVER };
  console.warn('skipped: WebGPU tests need a software Vulkan driver (chromium-common, libvulkan1)');
  return null;
}

function hasVulkan(): boolean {
  try {
    koffi.load('libvulkan.so.1');
    return true;
  } catch {
    return false;
  }
}
