/** A benchmark that cannot run: no server, an unreadable dataset. The message says all. */
export class BenchError extends Error {
  override readonly name = 'BenchError';
}
