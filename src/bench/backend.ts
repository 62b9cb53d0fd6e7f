import type { Prompt, WorkItem } from './workload.ts';

export const BACKENDS = ['openai', 'openai-chat'] as const;
export type Backend = (typeof BACKENDS)[number];

export const DEFAULT_ENDPOINTS: Readonly<Record<Backend, string>> = {
  openai: '/v1/completions',
  'openai-chat': '/v1/chat/completions',
};

export interface BodyOptions {
  readonly backend: Backend;
  readonly model: string;
  /** Not part of OpenAI's API: sent only when asked for. */
  readonly ignoreEos: boolean;
  readonly temperature?: number | undefined;
  /** Fields that go into every body, over all others. */
  readonly extra: Readonly<Record<string, unknown>>;
}

/** The body of a streamed completion. */
export function requestBody({ prompt, maxTokens }: WorkItem, options: BodyOptions): object {
  const { backend, model, ignoreEos, temperature, extra } = options;
  return {
    model,
    ...(backend === 'openai-chat'
      ? { messages: asMessages(prompt), max_completion_tokens: maxTokens }
      : { prompt: asPrompt(prompt), max_tokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(ignoreEos ? { ignore_eos: true } : {}),
    stream: true,
    stream_options: { include_usage: true },
    ...extra,
  };
}

function asMessages(prompt: Prompt): object {
  if ('messages' in prompt) return prompt.messages;
  const content = 'text' in prompt ? prompt.text : prompt.tokenIds.join(' ');
  return [{ role: 'user', content }];
}

function asPrompt(prompt: Prompt): string | readonly number[] {
  if ('text' in prompt) return prompt.text;
  if ('tokenIds' in prompt) return prompt.tokenIds;
  return prompt.messages.map(({ content }) => content).join('\n');
}
