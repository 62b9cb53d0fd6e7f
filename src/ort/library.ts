import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const FILE_NAMES: Partial<Record<NodeJS.Platform, string>> = {
  linux: 'libonnxruntime.so.1',
  darwin: 'libonnxruntime.1.dylib',
  win32: 'onnxruntime.dll',
};

/**
 * Path of the ONNX Runtime shared library inside the installed onnxruntime-node package.
 * @throws Error when the package ships none for this platform.
 */
export function onnxRuntimeLibraryPath(): string {
  const packageJson = createRequire(import.meta.url).resolve('onnxruntime-node/package.json');
  const fileName = FILE_NAMES[process.platform] ?? 'libonnxruntime.so.1';
  const folder = join(dirname(packageJson), 'bin', 'napi-v6', process.platform, process.arch);
  const path = join(folder, fileName);
  if (existsSync(path)) return path;
  throw new Error(
    `onnxruntime-node ships no ONNX Runtime for ${process.platform} ${process.arch}. ` +
      'Supported: Linux x64 and arm64 (glibc 2.28 or newer), macOS arm64, Windows x64 and arm64.',
  );
}
