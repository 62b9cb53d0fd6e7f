/** The server's word for how a model is, which `/v1/models` and the page say too. */
export type ModelState =
  | 'unloaded'
  | 'downloading'
  | 'building'
  | 'loading'
  | 'ready'
  | 'draining'
  | 'failed';
