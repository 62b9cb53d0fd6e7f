import { stat } from 'node:fs/promises';
import type { ChatTemplate } from '../front/templates/chat-template.ts';
import type { TextTokenizer } from '../front/text/tokenizer.ts';
import type { BuiltModel, KvCacheDtype, Precision } from '../model/manifest.ts';
import { isCorrect } from './answer-check.ts';
import { type EvalData, type Question } from './eval-file.ts';
import { evaluate } from './eval-process.ts';
import type { EvalResult } from './eval-messages.ts';
import { UserError } from '../user-error.ts';

/** Longer texts are cut into stretches of this many tokens, each predicted from its own start. */
const WINDOW = 1024;

/** A model's text side. */
export interface EvalText {
  readonly tokenizer: TextTokenizer;
  readonly chatTemplate: ChatTemplate | null;
  /** Positions that the model reaches. */
  readonly maxModelLen: number;
}

/** Evaluation data as token ids. */
export interface EncodedData {
  readonly texts: readonly Int32Array[];
  readonly prompts: readonly { readonly tokenIds: Int32Array; readonly maxTokens: number }[];
  readonly questions: readonly Question[];
  readonly maxModelLen: number;
}

/** Correct answers of one task. */
export interface TaskScore {
  readonly task: string;
  readonly correct: number;
  readonly cases: number;
}

/** One line of the table. */
export interface PrecisionReport {
  readonly precision: Precision;
  readonly kvCacheDtype: KvCacheDtype;
  /** Size of the graph and its weights. */
  readonly fileBytes: number;
  readonly loadMs: number;
  readonly residentBytes: number;
  readonly singleStepMs: number;
  readonly fullStepMs: number;
  readonly batchSize: number;
  readonly perplexity: number | null;
  readonly numScoredTokens: number;
  readonly tasks: readonly TaskScore[];
}

/**
 * Encodes texts and, through the chat template, questions.
 * @throws {UserError} if there are questions and no chat template, or one does not fit the model
 */
export function encodeData(data: EvalData, text: EvalText): EncodedData {
  const { tokenizer, maxModelLen } = text;
  const window = Math.min(WINDOW, maxModelLen);
  const texts = data.texts
    .flatMap((each) => windows(tokenizer.encode(each, { addSpecialTokens: true }), window))
    .filter((tokenIds) => tokenIds.length > 1);
  const prompts = data.questions.map((question) => encodeQuestion(question, text));
  const lengths = [
    ...texts.map((tokenIds) => tokenIds.length),
    ...prompts.map(({ tokenIds, maxTokens }) => tokenIds.length + maxTokens),
  ];
  const longest = lengths.reduce((max, length) => Math.max(max, length), 2);
  return { texts, prompts, questions: data.questions, maxModelLen: longest };
}

/** Measures one build of a model; `onProgress` hears how many texts and prompts are done. */
export async function evaluateModel(
  model: BuiltModel,
  data: EncodedData,
  { tokenizer }: EvalText,
  options: { readonly maxNumSeqs: number; readonly threads: number },
  onProgress: (done: number) => void,
): Promise<PrecisionReport> {
  const { texts, prompts, questions, maxModelLen } = data;
  const stopTokenIds = tokenizer.eosTokenIds;
  const job = { model, texts, prompts, stopTokenIds, maxModelLen, ...options };
  const { answers, ...measured } = await evaluate(job, onProgress);
  return {
    precision: model.manifest.precision,
    kvCacheDtype: model.manifest.kvCacheDtype,
    fileBytes: await fileBytes(model),
    ...measured,
    tasks: scores(questions, answers, tokenizer),
  };
}

function windows(tokenIds: Int32Array, size: number): Int32Array[] {
  const count = Math.ceil(tokenIds.length / size);
  return Array.from({ length: count }, (_, i) => tokenIds.slice(i * size, (i + 1) * size));
}

function encodeQuestion(question: Question, { tokenizer, chatTemplate, maxModelLen }: EvalText) {
  const { prompt, system, max_tokens: maxTokens } = question;
  if (chatTemplate === null) {
    throw new UserError('the model has no chat template, so it cannot be asked questions');
  }
  const user = { role: 'user', content: prompt };
  const messages = system === undefined ? [user] : [{ role: 'system', content: system }, user];
  const chat = chatTemplate.render(messages, { addGenerationPrompt: true });
  const tokenIds = tokenizer.encode(chat, { addSpecialTokens: false });
  if (tokenIds.length + maxTokens > maxModelLen) {
    throw new UserError(
      `a question of task "${question.task}" takes ${tokenIds.length} tokens and its answer ` +
        `${maxTokens}: the model takes at most ${maxModelLen}`,
    );
  }
  return { tokenIds, maxTokens };
}

function scores(
  questions: readonly Question[],
  answers: EvalResult['answers'],
  tokenizer: TextTokenizer,
): TaskScore[] {
  const byTask = new Map<string, { correct: number; cases: number }>();
  for (const [index, { task, check, answer }] of questions.entries()) {
    const score = byTask.get(task) ?? { correct: 0, cases: 0 };
    const got = tokenizer.decode(answers[index] ?? [], { skipSpecialTokens: true });
    score.cases += 1;
    score.correct += Number(isCorrect(check, got, answer));
    byTask.set(task, score);
  }
  return Array.from(byTask, ([task, score]) => ({ task, ...score }));
}

async function fileBytes({ graphPath }: BuiltModel): Promise<number> {
  const sizes = await Promise.all(
    [graphPath, `${graphPath}.data`].map(
      async (path) => (await stat(path).catch(() => null))?.size,
    ),
  );
  return sizes.reduce<number>((sum, size = 0) => sum + size, 0);
}
