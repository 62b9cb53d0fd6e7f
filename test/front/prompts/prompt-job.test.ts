import { expect, it } from 'vitest';
import {
  type PromptJob,
  PromptTooLongError,
  runPromptJob,
} from '../../../src/front/prompts/prompt-job.ts';
import { loadTextModel } from '../../../src/front/prompts/load-text-model.ts';

const model = await loadTextModel({ folder: 'models/summit', vocabSize: 4096 });
const isAbout = (expected: number) => (count: number) => Math.abs(count - expected) < 100;

function refusalOf(job: PromptJob): unknown {
  try {
    runPromptJob(model, job);
    return null;
  } catch (error) {
    return error;
  }
}

it('refuses a text by its beginning where that is far too long', () => {
  const digits = '7'.repeat(8000);
  const texts = { type: 'texts', texts: [digits], addSpecialTokens: true } as const;
  const messages = [{ role: 'user' as const, content: digits }];
  const chat = { type: 'chat', messages, options: { addGenerationPrompt: true } } as const;
  for (const job of [texts, chat]) {
    const refusal = refusalOf({ ...job, maxTokens: 1000 });
    expect(refusal).toBeInstanceOf(PromptTooLongError);
    // A digit is a token, so 3,000 characters were tokenized, some of the template's.
    expect(refusal).toHaveProperty('minTokens', expect.toSatisfy(isAbout(3000)));
    // One that is not much too long is left to whoever asked.
    expect(refusalOf({ ...job, maxTokens: 4000 })).toBeNull();
  }
});
