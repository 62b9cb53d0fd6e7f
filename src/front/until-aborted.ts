/** @throws the signal's reason if it aborts first */
export async function untilAborted(done: Promise<void>, signal: AbortSignal): Promise<void> {
  let leave = (): void => {};
  const left = new Promise<never>((_resolve, reject) => {
    leave = () => reject(signal.reason as Error);
  });
  signal.addEventListener('abort', leave, { once: true });
  try {
    await Promise.race([done, left]);
  } finally {
    signal.removeEventListener('abort', leave);
  }
}
