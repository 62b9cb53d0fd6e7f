/** Tiny encoders of speech make the embeddings that Transformers makes of the same windows. */
import { afterAll, describe, expect, it } from 'vitest';
import { buildSpeech } from '../../src/model/speech/build-speech.ts';
import { inspectSpeech, type SpeechPart } from '../../src/model/speech/speech-folder.ts';
import { runForOutputs } from '../../src/ort/run-for-outputs.ts';
import { Session } from '../../src/ort/session.ts';
import { Tensor } from '../../src/ort/tensor.ts';
import { SPEECH_MODELS, speechFolder, speechReference } from '../support/speech.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { visionFolder } from '../support/vision.ts';
import { largestDifference } from './support/encoders.ts';

const cache = await temporaryCache();
afterAll(() => cache.remove());

const MOST_DIFFERENCE = 1e-4;

async function hearing(folder: string): Promise<SpeechPart> {
  const part = await inspectSpeech(folder);
  if (part === null) throw new Error('the folder hears nothing');
  return part;
}

/** @returns embeddings of windows, one after the other */
function encode(
  session: Session,
  { numMels, numFrames }: SpeechPart['shape'],
  windows: readonly Float32Array[],
): Float32Array {
  const all = Float32Array.from(windows.flatMap((window) => Array.from(window)));
  const features = Tensor.over('float', [windows.length, numMels, numFrames], all);
  const [made] = runForOutputs(session, new Map([['features', features]]), ['embeddings']);
  const values = made instanceof Tensor ? Float32Array.from(made.data, Number) : new Float32Array();
  made?.release();
  features.release();
  return values;
}

describe.each(SPEECH_MODELS)('%s', (name) => {
  it('makes the same embeddings, of each window alone and of all at once', async () => {
    const part = await hearing(speechFolder(name));
    const session = new Session(await buildSpeech(part, cache.path), { intraOpThreads: 1 });
    const windows = Object.values((await speechReference(name)).windows);
    for (const { features, encoded } of windows) {
      const made = encode(session, part.shape, [features]);
      expect(largestDifference(made, encoded)).toBeLessThan(MOST_DIFFERENCE);
    }
    const together = encode(
      session,
      part.shape,
      windows.map(({ features }) => features),
    );
    const expected = Float32Array.from(windows.flatMap(({ encoded }) => Array.from(encoded)));
    expect(largestDifference(together, expected)).toBeLessThan(MOST_DIFFERENCE);
    session.release();
  });
});

it('hears nothing in other models', async () => {
  expect(await inspectSpeech(visionFolder('smolvlm'))).toBeNull();
});
