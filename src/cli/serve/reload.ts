/** Runs `reload` at each SIGHUP, one after the other. */
export function onReloadSignal(reload: () => Promise<void>): void {
  let last = Promise.resolve();
  process.on('SIGHUP', () => {
    last = last.then(reload).catch((error: unknown) => console.error(error));
  });
}
