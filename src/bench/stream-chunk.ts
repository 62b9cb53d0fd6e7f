/** Reads a chunk of a streamed answer, of either API and with the extras of common servers. */
import { z } from 'zod';
import type { Usage } from './recorder.ts';

export interface StreamChunk {
  /** Whether it carries a piece of the answer: text, reasoning or a part of a tool call. */
  readonly hasContent: boolean;
  readonly isLast: boolean;
  readonly usage: Usage | null;
  readonly error: string | null;
}

const text = z.string().nullish();

const schema = z.object({
  choices: z
    .array(
      z.object({
        text,
        delta: z
          .object({
            content: text,
            reasoning_content: text,
            reasoning: text,
            tool_calls: z.array(z.unknown()).nullish(),
          })
          .nullish(),
        finish_reason: text,
      }),
    )
    .default([]),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish(),
  error: z.union([z.object({ message: z.string() }), z.string()]).nullish(),
});

/** @throws Error when it is not a chunk of a completion */
export function parseChunk(data: string): StreamChunk {
  const { choices, usage, error } = schema.parse(JSON.parse(data));
  const errorMessage = typeof error === 'string' ? error : error?.message;
  return {
    hasContent: choices.some(({ text: content, delta }) =>
      delta
        ? Boolean(delta.content || delta.reasoning_content || delta.reasoning) ||
          (delta.tool_calls ?? []).length > 0
        : Boolean(content),
    ),
    isLast: choices.some(({ finish_reason: reason }) => typeof reason === 'string'),
    usage: usage
      ? { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens }
      : null,
    error: errorMessage ?? null,
  };
}
