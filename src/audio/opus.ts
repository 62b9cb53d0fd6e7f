/** Opus in Ogg: pages by one library, packets by another. */
import CodecParser, { type CodecFrame, type OggPage, type OpusHeader } from 'codec-parser';
import { OpusDecoder } from 'opus-decoder';
import { AudioError } from './audio-error.ts';
import type { SoundBlock } from './sound-block.ts';

/** Rate that libopus decodes to; no resampling is needed then. */
const RATE = 16_000;
/** Granule positions count samples of this rate, whatever the file was made of. */
const GRANULE_RATE = 48_000;

/** @param pieceBytes that are parsed at once @throws AudioError */
export async function* opusBlocks(
  file: Uint8Array,
  pieceBytes: number,
): AsyncGenerator<SoundBlock, void> {
  let isOther = false;
  const parser = new CodecParser<OggPage>('application/ogg', {
    onCodec: (codec) => (isOther ||= codec !== 'opus'),
    enableFrameCRC32: false,
  });
  const stream = new OpusStream();
  for (let at = 0; at < file.length; at += pieceBytes) {
    for (const page of pagesOf(parser.parseChunk(file.subarray(at, at + pieceBytes)))) {
      yield* stream.decode(page);
    }
    if (isOther) throw new AudioError('it mixes Opus with other codecs');
  }
  for (const page of pagesOf(parser.flush())) yield* stream.decode(page);
}

/** Samples that pages add, without the first ones and those after the end. */
class OpusStream {
  #decoder: OpusDecoder<typeof RATE> | undefined;
  /** Samples that were decoded, those that are left out at the beginning included. */
  #decoded = 0;
  #serial: number | undefined;
  #skip = 0;

  async *decode(page: OggPage): AsyncGenerator<SoundBlock, void> {
    const [first] = page.codecFrames ?? [];
    if (first === undefined) return;
    // Chained files begin again, maybe with other channels.
    if (this.#serial !== page.streamSerialNumber) await this.#begin(first, page);
    const frames = page.codecFrames.map(({ data }) => data);
    const { channelData, samplesDecoded, errors } = this.#decoder!.decodeFrames(frames);
    const before = this.#decoded;
    this.#decoded += samplesDecoded;
    const end = page.isLastPage
      ? Math.min(this.#decoded, toRate(page.absoluteGranulePosition))
      : this.#decoded;
    const from = Math.min(Math.max(0, this.#skip - before), samplesDecoded);
    const to = Math.max(from, end - before);
    const channels = channelData.map((samples) => samples.subarray(from, to));
    yield { channels: to > from ? channels : [], sampleRate: RATE, faults: errors.length };
  }

  async #begin({ header }: CodecFrame, { streamSerialNumber }: OggPage): Promise<void> {
    const { channels, streamCount, coupledStreamCount, channelMappingTable, preSkip } =
      header as OpusHeader;
    this.#decoder?.free();
    this.#decoder = new OpusDecoder({
      sampleRate: RATE,
      channels,
      streamCount,
      coupledStreamCount,
      ...(channelMappingTable && { channelMappingTable: [...channelMappingTable] }),
    });
    await this.#decoder.ready;
    this.#serial = streamSerialNumber;
    this.#skip = toRate(preSkip);
    this.#decoded = 0;
  }
}

/** @param granules a BigInt too, whatever the types of the library say */
function toRate(granules: number | bigint): number {
  return Math.round((Number(granules) * RATE) / GRANULE_RATE);
}

/** The types of the library say that it gives iterators; it gives generators. */
function pagesOf(pages: Iterator<OggPage>): Iterable<OggPage> {
  return { [Symbol.iterator]: () => pages };
}
