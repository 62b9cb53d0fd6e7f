import koffi from 'koffi';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ort, type Pointer } from './api.ts';
import { OrtError } from './error.ts';
import { libraryPath, PLATFORM, PREBUILT } from './native-library.ts';
import { reasonOf } from '../files/system-error.ts';

/** Instruction sets whose kernels are faster than ONNX Runtime's. */
const FAST: ReadonlySet<string> = new Set(['amx', 'avx512', 'avxvnni', 'avx2', 'i8mm', 'neon']);

/** The library of native/, loaded. */
export interface NativeKernels {
  /** Instruction set that they use on this CPU, such as `avx512`. */
  readonly instructions: string;
  /** Whether that is something better than ordinary instructions. */
  readonly isFast: boolean;
  /** Adds the operators to native session options. @throws OrtError when they are refused */
  register(options: Pointer): void;
}

/** The library, or why there is none. */
export type FoundKernels = NativeKernels | { readonly missing: string };

let found: FoundKernels | undefined;

/** A library that is collected is unloaded. */
const heldLibraries: unknown[] = [];

/**
 * The library of our own kernels for this platform, loaded once per process. CHAIRLIFT_NATIVE_KERNELS
 * names another folder to take it from.
 */
export function nativeKernels(): FoundKernels {
  found ??= loadNativeKernels(process.env['CHAIRLIFT_NATIVE_KERNELS'] ?? PREBUILT);
  return found;
}

/**
 * Loads the library for this platform from a folder like native/prebuilt, if it is what the folder's
 * list says: a damaged one could take the process down.
 */
export function loadNativeKernels(folder: string): FoundKernels {
  const path = libraryPath(folder);
  try {
    if (!existsSync(path)) return { missing: `there are none for ${PLATFORM}` };
    const expected = expectedHashes(folder);
    const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex');
    if (sha256 !== expected.sha256) return { missing: `${path} is damaged` };
    return bind(path, expected.sources);
  } catch (error) {
    return { missing: reasonOf(error) };
  }
}

function expectedHashes(folder: string): { sha256: string; sources: string } {
  const list: unknown = JSON.parse(readFileSync(join(folder, 'libraries.json'), 'utf8'));
  const entry = (list as Record<string, Record<string, unknown>>)[PLATFORM] ?? {};
  return { sha256: String(entry['sha256']), sources: String(entry['sources']) };
}

function bind(path: string, expectedSources: string): FoundKernels {
  const library = koffi.load(path);
  heldLibraries.push(library);
  const sources: string = library.func('chairliftSources', 'str', [])();
  if (sources !== expectedSources) return { missing: `${path} is of another version` };
  const instructions: string = library.func('chairliftInstructions', 'str', [])();
  const register = library.func('RegisterCustomOps', 'void *', ['void *', 'void *']);
  return {
    instructions,
    isFast: FAST.has(instructions),
    register(options) {
      const status: Pointer | null = register(options, ort().base);
      if (status !== null) throw new OrtError('the operators of native/ were refused', 1);
    },
  };
}

/** Adds the operators of native/ to session options. @throws OrtError where there is no library */
export function registerNativeKernels(options: Pointer): void {
  const kernels = nativeKernels();
  if ('missing' in kernels) {
    throw new OrtError(`the graph needs Chairlift's own kernels: ${kernels.missing}`, 9);
  }
  kernels.register(options);
}
