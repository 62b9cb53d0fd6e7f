/**
 * Memory outside of JavaScript's heap: ONNX Runtime keeps addresses across calls, and a typed array
 * that is collected meanwhile is a segmentation fault.
 */
import koffi from 'koffi';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { Pointer } from './api.ts';

/** Granularity of `discard`; a multiple of the page size on every platform that has one this small. */
export const PAGE_BYTES = 4096;

interface PageMapper {
  /**
   * Address space whose pages are zero and take no physical memory until first touched.
   * @param descriptor of shared memory to map; private memory if null
   */
  reserve(byteLength: number, descriptor: number | null): Pointer;
  /** A file's bytes, to be read only; null where files can't be mapped. */
  mapFile(byteLength: number, descriptor: number): Pointer | null;
  /**
   * Bytes of a file, that are mapped at an address, in huge pages at the same address.
   * @returns whether they are; if not they are mapped as before
   * @throws Error when the file can't be read any more
   */
  copyFile(address: Pointer, byteLength: number, descriptor: number, byteOffset: number): boolean;
  release(address: Pointer, byteLength: number): void;
  /** Gives whole pages back; they read as zeros or as before. */
  discard(address: Pointer, byteLength: number, isShared: boolean): void;
}

const pageMapper = process.platform === 'win32' ? windowsPageMapper() : posixPageMapper();
const memmove = (process.platform === 'win32' ? koffi.load('ucrtbase.dll') : koffi.load(null)).func(
  'memmove',
  'void *',
  ['void *', 'void *', 'size_t'],
);

/** A block of zeroed, page-aligned native memory. Physical pages are taken at first touch. */
export class NativeMemory {
  readonly byteLength: number;
  readonly #address: Pointer;
  readonly #isShared: boolean;
  /** Descriptor of the file that is mapped, if one is. */
  #file: number | null = null;
  #released = false;

  /**
   * @param descriptor from `createSharedMemory`, of at least as many bytes; private memory if null
   * @param address of memory that is mapped already
   * @throws Error when the address space can't be had
   */
  constructor(byteLength: number, descriptor: number | null = null, address?: Pointer) {
    this.byteLength = byteLength;
    this.#isShared = descriptor !== null;
    this.#address = address ?? pageMapper.reserve(byteLength, descriptor);
  }

  /**
   * A file's bytes, to be read only: its pages are read when they are touched, and again after
   * `discard`. Where files can't be mapped, a copy.
   * @throws Error when the file can't be read
   */
  static ofFile(path: string): NativeMemory {
    const descriptor = openSync(path, 'r');
    let isMapped = false;
    try {
      const { size } = fstatSync(descriptor);
      const address = pageMapper.mapFile(size, descriptor);
      if (address !== null) {
        const memory = new NativeMemory(size, null, address);
        memory.#file = descriptor;
        isMapped = true;
        return memory;
      }
      const copy = new NativeMemory(size);
      readWhole(descriptor, Buffer.from(copy.view()));
      return copy;
    } finally {
      if (!isMapped) closeSync(descriptor);
    }
  }

