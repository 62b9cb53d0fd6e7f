import { z } from 'zod';
import { explainZod } from '../explain-zod.ts';
import { ANSWER_CHECKS } from './answer-check.ts';
import { readNamed } from '../files/named-files.ts';
import { UserError } from '../user-error.ts';

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

/** Data that a model is evaluated with. */
export interface EvalData {
  /** Texts to predict, for perplexity. */
  readonly texts: readonly string[];
  readonly questions: readonly Question[];
}

/**
 * Reads evaluation data: JSON lines of `{"text"}` (perplexity) and of
 * `{"task", "prompt", "answer"}` with `system`, `check` and `max_tokens` as options (accuracy).
 * Any file not named `.jsonl` is one text.
 * @param flag by which the file was named
 * @throws {UserError} naming the line and what is wrong with it
 */
export async function readEvalFile(path: string, flag = '--data'): Promise<EvalData> {
  const content = await readNamed(flag, path);
  const data = path.endsWith('.jsonl')
    ? parseLines(content, path)
    : { texts: content === '' ? [] : [content], questions: [] };
  if (data.texts.length + data.questions.length === 0) throw new UserError(`${path} is empty`);
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
    throw new UserError(`${origin} is not JSON`, { cause: error });
  }
}

function checked<T>(schema: z.ZodType<T>, json: unknown, origin: string): T {
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new UserError(
    `${origin} is neither {"text"} nor {"task", "prompt", "answer"}: ${explainZod(parsed.error)}`,
  );
}
