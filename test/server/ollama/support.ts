import { Ollama } from 'ollama';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Target } from '../support/client.ts';

export function clientOf({ url }: Target): Ollama {
  return new Ollama({ host: url });
}

/** The error of `response`: Ollama's form. */
export async function expectOllamaError(response: Response, status: number): Promise<string> {
  const text = await response.text();
  expect({ status: response.status, text }).toMatchObject({ status });
  return z
    .strictObject({ error: z.string().min(1), code: z.string().optional() })
    .parse(JSON.parse(text)).error;
}

export async function all<T>(lines: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const line of lines) found.push(line);
  return found;
}
