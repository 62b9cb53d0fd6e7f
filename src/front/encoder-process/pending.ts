/** Promise, with the functions that settle it. */
export interface Pending<Result> {
  readonly promise: Promise<Result>;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: Error) => void;
}

/** A promise that is settled from outside; nobody has to wait for it. */
export function pending<Result>(): Pending<Result> {
  let resolve: Pending<Result>['resolve'] = () => {};
  let reject: Pending<Result>['reject'] = () => {};
  const promise = new Promise<Result>((...both) => ([resolve, reject] = both));
  // Nobody may be waiting when it fails.
  promise.catch(() => {});
  return { promise, resolve, reject };
}
