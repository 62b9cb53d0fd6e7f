import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { ANSWER_CHECKS } from './answer-check.ts';

const textSchema = z.strictObject({ text: z.string().min(1) });

const questionSchema = z.strictObject({
  /** Questions of the same task are counted together. */
  task: z.string().min(1),
  prompt: z.string().min(1),
  system: z.string().optional(),
  answer: z.string(),
  check: z.enum(ANSWER_CHECKS).default('text'),
  max_tokens: z.int().positive().default(64),
});

export type Question = z.output<typeof questionSchema>;

/** What a model is measured with. */
export interface EvalData {
  /** Texts to predict, for perplexity. */
  readonly texts: readonly string[];
  readonly questions: readonly Question[];
}

/** A file of evaluation data that cannot be used, in words for the person who gave it. */
export class EvalFileError extends Error {
  override readonly name = 'EvalFileError';
}

/**
 * Reads evaluation data: JSON lines of `{"text"}` (perplexity) and of
 * `{"task", "prompt", "answer"}` with `system`, `check` and `max_tokens` as options (accuracy).
 * Any file not named `.jsonl` is one text.
 * @throws {EvalFileError} naming the line and what is wrong with it
 */
export async function readEvalFile(path: string): Promise<EvalData> {
  const content = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new EvalFileError(`${path} cannot be read`, { cause: error });
  });
  const data = path.endsWith('.jsonl')
    ? parseLines(content, path)
    : { texts: content === '' ? [] : [content], questions: [] };
  if (data.texts.length + data.questions.length === 0) throw new EvalFileError(`${path} is empty`);
  return data;
}

function parseLines(content: string, path: string): EvalData {
  const texts: string[] = [];
  const questions: Question[] = [];
  for (const [index, line] of content.split('\n').entries()) {
    if (line.trim() === '') continue;
    const origin = `${path}, line ${index + 1}`;
    const json = parseJson(line, origin);
    if (typeof json === 'object' && json !== null && 'text' in json) {
      texts.push(checked(textSchema, json, origin).text);
    } else {
      questions.push(checked(questionSchema, json, origin));
    }
  }
  return { texts, questions };
}

function parseJson(line: string, origin: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new EvalFileError(`${origin} is not JSON`, { cause: error });
  }
}

function checked<T>(schema: z.ZodType<T>, json: unknown, origin: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new EvalFileError(
    `${origin} is neither {"text"} nor {"task", "prompt", "answer"}: ${z.prettifyError(parsed.error)}`,
  );
}
