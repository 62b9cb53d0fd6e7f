import { z } from 'zod';
import { ConnectionError, get, readJsonAnswer } from '../net/get.ts';
import { BenchError } from './bench-error.ts';
import { reasonOf } from '../files/system-error.ts';

export interface ServerInfo {
  readonly model: string;
  /** Whether it is Chairlift, which takes token ids and `ignore_eos`. */
  readonly isChairlift: boolean;
  /** Tokens that a prompt and its answer may have together; null when the server does not say. */
  readonly maxModelLen: number | null;
}

const models = z.object({
  data: z.array(
    z.object({
      id: z.string(),
      owned_by: z.string().nullish(),
      max_model_len: z.number().nullish(),
    }),
  ),
});

/**
 * Asks a server for its models.
 * @param wanted which of them to use; the first if undefined
 * @throws {BenchError} if there is no server, or it has no model
 */
export async function askServer(
  baseUrl: URL,
  headers: Readonly<Record<string, string>>,
  wanted: string | undefined,
): Promise<ServerInfo> {
  const url = joinUrl(baseUrl, '/v1/models');
  const found = await listModels(url, headers).catch((error: unknown) => {
    // A server without a list of models can still be tested if the model is named.
    if (wanted !== undefined && !(error instanceof ConnectionError)) return [];
    const reason = reasonOf(error);
    throw new BenchError(`${url.href} does not list models (${reason}): is the server up?`, {
      cause: error,
    });
  });
  const model = found.find(({ id }) => id === wanted) ?? found[0];
  const id = wanted ?? model?.id;
  if (id === undefined) throw new BenchError(`${url.href} lists no model: give --model`);
  return {
    model: id,
    isChairlift: model?.owned_by === 'chairlift',
    maxModelLen: model?.max_model_len ?? null,
  };
}

/** An endpoint below a base address that may end in a slash or have a path of its own. */
export function joinUrl(baseUrl: URL, endpoint: string): URL {
  const base = baseUrl.href.replace(/\/+$/, '');
  return new URL(`${base}/${endpoint.replace(/^\/+/, '')}`);
}

async function listModels(
  url: URL,
  headers: Readonly<Record<string, string>>,
): Promise<z.output<typeof models>['data']> {
  const answer = await get(url, headers);
  if (answer.status === 200) return models.parse(await readJsonAnswer(answer)).data;
  answer.body.destroy();
  throw new Error(`HTTP ${answer.status}`);
}
