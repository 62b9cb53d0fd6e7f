import { readFile } from 'node:fs/promises';

const EVERY_MS = 100;

/**
 * Watches what a process takes of the memory while it runs a batch: texts in tensors lie outside of the
 * arena that bounds its runs. Does nothing on systems without /proc.
 * @param onBeyond called once it takes more than `maxBytes`
 * @returns a function that ends the watch
 */
export function watchMemory(
  pid: number | undefined,
  maxBytes: number,
  onBeyond: () => void,
): () => void {
  if (process.platform !== 'linux' || pid === undefined) return () => {};
  let isWatched = true;
  const look = async (): Promise<void> => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0);
    if (!isWatched || kilobytes * 1024 <= maxBytes) return;
    stop();
    onBeyond();
  };
  const timer = setInterval(() => void look(), EVERY_MS);
  const stop = (): void => {
    isWatched = false;
    clearInterval(timer);
  };
  return stop;
}
