/** Nothing but a stored answer would have done, and there is none. */
export class NotCachedError extends Error {
  override readonly name = 'NotCachedError';

  constructor() {
    super('no stored answer to this request will do');
  }
}
