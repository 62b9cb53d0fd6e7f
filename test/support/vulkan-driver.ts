import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { C_COMPILER, type Requirement } from './needs.ts';

/** SwiftShader, a Vulkan driver that computes on the CPU, as Debian's chromium-common has it. */
const SOFTWARE_DRIVER = '/usr/lib/chromium/vk_swiftshader_icd.json';
const SOFTWARE_DRIVER_LIBRARY = '/usr/lib/chromium/libvk_swiftshader.so';

export const SOFTWARE_VULKAN: Requirement = {
  name: 'a software Vulkan driver (Debian: chromium-common and libvulkan1)',
  isThere: existsSync(SOFTWARE_DRIVER) && hasVulkan(),
};

/**
 * The environment variables with which WebGPU runs on this machine without a GPU; null where there is no
 * such driver.
 */
export function softwareDriver(): Readonly<Record<string, string>> | null {
  return SOFTWARE_VULKAN.isThere ? { VK_DRIVER_FILES: SOFTWARE_DRIVER } : null;
}

type Fault = 'lost' | 'oom';

export interface FaultyDriver {
  readonly env: Readonly<Record<string, string>>;
  /** Makes the next submission find the device lost, or the next allocation no memory. */
  inject(fault: Fault): void;
  /** Whether the fault has not come about yet. */
  isPending(fault: Fault): boolean;
}

/**
 * The software driver, with failures on request; null where no C compiler is at hand to make it.
 * @param directory for its files, temporary
 */
export function faultyDriver(directory: string): FaultyDriver | null {
  if (!SOFTWARE_VULKAN.isThere || !C_COMPILER.isThere) return null;
  const library = join(directory, 'libfaulty-vulkan.so');
  const source = join(import.meta.dirname, 'faulty-vulkan.c');
  const define = `-DSWIFTSHADER="${SOFTWARE_DRIVER_LIBRARY}"`;
  const args = ['-shared', '-fPIC', define, source, '-o', library, '-ldl'];
  execFileSync('cc', args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const icd = join(directory, 'faulty-vulkan.json');
  const manifest = { library_path: library, api_version: '1.0.5' };
  writeFileSync(icd, JSON.stringify({ file_format_version: '1.0.0', ICD: manifest }));
  return {
    env: { VK_DRIVER_FILES: icd, FAULTY_VULKAN_DIR: directory },
    inject: (fault) => writeFileSync(join(directory, fault), ''),
    isPending: (fault) => existsSync(join(directory, fault)),
  };
}

function hasVulkan(): boolean {
  try {
    koffi.load('libvulkan.so.1');
    return true;
  } catch {
    return false;
  }
}
