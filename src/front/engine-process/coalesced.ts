import { guarded } from '../../guarded.ts';

/**
 * @param fail told of what `action` throws
 * @returns calls `action` once what runs now is done, fulfilled promises included, however often it is
 *   called until then
 */
export function coalesced(action: () => void, fail: (error: unknown) => void): () => void {
  let isDue = false;
  const run = guarded(
    () => {
      isDue = false;
      action();
    },
    (error) => {
      isDue = false;
      fail(error);
    },
  );
  return () => {
    if (isDue) return;
    isDue = true;
    process.nextTick(run);
  };
}
