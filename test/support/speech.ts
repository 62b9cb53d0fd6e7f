/** Tiny models that hear (scripts/references/speech.py), and requests with what their encoders make of windows. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { EngineRequest } from '../../src/engine/request.ts';
import { idsOf } from './embedded-prompts.ts';
import { engineRequest } from './engine-requests.ts';

export const SPEECH_MODELS = ['whisper', 'large', 'distil'] as const;
export type SpeechModelName = (typeof SPEECH_MODELS)[number];

/** Channels of all of them. */
export const SPEECH_WIDTH = 64;

const floats = z.base64().transform((text) => {
  const bytes = Uint8Array.from(Buffer.from(text, 'base64'));
  return new Float32Array(bytes.buffer);
});

const referenceSchema = z.object({
  parameters: z.object({ decoder: z.int() }),
  windows: z.record(
    z.string(),
    z.object({
      /** [mels, frames] */
      features: floats,
      /** [positions, width] */
      encoded: floats,
    }),
  ),
  prompts: z.array(
    z.object({
      window: z.string(),
      ids: z.array(z.int()),
      greedy: z.array(z.int()),
      /** Before the first and the last greedy token. */
      logits: z.tuple([floats, floats]),
    }),
  ),
});
export type SpeechReference = z.output<typeof referenceSchema>;

const FIXTURES = fileURLToPath(new URL('../fixtures/speech', import.meta.url));

export function speechFolder(name: SpeechModelName): string {
  return join(FIXTURES, name);
}

export async function speechReference(name: SpeechModelName): Promise<SpeechReference> {
  const text = await readFile(join(FIXTURES, name, 'reference.json'), 'utf8');
  return referenceSchema.parse(JSON.parse(text));
}

export interface SpeechRequest {
  readonly request: EngineRequest;
  readonly greedy: readonly number[];
  readonly logits: SpeechReference['prompts'][number]['logits'];
}

/** The prompts of a model's reference: the encoder's output, and tokens after it. */
export async function speechRequests(name: SpeechModelName): Promise<SpeechRequest[]> {
  const { windows, prompts } = await speechReference(name);
  return prompts.map(({ window, ids, greedy, logits }, index) => {
    const rows = windows[window]?.encoded;
    if (rows === undefined) throw new Error(`there is no window ${window}`);
    const heard = idsOf(rows, rows.length / SPEECH_WIDTH);
    const request = engineRequest({
      id: 1 + index,
      promptTokenIds: Int32Array.of(...heard, ...ids),
      embeddings: [{ start: 0, rows }],
      maxTokens: greedy.length,
      logprobs: 3,
    });
    return { request, greedy, logits };
  });
}
