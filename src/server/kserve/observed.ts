import type { ModelKey } from '../../front/registry/model-definition.ts';
import type { ServerContext } from '../context.ts';

/** Counts a request of a model without state among the model's inferences. */
export async function observed<T>(
  { statistics }: Pick<ServerContext, 'statistics'>,
  key: ModelKey,
  action: () => Promise<T>,
): Promise<T> {
  const observer = statistics.observe(key);
  observer.queued(performance.now());
  observer.admitted(performance.now());
  try {
    const answer = await action();
    observer.finished('stop', performance.now(), 0);
    return answer;
  } catch (error) {
    observer.finished('error', performance.now(), 0);
    throw error;
  }
}
