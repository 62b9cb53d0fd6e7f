import type { Writable } from 'node:stream';

/** Resolves when a response or its connection takes more, or never will. */
export function drained(writable: Writable): Promise<void> {
  if (writable.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    const settle = (): void => {
      writable.off('drain', settle).off('close', settle);
      resolve();
    };
    writable.on('drain', settle).on('close', settle);
  });
}