  /**
   * Reads bytes of the file that is mapped into huge pages at the same addresses, which nobody must read meanwhile.
   * `discard` would lose them.
   * @param byteOffset @param byteLength of pages
   * @returns whether they are there; all is as before if not
   */
  copyToHugePages(byteOffset: number, byteLength: number): boolean {
    this.#checkRange(byteOffset, byteLength);
    if (this.#file === null) return false;
    const address = this.address + BigInt(byteOffset);
    return pageMapper.copyFile(address, byteLength, this.#file, byteOffset);
  }

  get address(): Pointer {
    if (this.#released) throw new Error('native memory used after its release');
    return this.#address;
  }

  /**
   * A window on part of the memory. The memory must not be released while the window is in use.
   * @param byteOffset @param byteLength of the window, in bytes
   */
  view(byteOffset = 0, byteLength = this.byteLength - byteOffset): ArrayBuffer {
    this.#checkRange(byteOffset, byteLength);
    return koffi.view(this.address + BigInt(byteOffset), byteLength);
  }

  /** Copies bytes within this memory; the ranges may overlap. */
  copyWithin(toOffset: number, fromOffset: number, byteLength: number): void {
    this.#checkRange(toOffset, byteLength);
    this.#checkRange(fromOffset, byteLength);
    memmove(this.address + BigInt(toOffset), this.address + BigInt(fromOffset), byteLength);
  }

  /** Copies from this memory to an array. @param at index in the array */
  copyTo(target: Uint8Array, at: number, fromOffset: number, byteLength: number): void {
    this.#checkRange(fromOffset, byteLength);
    const bytes = target.subarray(at, at + byteLength);
    memmove(addressOf(bytes), this.address + BigInt(fromOffset), bytes.byteLength);
    keepDuringJob(target);
  }

  /** Copies from an array to this memory. @param at index in the array */
  copyFrom(source: Uint8Array, at: number, toOffset: number, byteLength: number): void {
    this.#checkRange(toOffset, byteLength);
    const bytes = source.subarray(at, at + byteLength);
    memmove(this.address + BigInt(toOffset), addressOf(bytes), bytes.byteLength);
    keepDuringJob(source);
  }

  /**
   * Gives back the physical pages that are wholly within the range; their content is void. Does
   * nothing on Windows, where memory only goes back as a whole.
   */
  discard(byteOffset: number, byteLength: number): void {
    this.#checkRange(byteOffset, byteLength);
    const start = Math.ceil(byteOffset / PAGE_BYTES) * PAGE_BYTES;
    const end = Math.floor((byteOffset + byteLength) / PAGE_BYTES) * PAGE_BYTES;
    if (end > start) pageMapper.discard(this.address + BigInt(start), end - start, this.#isShared);
  }

  /** Gives the memory back. Calling it again does nothing. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    pageMapper.release(this.#address, this.byteLength);
    if (this.#file !== null) closeSync(this.#file);
  }

  #checkRange(offset: number, length: number): void {
    if (offset >= 0 && length >= 0 && offset + length <= this.byteLength) return;
    throw new RangeError(`bytes ${offset}+${length} lie outside of ${this.byteLength} bytes`);
  }
}

/**
 * Makes anonymous memory that lives as long as any process has a descriptor or a mapping of it.
 * @returns a file descriptor
 * @throws Error where that can't be had: anywhere but on Linux
 */
export function createSharedMemory(byteLength: number): number {
  if (process.platform !== 'linux') throw new Error('shared memory needs Linux');
  const libc = koffi.load(null);
  const memfdCreate = libc.func('memfd_create', 'int', ['str', 'uint32_t']);
  const ftruncate = libc.func('ftruncate', 'int', ['int', 'int64_t']);
  const descriptor: number = memfdCreate('chairlift', 0);
  if (descriptor < 0 || ftruncate(descriptor, byteLength) !== 0) {
    throw new Error(`could not make ${byteLength} bytes of shared memory (errno ${koffi.errno()})`);
  }
  return descriptor;
}

/** Address of a typed array's data: stable, and valid as long as the array is referenced. */
export function addressOf(data: ArrayBufferView): Pointer {
  return koffi.address(data);
}

/**
 * Keeps objects until the current job ends, whose memory a call is about to read by address: after its last
 * use in JavaScript, which is before the call, an object may be collected.
 */
export function keepDuringJob(...objects: readonly object[]): void {
  // The target of a new WeakRef is not collected in the same job.
  for (const object of objects) new WeakRef(object).deref();
}

function readWhole(descriptor: number, target: Buffer): void {
  let done = 0;
  while (done < target.byteLength) {
    const count = readSync(
      descriptor,
      target,
      done,
      Math.min(2 ** 30, target.byteLength - done),
      done,
    );
    if (count === 0) throw new Error('the file became shorter while it was read');
    done += count;
  }
}

function posixPageMapper(): PageMapper {
  const libc = koffi.load(null);
  const mmap = libc.func('mmap', 'intptr_t', [
    'intptr_t',
    'size_t',
    'int',
    'int',
    'int',
    'int64_t',
  ]);
  const munmap = libc.func('munmap', 'int', ['intptr_t', 'size_t']);
  const madvise = libc.func('madvise', 'int', ['intptr_t', 'size_t', 'int']);
  const mprotect = libc.func('mprotect', 'int', ['intptr_t', 'size_t', 'int']);
  const pread = libc.func('pread', 'intptr_t', ['int', 'intptr_t', 'size_t', 'int64_t']);
  const linux = process.platform === 'linux';
  const readWrite = 0x1 | 0x2;
  const privateAnonymousNoReserve = linux ? 0x2 | 0x20 | 0x4000 : 0x2 | 0x1000 | 0x40;
  const [hugePages, noHugePages] = [14, 15];
  const atAddress = 0x10;
  // MADV_DONTNEED; on macOS only MADV_FREE frees the pages.
  const notNeeded = linux ? 4 : 5;
  // MADV_REMOVE: pages of shared memory belong to the file, not to the mapping.
  const remove = 9;
  const sharedNoReserve = 0x1 | 0x4000;
  const [readOnly, privateMapping] = [0x1, 0x2];
  return {
    reserve(byteLength, descriptor) {
      const flags = descriptor === null ? privateAnonymousNoReserve : sharedNoReserve;
      const address = BigInt(mmap(0, byteLength, readWrite, flags, descriptor ?? -1, 0));
      if (address === -1n) {
        throw new Error(`could not reserve ${byteLength} bytes (errno ${koffi.errno()})`);
      }
      // A 2 MiB page would take physical memory for a whole slot at its first token.
      if (linux) madvise(address, byteLength, noHugePages);
      return address;
    },
    mapFile(byteLength, descriptor) {
      const address = BigInt(mmap(0, byteLength, readOnly, privateMapping, descriptor, 0));
      if (address === -1n) {
        throw new Error(`could not map ${byteLength} bytes of a file (errno ${koffi.errno()})`);
      }
      return address;
    },
    copyFile(address, byteLength, descriptor, byteOffset) {
      const flags = privateAnonymousNoReserve | atAddress;
      const isMapped = BigInt(mmap(address, byteLength, readWrite, flags, -1, 0)) === address;
      if (isMapped) {
        madvise(address, byteLength, hugePages);
        let done = 0;
        for (let count = 1; count > 0 && done < byteLength; done += count) {
          const to = address + BigInt(done);
          count = Number(pread(descriptor, to, byteLength - done, byteOffset + done));
        }
        if (done === byteLength && mprotect(address, byteLength, readOnly) === 0) return true;
      }
      const again = privateMapping | atAddress;
      const mapped = mmap(address, byteLength, readOnly, again, descriptor, byteOffset);
      if (BigInt(mapped) === address) return false;
      throw new Error(`could not map ${byteLength} bytes of a file again (errno ${koffi.errno()})`);
    },
    release(address, byteLength) {
      munmap(address, byteLength);
    },
    discard(address, byteLength, isShared) {
      madvise(address, byteLength, isShared ? remove : notNeeded);
    },
  };
}

function windowsPageMapper(): PageMapper {
  const kernel32 = koffi.load('kernel32.dll');
  const virtualAlloc = kernel32.func('VirtualAlloc', 'intptr_t', [
    'intptr_t',
    'size_t',
    'uint32_t',
    'uint32_t',
  ]);
  const virtualFree = kernel32.func('VirtualFree', 'int', ['intptr_t', 'size_t', 'uint32_t']);
  const commitAndReserve = 0x1000 | 0x2000;
  const pageReadWrite = 0x04;
  const memRelease = 0x8000;
  return {
    reserve(byteLength) {
      const address = BigInt(virtualAlloc(0, byteLength, commitAndReserve, pageReadWrite));
      if (address === 0n) throw new Error(`could not reserve ${byteLength} bytes`);
      return address;
    },
    mapFile: () => null,
    copyFile: () => false,
    release(address) {
      virtualFree(address, 0, memRelease);
    },
    discard() {},
  };
}
