/**
 * Memory outside of JavaScript's heap: ONNX Runtime keeps addresses across calls, and a typed array
 * that is collected meanwhile is a segmentation fault.
 */
import koffi from 'koffi';
import type { Pointer } from './api.ts';

/** Granularity of `discard`; a multiple of the page size on every platform that has one this small. */
const PAGE_BYTES = 4096;

interface PageMapper {
  /** Address space whose pages are zero and take no physical memory until first touched. */
  reserve(byteLength: number): Pointer;
  release(address: Pointer, byteLength: number): void;
  /** Gives whole pages back; they read as zeros or as before. */
  discard(address: Pointer, byteLength: number): void;
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
  #released = false;

  /** @throws Error when the address space can't be had */
  constructor(byteLength: number) {
    this.byteLength = byteLength;
    this.#address = pageMapper.reserve(byteLength);
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

  /**
   * Gives physical pages back that lie wholly within the range; its content is void. Does nothing
   * on Windows, where memory only goes back as a whole.
   */
  discard(byteOffset: number, byteLength: number): void {
    this.#checkRange(byteOffset, byteLength);
    const start = Math.ceil(byteOffset / PAGE_BYTES) * PAGE_BYTES;
    const end = Math.floor((byteOffset + byteLength) / PAGE_BYTES) * PAGE_BYTES;
    if (end > start) pageMapper.discard(this.address + BigInt(start), end - start);
  }

  /** Gives the memory back. Calling it again does nothing. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    pageMapper.release(this.#address, this.byteLength);
  }

  #checkRange(offset: number, length: number): void {
    if (offset >= 0 && length >= 0 && offset + length <= this.byteLength) return;
    throw new RangeError(`bytes ${offset}+${length} lie outside of ${this.byteLength} bytes`);
  }
}

/** Address of a typed array's data: stable, and valid as long as the array is referenced. */
export function addressOf(data: ArrayBufferView): Pointer {
  return koffi.address(data);
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
  const linux = process.platform === 'linux';
  const readWrite = 0x1 | 0x2;
  const privateAnonymousNoReserve = linux ? 0x2 | 0x20 | 0x4000 : 0x2 | 0x1000 | 0x40;
  const noHugePages = 15;
  // MADV_DONTNEED; on macOS only MADV_FREE lets go of the pages.
  const notNeeded = linux ? 4 : 5;
  return {
    reserve(byteLength) {
      const address = BigInt(mmap(0, byteLength, readWrite, privateAnonymousNoReserve, -1, 0));
      if (address === -1n) {
        throw new Error(`could not reserve ${byteLength} bytes (errno ${koffi.errno()})`);
      }
      // A 2 MiB page would take physical memory for a whole row at its first token.
      if (linux) madvise(address, byteLength, noHugePages);
      return address;
    },
    release(address, byteLength) {
      munmap(address, byteLength);
    },
    discard(address, byteLength) {
      madvise(address, byteLength, notNeeded);
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
    release(address) {
      virtualFree(address, 0, memRelease);
    },
    discard() {},
  };
}
