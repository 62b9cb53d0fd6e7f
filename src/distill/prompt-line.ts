import { z } from 'zod';
import { explainZod } from '../explain-zod.ts';
import type { TextModel } from '../front/prompts/load-text-model.ts';
import { UserError } from '../user-error.ts';

const message = z.looseObject({ role: z.string(), content: z.string() });

const schema = z
  .strictObject({
    /** Continued as it is. */
    prompt: z.string().min(1).optional(),
    /** A chat that the teacher answers. */
    messages: z.array(message).min(1).optional(),
    /** Not continued: its own tokens get targets. */
    text: z.string().min(1).optional(),
    max_tokens: z.int().positive().optional(),
  })
  .refine(
    ({ prompt, messages, text }) =>
      [prompt, messages, text].filter((each) => each !== undefined).length === 1,
    'expected one of prompt, messages and text',
  );

export type PromptLine = z.output<typeof schema>;

/** @param origin for errors, such as the file and the line's number */
export function parsePromptLine(json: string, origin: string): PromptLine {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UserError(`${origin} is not JSON`, { cause: error });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new UserError(`${origin}: ${explainZod(parsed.error)}`);
}

/** @throws UserError for a chat, if the model has no template for chats */
export function encodePromptLine(
  { prompt, messages, text }: PromptLine,
  { tokenizer, chatTemplate }: Pick<TextModel, 'tokenizer' | 'chatTemplate'>,
  origin: string,
): Int32Array {
  if (messages === undefined) {
    return tokenizer.encode(prompt ?? text ?? '', { addSpecialTokens: true });
  }
  if (chatTemplate === null) {
    throw new UserError(
      `${origin}: the teacher has no chat template: use "prompt" in place of "messages"`,
    );
  }
  const chat = chatTemplate.render(messages, { addGenerationPrompt: true });
  return tokenizer.encode(chat, { addSpecialTokens: false });
}
