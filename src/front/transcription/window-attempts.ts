/** Decodes a window, again with more chance where the text is bad; as openai-whisper has it. */
import { deflateSync } from 'node:zlib';
import type { Caller } from '../caller.ts';
import type { SpeechModel } from './speech-model.ts';

/** Temperatures of attempts at a window, where the request asks for none. */
const TEMPERATURES = [0, 0.2, 0.4, 0.6, 0.8, 1];
/** A text that repeats itself is compressed by more. */
const MAX_COMPRESSION = 2.4;
/** Mean below which a text is taken for guessed. */
const MIN_AVG_LOGPROB = -1;
/** Above it nobody speaks, unless the text is no guess. */
const MAX_NO_SPEECH = 0.6;

export interface Attempt {
  /** Without `<|endoftext|>`. */
  readonly tokens: readonly number[];
  readonly temperature: number;
  readonly avgLogprob: number;
  readonly compressionRatio: number;
  readonly noSpeechProb: number;
}

/**
 * @param temperature of the request; 0 raises it for a text that is bad
 * @returns the first attempt that is good, or the last one
 */
export async function attemptWindow(
  model: SpeechModel,
  features: Float32Array<ArrayBuffer>,
  prompt: readonly number[],
  temperature: number,
  caller: Caller,
): Promise<Attempt> {
  const temperatures = temperature === 0 ? TEMPERATURES : [temperature];
  let last: Attempt | undefined;
  for (const each of temperatures) {
    last = await attempt(model, features, prompt, each, caller);
    if (isSilent(last) || !isBad(last)) break;
  }
  // There is a temperature at least.
  return last!;
}

/** Whether nobody speaks in a window. */
export function isSilent({ noSpeechProb, avgLogprob }: Attempt): boolean {
  return noSpeechProb > MAX_NO_SPEECH && avgLogprob <= MIN_AVG_LOGPROB;
}

function isBad({ compressionRatio, avgLogprob }: Attempt): boolean {
  return compressionRatio > MAX_COMPRESSION || avgLogprob < MIN_AVG_LOGPROB;
}

async function attempt(
  model: SpeechModel,
  features: Float32Array<ArrayBuffer>,
  prompt: readonly number[],
  temperature: number,
  caller: Caller,
): Promise<Attempt> {
  // A prompt leaves half of the context for what is said.
  const half = Math.floor(model.contextTokens / 2);
  const maxTokens = Math.min(half, model.contextTokens - prompt.length);
  const options = { temperature, maxTokens };
  const tokens: number[] = [];
  let noSpeechProb = 0;
  let sum = 0;
  for await (const event of model.transcribeWindow(features, prompt, options, caller)) {
    if (event.type === 'began') {
      noSpeechProb = event.noSpeechProb;
      continue;
    }
    sum += event.logprob;
    if (event.id !== model.tokens.endOfText) tokens.push(event.id);
  }
  return {
    tokens,
    temperature,
    // The end of the text counts as one of its tokens.
    avgLogprob: sum / (tokens.length + 1),
    compressionRatio: ratioOf(model.decode(tokens)),
    noSpeechProb,
  };
}

/** Bytes of a text for each byte of its compressed form. */
function ratioOf(text: string): number {
  const bytes = Buffer.from(text.trim());
  return bytes.length / deflateSync(bytes).length;
}
