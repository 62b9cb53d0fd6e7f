import type { GgufMetadata } from '../metadata.ts';

/** Metadata with tokens that end a text, an answer, or a message to be continued. */
const KEYS = ['eos_token_id', 'eot_token_id', 'eom_token_id'];

/** Ends of answers by their texts, for files that name one end only; as llama.cpp has them. */
const TEXTS = new Set([
  '<|eot_id|>',
  '<|eom_id|>',
  '<|im_end|>',
  '<|end|>',
  '<end_of_turn>',
  '<turn|>',
  '<|tool_response>',
  '<|endoftext|>',
  '<|end_of_text|>',
  '<EOT>',
  '_<EOT>',
  '[EOT]',
  '[EOS]',
  '[e~[',
  '<｜end▁of▁sentence｜>',
  '<end_of_utterance>',
]);

/** Ids of all tokens after which nothing follows; the file's own first. */
export function endTokenIds(metadata: GgufMetadata): number[] {
  const named = KEYS.flatMap((key) => metadata.number(`tokenizer.ggml.${key}`) ?? []);
  const tokens = metadata.strings('tokenizer.ggml.tokens') ?? [];
  const known = tokens.flatMap((token, id) => (TEXTS.has(token) ? [id] : []));
  return [...new Set([...named, ...known])];
}
