import { expect, onTestFinished, test } from 'vitest';
import { AUDIO_LIMITS } from '../../../src/audio-limits.ts';
import { AudioError } from '../../../src/audio/audio-error.ts';
import { AudioPool } from '../../../src/front/audio/audio-pool.ts';
import { QueueFullError } from '../../../src/front/queue/admission.ts';
import { badSounds, soundFile } from '../../support/bad-sounds.ts';
import { orLong } from '../../support/long-runs.ts';

const HOURS_OF_OPUS = 'Opus of hours of silence';
const CALLER = { client: 'a', signal: new AbortController().signal };

function openPool(): AudioPool {
  const pool = new AudioPool();
  onTestFinished(() => pool.close());
  return pool;
}

test('a file becomes samples, and these what a model hears', async () => {
  const pool = openPool();
  const { recording, close } = await pool.open(soundFile('vorbis'), CALLER);
  expect(recording.seconds).toBe(0.5);
  const samples = recording.slice(7000, 5000);
  expect(samples).toHaveLength(1000);
  const features = await pool.features(samples, { mels: 80, frames: 300 }, CALLER);
  expect(features).toHaveLength(80 * 300);
  close();
});

test('bad files are refused with a reason, within seconds and with little memory', async () => {
  const pool = openPool();
  // Two hours of one codec are decoded in any case, to reach the limit.
  const sounds = badSounds().filter(({ name }) => orLong(name !== HOURS_OF_OPUS, true));
  for (const { name, file, says } of sounds) {
    const opening = pool.open(file, CALLER);
    await expect(opening, name).rejects.toThrow(AudioError);
    await expect(opening, name).rejects.toThrow(says);
  }
  // All shares came back.
  const all = Array.from({ length: AUDIO_LIMITS.clientAudios }, () =>
    pool.open(soundFile('wav-16'), CALLER),
  );
  for (const { close } of await Promise.all(all)) close();
}, 300_000);

test('a client has so many at once, and others have theirs', async () => {
  const pool = openPool();
  const file = soundFile('wav-16');
  const own = Array.from({ length: AUDIO_LIMITS.clientAudios }, () => pool.open(file, CALLER));
  await expect(pool.open(file, CALLER)).rejects.toThrow(QueueFullError);
  const other = await pool.open(file, { ...CALLER, client: 'b' });
  other.close();
  const [first] = await Promise.all(own);
  first?.close();
  first?.close();
  const next = await pool.open(file, CALLER);
  next.close();
});

test('what waits ends with its caller, and its share comes back', async () => {
  const pool = openPool();
  const leaving = new AbortController();
  const caller = { client: 'a', signal: leaving.signal };
  const opening = Array.from({ length: AUDIO_LIMITS.clientAudios }, () =>
    pool.open(soundFile('flac-16'), caller),
  );
  leaving.abort(new Error('gone'));
  for (const end of await Promise.allSettled(opening)) expect(end.status).toBe('rejected');
  const next = await pool.open(soundFile('flac-16'), CALLER);
  next.close();
});
