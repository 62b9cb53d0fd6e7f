/** A thread that makes prompts, one job after the other. */
import { workerData } from 'node:worker_threads';
import { ChatTemplateError } from '../templates/chat-message.ts';
import {
  type EncodedPrompt,
  type PromptJob,
  PromptTooLongError,
  runPromptJob,
} from './prompt-job.ts';
import { MissingTokenError } from '../text/model-vocabulary.ts';
import { loadTextModel, type TextSource } from './load-text-model.ts';

/** Errors lose their class between threads. */
export type PromptAnswer =
  | { readonly type: 'done'; readonly prompts: readonly EncodedPrompt[] }
  | { readonly type: 'refused' | 'missing-token'; readonly message: string }
  | { readonly type: 'too-long'; readonly numCharacters: number; readonly minTokens: number };

// Where this fails, so does the thread.
const model = await loadTextModel(workerData as TextSource);

export default function answer(job: PromptJob): PromptAnswer {
  try {
    return { type: 'done', prompts: runPromptJob(model, job) };
  } catch (error) {
    if (error instanceof ChatTemplateError) return { type: 'refused', message: error.message };
    if (error instanceof MissingTokenError) {
      return { type: 'missing-token', message: error.message };
    }
    if (error instanceof PromptTooLongError) {
      const { numCharacters, minTokens } = error;
      return { type: 'too-long', numCharacters, minTokens };
    }
    throw error;
  }
}
