/**
 * @returns calls `action` once what runs now is done, fulfilled promises included, however often it is
 *   called until then
 */
export function coalesced(action: () => void): () => void {
  let isDue = false;
  return () => {
    if (isDue) return;
    isDue = true;
    process.nextTick(() => {
      isDue = false;
      action();
    });
  };
}
