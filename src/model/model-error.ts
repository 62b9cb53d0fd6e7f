/** A model that cannot be used, in words for the person who chose it. */
export class ModelError extends Error {
  override readonly name = 'ModelError';
}
