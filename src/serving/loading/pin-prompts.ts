/** The file of --prefetch: prompts that are computed before a model is ready, and pinned. */
import type { Logger } from 'pino';
import { z } from 'zod';
import { explainZod } from '../../explain-zod.ts';
import type { ChatPrompts } from '../../front/chat/chat-prompt.ts';
import { chatPrefix } from '../../front/prefetch/chat-prefix.ts';
import type { PinnedPrefixes } from '../../front/prefetch/pinned-prefixes.ts';
import type { PromptEncoder } from '../../front/prompts/prompt-encoder.ts';
import { UsageError } from '../../settings/usage-error.ts';
import { readNamed } from '../../files/named-files.ts';

const message = z.looseObject({ role: z.string(), content: z.string() });
const tool = z.looseObject({
  type: z.literal('function'),
  function: z.looseObject({ name: z.string() }),
});

const line = z
  .strictObject({
    /** Model that the prompt is for; all models if left out. */
    model: z.string().optional(),
    /** The text of a system message. */
    system: z.string().optional(),
    messages: z.array(message).min(1).optional(),
    tools: z.array(tool).optional(),
    /** As of /v1/completions. */
    prompt: z.string().min(1).optional(),
  })
  .refine(
    ({ system, messages, prompt }) =>
      [system, messages, prompt].filter((each) => each !== undefined).length === 1,
    'expected one of system, messages and prompt',
  );

export type PinnedPrompt = z.infer<typeof line>;

interface PinningModel extends ChatPrompts {
  readonly prompts: Pick<PromptEncoder, 'canChat' | 'encodeChat' | 'encodeTexts'>;
  readonly model: { readonly id: string; readonly maxModelLen: number };
}

/** @throws UserError naming the file, and the line that is wrong */
export async function readPinnedPrompts(path: string): Promise<PinnedPrompt[]> {
  const text = await readNamed('--prefetch', path);
  return text.split('\n').flatMap((json, index) => {
    if (json.trim() === '') return [];
    try {
      return [line.parse(JSON.parse(json))];
    } catch (error) {
      const reason = error instanceof z.ZodError ? explainZod(error) : 'not JSON';
      throw new UsageError(`--prefetch ${path}, line ${index + 1}: ${reason}`);
    }
  });
}

/** A prompt that the model can't have is logged, and the others are pinned. */
export async function pinPrompts(
  prompts: readonly PinnedPrompt[],
  model: PinningModel,
  pinned: Pick<PinnedPrefixes, 'pin'>,
  logger: Logger,
): Promise<void> {
  const { signal } = new AbortController();
  for (const [index, prompt] of prompts.entries()) {
    if (prompt.model !== undefined && prompt.model !== model.model.id) continue;
    const entry = { model: model.model.id, prompt: index + 1 };
    try {
      const tokenIds = await tokensOf(prompt, model, signal);
      await pinned.pin(tokenIds, signal);
      logger.info({ ...entry, tokens: tokenIds.length }, 'prompt computed and pinned');
    } catch (error) {
      logger.warn({ ...entry, err: error }, 'a prompt of --prefetch was not pinned');
    }
  }
}

async function tokensOf(
  { system, messages, tools = [], prompt }: PinnedPrompt,
  model: PinningModel,
  signal: AbortSignal,
): Promise<Int32Array> {
  const caller = { client: '', signal };
  if (prompt !== undefined) {
    const options = { addSpecialTokens: true, maxTokens: model.model.maxModelLen - 1 };
    const [tokenIds = new Int32Array()] = await model.prompts.encodeTexts(
      [prompt],
      options,
      caller,
    );
    return tokenIds;
  }
  const chat = {
    messages: messages ?? [{ role: 'system', content: system ?? '' }],
    tools,
    toolChoice: tools.length > 0 ? 'auto' : 'none',
    templateVariables: null,
  } as const;
  return await chatPrefix(model, chat, caller);
}
