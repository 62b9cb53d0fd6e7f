/** The models that this server has, and their states. */
import { requestJson } from './request.ts';

export interface Model {
  readonly id: string;
  readonly max_model_len: number | null;
  /** Such as `chat`; null where that is not known. */
  readonly capabilities: readonly string[] | null;
  readonly status: {
    readonly value:
      | 'unloaded'
      | 'downloading'
      | 'building'
      | 'loading'
      | 'ready'
      | 'draining'
      | 'failed';
    readonly reason?: string;
  };
}

export async function listModels(signal?: AbortSignal): Promise<readonly Model[]> {
  const { data } = await requestJson<{ data: readonly Model[] }>('/v1/models', {
    ...(signal === undefined ? {} : { signal }),
  });
  return data;
}
