/**
 * A listener whose errors go to `fail`. Thrown to whoever calls listeners, an error reaches nobody who waits for
 * what the listener would have done.
 */
export function guarded<Args extends readonly unknown[]>(
  run: (...args: Args) => void,
  fail: (error: unknown, ...args: Args) => void,
): (...args: Args) => void {
  return (...args) => {
    try {
      run(...args);
    } catch (error) {
      fail(error, ...args);
    }
  };
}

/** Closes a connection that went wrong here: what its client waits for will not come. @throws the error again */
export function cut(error: unknown, connection: { destroy(): unknown }): never {
  connection.destroy();
  throw error;
}
