import { expect, test } from 'vitest';
import { SAMPLE_RATE } from '../../../src/audio/decode.ts';
import { Recording } from '../../../src/front/audio/recording.ts';
import type { SpeechModel } from '../../../src/front/transcription/speech-model.ts';
import {
  type Segment,
  transcribe,
  type TranscribeOptions,
} from '../../../src/front/transcription/transcribe.ts';
import { ScriptedSpeech, SPEECH_TOKENS } from '../../support/scripted-speech.ts';

const CALLER = { client: '', signal: new AbortController().signal };
const OPTIONS: TranscribeOptions = {
  task: 'transcribe',
  language: 'en',
  prompt: '',
  temperature: 0,
  withWords: false,
};

/** Sound whose samples tell their second. @param silent seconds in which there is none */
function recordingOf(seconds: number, silent: readonly number[] = []): Recording {
  const recording = new Recording();
  for (let second = 0; second < seconds; second++) {
    recording.add(new Int16Array(SAMPLE_RATE).fill(silent.includes(second) ? 0 : second + 10));
  }
  return recording;
}

async function run(
  recording: Recording,
  model: SpeechModel,
  options: Partial<TranscribeOptions> = {},
): Promise<{ segments: Segment[]; languages: string[] }> {
  const segments: Segment[] = [];
  const languages: string[] = [];
  const hear = async (samples: Int16Array) => Float32Array.of((samples[0] ?? 0) - 10);
  const events = transcribe(recording, model, hear, { ...OPTIONS, ...options }, CALLER);
  for await (const event of events) {
    if (event.type === 'language') languages.push(event.language);
    else segments.push(event.segment);
  }
  return { segments, languages };
}

function spans(segments: readonly Segment[]): (readonly [number, number, string])[] {
  return segments.map(({ start, end, text }) => [start, end, text]);
}

test('the next window begins where the last whole text ended', async () => {
  const model = new ScriptedSpeech([
    { said: [0, ' one', 12, 12, ' two', 25, 25, ' th'] },
    { said: [0, ' three', 4] },
  ]);
  const { segments } = await run(recordingOf(40), model);
  expect(spans(segments)).toEqual([
    [0, 12, ' one'],
    [12, 25, ' two'],
    [25, 29, ' three'],
  ]);
  expect(model.heard.map(({ first }) => first)).toEqual([0, 25]);
  expect(segments.map(({ id, seek }) => [id, seek])).toEqual([
    [0, 0],
    [1, 0],
    [2, 2500],
  ]);
});

test('a window knows the texts before it, and the prompt', async () => {
  const model = new ScriptedSpeech([{ said: [0, ' a', 30] }, { said: [0, ' b', 10] }]);
  await run(recordingOf(40), model, { prompt: ' x ' });
  const asked = [SPEECH_TOKENS.startOfTranscript, 310, SPEECH_TOKENS.transcribe];
  const [first, second] = model.heard;
  expect(first?.prompt).toEqual([304, 32, 120, ...asked]);
  expect(second?.prompt).toEqual([304, 32, 120, 400, 32, 97, 400 + 1500, ...asked]);
});

test('no more than half of the context is of texts before', async () => {
  const model = new ScriptedSpeech([{ said: [0, 'a', 1] }]);
  await run(recordingOf(1), model, { prompt: 'p'.repeat(1000) });
  expect(model.heard[0]?.prompt).toHaveLength(1 + 223 + 3);
  expect(model.heard[0]?.maxTokens).toBe(448 - 227);
});

test('silence is skipped: without the model, or by what it says', async () => {
  const silent = Array.from({ length: 30 }, (_, second) => second);
  const model = new ScriptedSpeech([
    { said: [0, ' guess', 2], noSpeechProb: 0.9, logprob: -2 },
    { said: [0, ' sure', 2], noSpeechProb: 0.9 },
  ]);
  const { segments } = await run(recordingOf(90, silent), model);
  expect(spans(segments)).toEqual([[60, 62, ' sure']]);
  expect(model.heard.map(({ first }) => first)).toEqual([30, 60]);
});

test('a bad text is tried again with more chance, and then no context', async () => {
  const good = { said: [0, ' fine', 30] };
  const model = new ScriptedSpeech([
    { said: [0, ' la'.repeat(100), 30], retry: good },
    { said: [0, ' unsure', 30], logprob: -1.5 },
    { said: [0, ' end', 2] },
  ]);
  const { segments } = await run(recordingOf(62), model);
  expect(model.heard.map(({ temperature }) => temperature)).toEqual([
    0, 0.2, 0, 0.2, 0.4, 0.6, 0.8, 1, 0,
  ]);
  expect(segments.map(({ text, temperature }) => [text, temperature])).toEqual([
    [' fine', 0.2],
    [' unsure', 1],
    [' end', 0],
  ]);
  expect(model.heard[2]?.prompt[0]).toBe(SPEECH_TOKENS.startOfPrevious);
  expect(model.heard.at(-1)?.prompt[0]).toBe(SPEECH_TOKENS.startOfTranscript);
});

test('a temperature of the request is the only one', async () => {
  const model = new ScriptedSpeech([{ said: [0, ' unsure', 2], logprob: -1.5 }]);
  const { segments } = await run(recordingOf(5), model, { temperature: 0.3 });
  expect(model.heard.map(({ temperature }) => temperature)).toEqual([0.3]);
  expect(segments[0]?.avg_logprob).toBeCloseTo(-1.5);
});

test('the language is the likeliest of the first window with sound', async () => {
  const model = new ScriptedSpeech([{ said: [0, ' ja', 2] }]);
  const { languages } = await run(recordingOf(40, [0]), model, { language: null });
  expect(languages).toEqual(['de']);
  expect(model.heard[0]?.prompt).toContain(311);
});

test('a model of English alone is asked for no language', async () => {
  const model = new ScriptedSpeech([{ said: [0, ' yes', 2] }]);
  const tokens = { ...SPEECH_TOKENS, languages: new Map(), transcribe: null, translate: null };
  const english = Object.assign(model, { tokens });
  const { languages } = await run(recordingOf(2), english, { language: null });
  expect(languages).toEqual(['en']);
  expect(model.heard[0]?.prompt).toEqual([SPEECH_TOKENS.startOfTranscript]);
});

test('a model that stands still, says nothing or contradicts itself comes to an end', async () => {
  const model = new ScriptedSpeech([
    { said: [0, 0] },
    { said: [] },
    { said: [3, ' back', 1, 1, '', 1] },
  ]);
  const { segments } = await run(recordingOf(95), model);
  expect(segments.length).toBeLessThan(3);
  expect(model.heard.length).toBeLessThan(10);
});

test('a recording of a sample or none is heard', async () => {
  const recording = new Recording();
  expect(await run(recording, new ScriptedSpeech([]))).toEqual({ segments: [], languages: ['en'] });
  recording.add(Int16Array.of(900));
  const model = new ScriptedSpeech([{ said: [0, ' tick', 0.5] }]);
  expect(spans((await run(recording, model)).segments)).toEqual([[0, 0.5, ' tick']]);
});
