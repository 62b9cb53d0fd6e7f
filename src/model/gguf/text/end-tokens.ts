import type { GgufMetadata } from '../metadata.ts';
import { CONTROL } from '../../tokenizer/token-kinds.ts';

/** Metadata with tokens that end a text, an answer, or a message to be continued. */
const KEYS = ['eos_token_id', 'eot_token_id', 'eom_token_id'];
/** All ends at once, as Ollama's converter writes them. */
const LIST = 'eos_token_ids';

/** Ends of answers by their texts, for files that name one end only; as llama.cpp has them. */
const TEXTS: ReadonlySet<string> = new Set([
  '<|eot_id|>',
  '<|eom_id|>',
  '<|eot|>',
  '<|eom|>',
  '<|im_end|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
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
/** Ends where they are markers, and text of pages elsewhere: Qwen and Gemma have the tag as a word. */
const MARKERS = new Set(['</s>', '<eos>']);
/** A turn of GLM ends with the next one's beginning, which its files do not name in full. */
const GLM = '[gMASK]';
const GLM_TURNS = new Set(['<|user|>', '<|observation|>']);
/** Where these end answers (Harmony), the end of a message is none: the thought's comes first. */
const HARMONY = ['<|return|>', '<|call|>'];
const HARMONY_MESSAGE_END = '<|end|>';

/** Whether a token of that text ends answers whatever kind the file says it is of. */
export function isKnownEnd(text: string): boolean {
  return TEXTS.has(text);
}

/** Ids of all tokens after which nothing follows; the file's own first. */
export function endTokenIds(metadata: GgufMetadata): number[] {
  const key = (name: string) => `tokenizer.ggml.${name}`;
  const tokens = metadata.strings(key('tokens')) ?? [];
  const types = metadata.numbers(key('token_type'));
  const named = KEYS.flatMap((name) => metadata.number(key(name)) ?? []);
  const listed = metadata.numbers(key(LIST)) ?? [];
  const ids = new Map(tokens.map((token, id) => [token, id]));
  const isGlm = ids.has(GLM);
  const known = tokens.flatMap((token, id) => {
    const isMarker = types?.[id] === CONTROL && MARKERS.has(token);
    return TEXTS.has(token) || isMarker || (isGlm && GLM_TURNS.has(token)) ? [id] : [];
  });
  const all = new Set([...named, ...listed, ...known]);
  const messageEnd = ids.get(HARMONY_MESSAGE_END);
  if (messageEnd !== undefined && HARMONY.every((end) => ids.has(end))) all.delete(messageEnd);
  return [...all];
}
