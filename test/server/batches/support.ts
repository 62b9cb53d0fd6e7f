import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { afterEach, expect, vi } from 'vitest';
import {
  BatchService,
  type BatchServiceOptions,
} from '../../../src/server/batches/batch-service.ts';
import { MODEL, type TestServer } from '../support/test-server.ts';

export type BatchStart = Partial<BatchServiceOptions>;

/** Opens services over folders of their own, and ends them with the test. */
export function useServices(): (options?: BatchStart) => Promise<BatchService> {
  const folders: string[] = [];
  const services: BatchService[] = [];
  afterEach(async () => {
    await Promise.all(services.splice(0).map((service) => service.close()));
    await Promise.all(folders.splice(0).map((folder) => rm(folder, { recursive: true })));
  });
  return async ({ folder, ...options } = {}) => {
    const used = folder ?? (await mkdtemp(join(tmpdir(), 'batches-')));
    if (folder === undefined) folders.push(used);
    const service = await BatchService.open({
      folder: used,
      maxBytes: 2 ** 30,
      maxInFlight: 4,
      ...options,
    });
    services.push(service);
    return service;
  };
}

export function clientOf({ url }: Pick<TestServer, 'url'>, apiKey = 'none'): OpenAI {
  return new OpenAI({ baseURL: `${url}/v1`, apiKey, maxRetries: 0 });
}

/** A line that asks for a completion. */
export function line(
  index: number,
  body: object = {},
  custom_id = `line-${index}`,
  url = '/v1/completions',
): string {
  return JSON.stringify({
    custom_id,
    method: 'POST',
    url,
    body: { model: MODEL, prompt: `Say ${index}`, max_tokens: 20, ...body },
  });
}

export function lines(count: number): string {
  return Array.from({ length: count }, (_, index) => `${line(index)}\n`).join('');
}

export async function upload(client: OpenAI, text: string) {
  return client.files.create({
    file: await toFile(Buffer.from(text), 'in.jsonl'),
    purpose: 'batch',
  });
}

export async function start(
  client: OpenAI,
  text: string,
  endpoint: OpenAI.BatchCreateParams['endpoint'] = '/v1/completions',
) {
  const { id } = await upload(client, text);
  return client.batches.create({
    input_file_id: id,
    endpoint,
    completion_window: '24h',
  });
}

/** Waits until it has ended. */
export async function ended(client: OpenAI, id: string) {
  return vi.waitFor(
    async () => {
      const batch = await client.batches.retrieve(id);
      expect(['completed', 'failed', 'expired', 'cancelled']).toContain(batch.status);
      return batch;
    },
    { timeout: 20_000, interval: 30 },
  );
}

export interface Result {
  readonly id: string;
  readonly custom_id: string;
  readonly response: {
    readonly status_code: number;
    readonly body: Record<string, unknown>;
  } | null;
  readonly error: { readonly code: string } | null;
}

/** The lines of a file; none without one. */
export async function resultsOf(client: OpenAI, fileId: string | null | undefined) {
  if (fileId === null || fileId === undefined) return [];
  const text = await (await client.files.content(fileId)).text();
  return text
    .split('\n')
    .filter((each) => each !== '')
    .map((each): Result => JSON.parse(each));
}
