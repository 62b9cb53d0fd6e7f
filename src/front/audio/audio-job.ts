/** Work on sound that is done in processes of its own. Jobs and answers are plain values that cross processes. */
import { AudioError } from '../../audio/audio-error.ts';
import { decodeAudio, type Samples } from '../../audio/decode.ts';
import { LogMel, type WindowSize } from '../../audio/log-mel.ts';

/** A file to samples, which are its pieces. */
export interface DecodeJob {
  readonly file: Uint8Array;
}

/** Features that a model hears of a window. */
export interface FeaturesJob extends WindowSize {
  /** A window's at most. */
  readonly samples: Samples;
}

export type AudioJob = DecodeJob | FeaturesJob;

/** Errors lose their class between processes. @typeParam features of a window, none of a file */
export type AudioAnswer =
  | { readonly type: 'done'; readonly features: Float32Array<ArrayBuffer> | null }
  | { readonly type: 'refused'; readonly message: string };

/** By the size of a window: as many as there are kinds of models. */
const known = new Map<string, LogMel>();

/** @param send told of each piece of samples; resolves once it is on its way */
export async function runAudioJob(
  job: AudioJob,
  send: (piece: Samples) => Promise<void>,
): Promise<AudioAnswer> {
  if ('mels' in job) return { type: 'done', features: featuresOf(job) };
  try {
    for await (const piece of decodeAudio(job.file)) await send(piece);
    return { type: 'done', features: null };
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    return { type: 'refused', message: error.message };
  }
}

function featuresOf({ samples, mels, frames }: FeaturesJob): Float32Array<ArrayBuffer> {
  const size = `${mels} ${frames}`;
  const logMel = known.get(size) ?? new LogMel({ mels, frames });
  known.set(size, logMel);
  return logMel.features(Float32Array.from(samples, (sample) => sample / 32_768));
}
