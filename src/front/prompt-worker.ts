/** A thread that makes prompts, one job after the other. */
import { parentPort, workerData } from 'node:worker_threads';
import { ChatTemplateError } from './chat-message.ts';
import { type EncodedPrompt, type PromptJob, runPromptJob } from './prompt-job.ts';
import { loadTextModel, type TextSource } from './text-model.ts';

export type PromptAnswer =
  | { readonly type: 'done'; readonly prompts: readonly EncodedPrompt[] }
  | {
      readonly type: 'failed';
      readonly message: string;
      /** The job itself is at fault, and the message is for the client. */
      readonly isChatTemplateError: boolean;
    };

const model = await loadTextModel(workerData as TextSource);

parentPort?.on('message', (job: PromptJob) => {
  const answer = run(job);
  const prompts = answer.type === 'done' ? answer.prompts : [];
  parentPort?.postMessage(
    answer,
    prompts.map(({ tokenIds }) => tokenIds.buffer as ArrayBuffer),
  );
});

function run(job: PromptJob): PromptAnswer {
  try {
    return { type: 'done', prompts: runPromptJob(model, job) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { type: 'failed', message, isChatTemplateError: error instanceof ChatTemplateError };
  }
}
