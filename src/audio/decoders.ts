/** Decoders in WebAssembly, each fed a piece of the file at a time. */
import { FLACDecoder } from '@wasm-audio-decoders/flac';
import { OggVorbisDecoder } from '@wasm-audio-decoders/ogg-vorbis';
import { MPEGDecoder } from 'mpg123-decoder';
import { AudioError } from './audio-error.ts';
import { flacFrames } from './flac-head.ts';
import type { AudioFormat } from './format.ts';
import { oggCodec } from './ogg-codec.ts';
import { opusBlocks } from './opus.ts';
import type { SoundBlock } from './sound-block.ts';
import { wavBlocks } from './wav.ts';

/**
 * Bytes that a decoder is fed at once. A frame of FLAC may say in 14 bytes that 65,535 samples of 8 channels are
 * silent, so that a piece of this size becomes 80 MB at most.
 */
export const PIECE_BYTES = 512;

/** Samples as the libraries give them. */
interface Decoded {
  readonly channelData: readonly Float32Array[];
  readonly samplesDecoded: number;
  readonly sampleRate: number;
  readonly errors: readonly unknown[];
}

interface Decoder {
  readonly ready: Promise<void>;
  decode(piece: Uint8Array): Promise<Decoded> | Decoded;
  flush?(): Promise<Decoded>;
  free(): void;
}

/** @param file without tags before it @throws AudioError; Error where the library fails */
export async function* blocksOf(
  format: AudioFormat,
  file: Uint8Array,
): AsyncGenerator<SoundBlock, void> {
  if (format === 'wav') return yield* wavBlocks(file);
  if (format === 'mp3') return yield* decoded(new MPEGDecoder(), file, 16 * PIECE_BYTES);
  if (format === 'flac') return yield* decoded(new FLACDecoder(), flacFrames(file), PIECE_BYTES);
  const codec = oggCodec(file);
  if (codec === 'opus') return yield* opusBlocks(file, PIECE_BYTES);
  const decoder = codec === 'vorbis' ? new OggVorbisDecoder() : new FLACDecoder();
  yield* decoded(decoder, file, PIECE_BYTES);
}

async function* decoded(
  decoder: Decoder,
  file: Uint8Array,
  pieceBytes: number,
): AsyncGenerator<SoundBlock, void> {
  await decoder.ready;
  for (let at = 0; at < file.length; at += pieceBytes) {
    const block = await decoder.decode(file.subarray(at, at + pieceBytes));
    if (block.samplesDecoded > 0 || block.errors.length > 0) yield toBlock(block);
  }
  const rest = await decoder.flush?.();
  if (rest !== undefined) yield toBlock(rest);
  decoder.free();
}

function toBlock({ channelData, sampleRate, errors, samplesDecoded }: Decoded): SoundBlock {
  if (samplesDecoded > 0 && channelData.length === 0) throw new AudioError('it has no channels');
  const channels = samplesDecoded > 0 ? channelData : [];
  return { channels, sampleRate, faults: errors.length };
}
