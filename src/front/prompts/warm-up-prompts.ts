import { LIMITS } from '../../limits.ts';
import { TaskTooCostlyError } from './fair-pool.ts';
import type { PromptEncoder } from './prompt-encoder.ts';
import { NEVER_ABORTED } from '../never-aborted.ts';

/** Times that each is made: after a few, the code is compiled. */
const ROUNDS = 3;
const SENTENCE = 'The quick brown fox jumps over the lazy dog, 12 times in 34 days. ';

/**
 * Makes prompts on the main thread and in the pool's first one, which then has started. On a machine that is too
 * busy for that now it ends early: a server starts all the same.
 */
export async function warmUpPrompts(
  prompts: Pick<PromptEncoder, 'canChat' | 'encodeTexts' | 'encodeChat'>,
): Promise<void> {
  const caller = { client: '', signal: NEVER_ABORTED };
  const long = SENTENCE.repeat(Math.ceil((2 * LIMITS.promptCharactersAtOnce) / SENTENCE.length));
  const options = { addSpecialTokens: true, maxTokens: Infinity };
  try {
    for (let round = 0; round < ROUNDS; round++) {
      for (const text of [SENTENCE, long]) await prompts.encodeTexts([text], options, caller);
      if (prompts.canChat) await warmUpChat(prompts, caller);
    }
  } catch (error) {
    if (!(error instanceof TaskTooCostlyError)) throw error;
  }
}

async function warmUpChat(
  prompts: Pick<PromptEncoder, 'encodeChat'>,
  caller: Parameters<PromptEncoder['encodeChat']>[2],
): Promise<void> {
  const messages = [{ role: 'user', content: SENTENCE }];
  try {
    await prompts.encodeChat(
      messages,
      { addGenerationPrompt: true, continueFinalMessage: false, maxTokens: Infinity },
      caller,
    );
  } catch {
    // A template may refuse such a chat; clients are told when theirs is refused.
  }
}
