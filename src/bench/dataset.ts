import { z } from 'zod';
import { explainZod } from '../explain-zod.ts';
import { BenchError } from './bench-error.ts';
import type { WorkItem } from './workload.ts';
import { readNamed } from '../files/named-files.ts';
import { reasonOf } from '../files/system-error.ts';

const tokens = z.int().positive().optional();
const message = z.object({ role: z.string(), content: z.string() });

const line = z
  .object({
    prompt: z.string().min(1).optional(),
    messages: z.array(message).min(1).optional(),
    output_tokens: tokens,
    max_tokens: tokens,
  })
  .refine(
    ({ prompt, messages }) => (prompt === undefined) !== (messages === undefined),
    'expected either "prompt" or "messages"',
  );

/**
 * Reads a JSONL file of prompts: one object a line, `{"prompt": TEXT}` or `{"messages": [...]}`, and
 * optionally how many tokens to generate (`output_tokens` or `max_tokens`).
 * @param outputTokens tokens to generate where a line does not say
 * @throws {UserError} naming the file and the line at fault
 */
export async function readDataset(path: string, outputTokens: number): Promise<WorkItem[]> {
  const text = await readNamed('--dataset-path', path);
  const items = text
    .split('\n')
    .map((content, index) => ({ content, number: index + 1 }))
    .filter(({ content }) => content.trim() !== '')
    .map(({ content, number }) => parseLine(content, `${path}, line ${number}`, outputTokens));
  if (items.length === 0) throw new BenchError(`${path} holds no prompts`);
  return items;
}

function parseLine(content: string, where: string, outputTokens: number): WorkItem {
  let json: unknown;
  try {
    json = JSON.parse(content);
  } catch (error) {
    throw new BenchError(`${where} is not JSON: ${reasonOf(error)}`, { cause: error });
  }
  const parsed = line.safeParse(json);
  if (!parsed.success) {
    throw new BenchError(`${where}: ${explainZod(parsed.error)}`);
  }
  const { prompt, messages, output_tokens: wanted, max_tokens: limit } = parsed.data;
  return {
    prompt: messages ? { messages } : { text: prompt ?? '' },
    promptTokens: null,
    maxTokens: wanted ?? limit ?? outputTokens,
  };
}
