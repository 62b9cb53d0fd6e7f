/** Flags that are valid one by one, but not together or not with this model. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
