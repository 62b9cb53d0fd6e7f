/** Files that a server of sound has to refuse, each with what it says of it. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

interface FileCase {
  readonly name: string;
  readonly file: string;
}

const PACKED = readFileSync(new URL('../fixtures/audio/files.json.gz', import.meta.url));
const FILES = JSON.parse(gunzipSync(PACKED).toString()) as FileCase[];

/** A sound that libsndfile wrote. @param name as in scripts/references/audio.py */
export function soundFile(name: string): Buffer {
  const found = FILES.find((each) => each.name === name);
  if (found === undefined) throw new Error(`no sound ${name}`);
  return Buffer.from(found.file, 'base64');
}

export interface BadSound {
  readonly name: string;
  readonly file: Buffer;
  /** Part of the message. */
  readonly says: RegExp;
}

const NO_SOUND = /no sound that can be decoded/;
const NOT_SOUND = /no file of sound/;

export function badSounds(): readonly BadSound[] {
  return [
    { name: 'nothing', file: Buffer.alloc(0), says: NOT_SOUND },
    { name: 'one byte', file: Buffer.of(0xff), says: NOT_SOUND },
    { name: 'a text', file: Buffer.from('RIFFs are played on guitars.'), says: NOT_SOUND },
    { name: 'zeros', file: Buffer.alloc(2 ** 20), says: NOT_SOUND },
    { name: 'a PNG', file: Buffer.from('\x89PNG\r\n\x1a\n0000IHDR', 'latin1'), says: NOT_SOUND },
    { name: 'M4A', file: Buffer.from('\0\0\0 ftypM4A 0000'), says: /M4A or MP4 is not supported/ },
    { name: 'WebM', file: Buffer.from('1a45dfa39f428681', 'hex'), says: /WebM or Matroska is not/ },
    { name: 'AAC', file: Buffer.from('fff15080001ffc00', 'hex'), says: /AAC is not supported/ },
    { name: 'AIFF', file: Buffer.from('FORM0000AIFFCOMM'), says: /AIFF is not supported/ },
    {
      name: 'more than 25 MB',
      file: Buffer.alloc(25 * 2 ** 20 + 1),
      says: /larger than the limit/,
    },
    ...badWavs(),
    ...badFlacs(),
    ...badOggs(),
    ...badMp3s(),
  ];
}

function badWavs(): readonly BadSound[] {
  const samples = Buffer.alloc(64);
  const odd = (change: Partial<WavForm>) => wav({ ...PLAIN, ...change }, samples);
  return [
    {
      name: 'WAV of its head alone',
      file: wav(PLAIN, samples).subarray(0, 12),
      says: /no samples/,
    },
    {
      name: 'WAV cut in its format',
      file: wav(PLAIN, samples).subarray(0, 30),
      says: /ends within/,
    },
    {
      name: 'WAV without a format',
      file: riff(chunk('data', samples)),
      says: /before their format/,
    },
    { name: 'WAV without samples', file: wav(PLAIN, Buffer.alloc(0)), says: NO_SOUND },
    { name: 'WAV without channels', file: odd({ channels: 0, align: 0 }), says: /0 channels/ },
    {
      name: 'WAV of 65,535 channels',
      file: odd({ channels: 65_535, align: 65_535, bits: 8 }),
      says: /65535 channels, and the limit is 8/,
    },
    {
      name: 'WAV of 9 channels',
      file: odd({ channels: 9, align: 18 }),
      says: /9 channels, and the limit is 8/,
    },
    { name: 'WAV of no samples a second', file: odd({ rate: 0 }), says: /0 samples per second/ },
    {
      name: 'WAV of 4 GHz',
      file: odd({ rate: 2 ** 32 - 1 }),
      says: /samples per second; expected/,
    },
    { name: 'WAV of ADPCM', file: odd({ code: 2, bits: 4 }), says: /format 2 with 4 bits is not/ },
    { name: 'WAV of 7 bits', file: odd({ bits: 7 }), says: /format 1 with 7 bits is not/ },
    {
      name: 'WAV with frames that lie',
      file: odd({ align: 7 }),
      says: /does not fit its channels/,
    },
    {
      name: 'WAV of many chunks',
      file: riff(...Array.from({ length: 300 }, () => chunk('LIST', Buffer.alloc(2)))),
      says: /more than 256 chunks/,
    },
    {
      name: 'WAV with a chunk beyond its end',
      file: riff(Buffer.concat([Buffer.from('LIST'), Buffer.alloc(4, 0xff)])),
      says: /no samples/,
    },
  ];
}

function badFlacs(): readonly BadSound[] {
  const whole = soundFile('flac-16');
  const endless = Buffer.from(whole);
  // 36 bits of samples, after 28 bits of other things.
  endless.writeUInt32BE(0xffff_ffff, 22);
  return [
    {
      name: 'FLAC of its head alone',
      file: whole.subarray(0, 4),
      says: /ends within its metadata/,
    },
    { name: 'FLAC cut in its head', file: whole.subarray(0, 20), says: /does not begin with/ },
    { name: 'FLAC that says it is days long', file: endless, says: /longer than the limit/ },
    { name: 'FLAC of hours of silence', file: silentFlac(1800), says: /longer than the limit/ },
    { name: 'FLAC of noise', file: Buffer.concat([flacHead(), noise(2 ** 18)]), says: NO_SOUND },
    {
      name: 'FLAC whose last block never comes',
      file: Buffer.concat([Buffer.from('fLaC'), Buffer.alloc(2 ** 16)]),
      says: /does not begin with/,
    },
  ];
}

function badOggs(): readonly BadSound[] {
  const vorbis = soundFile('vorbis');
  const wide = Buffer.from(vorbis);
  wide[wide.indexOf('\x01vorbis', 0, 'latin1') + 11] = 255;
  const opus = soundFile('opus-mono');
  const mute = Buffer.from(opus);
  mute[mute.indexOf('OpusHead') + 9] = 0;
  return [
    { name: 'Ogg without a codec', file: oggPage(0, Buffer.from('fishead\0')), says: /no Vorbis/ },
    { name: 'Ogg of video', file: oggPage(0, Buffer.from('\x80theora')), says: /no Vorbis, Opus/ },
    { name: 'Ogg cut in its head', file: vorbis.subarray(0, 20), says: /no Vorbis, Opus or FLAC/ },
    { name: 'Vorbis of 255 channels', file: wide, says: /255 channels, and the limit is 8/ },
    { name: 'Vorbis without sound', file: vorbis.subarray(0, 60), says: NO_SOUND },
    { name: 'Vorbis cut in its setup', file: vorbis.subarray(0, 2000), says: NO_SOUND },
    { name: 'Opus without channels', file: mute, says: /0 channels/ },
    { name: 'Opus of its head alone', file: opus.subarray(0, 60), says: /no sound|decoder fails/ },
    { name: 'Opus of noise', file: noisyOpus(), says: /no sound|damaged|decoder fails/ },
    { name: 'Opus of hours of silence', file: silentOpus(700), says: /longer than the limit/ },
  ];
}

function badMp3s(): readonly BadSound[] {
  const frame = Buffer.from('fffb9064', 'hex');
  const tag = (size: number) => Buffer.concat([Buffer.from('ID3\x03\0\0'), syncsafe(size)]);
  return [
    { name: 'MP3 of one head', file: frame, says: NO_SOUND },
    {
      name: 'MP3 of a head and zeros',
      file: Buffer.concat([frame, Buffer.alloc(99)]),
      says: NO_SOUND,
    },
    { name: 'MP3 whose tag never ends', file: tag(2 ** 28 - 1), says: /ends within its ID3 tag/ },
    {
      name: 'tag in front of a PDF',
      file: Buffer.concat([tag(4), Buffer.from('\0\0\0\0%PDF-1.7 and so on')]),
      says: NOT_SOUND,
    },
    {
      name: 'many tags',
      file: Buffer.concat(Array.from({ length: 99 }, () => tag(0))),
      says: /more than 8 ID3 tags/,
    },
  ];
}

interface WavForm {
  readonly code: number;
  readonly channels: number;
  readonly rate: number;
  readonly align: number;
  readonly bits: number;
}

const PLAIN: WavForm = { code: 1, channels: 1, rate: 16_000, align: 2, bits: 16 };

/** @param samples as they are in the file */
export function wav(
  { code, channels, rate, align, bits }: WavForm = PLAIN,
  samples: Buffer = Buffer.alloc(0),
): Buffer {
  const form = Buffer.alloc(16);
  form.writeUInt16LE(code, 0);
  form.writeUInt16LE(channels, 2);
  form.writeUInt32LE(rate, 4);
  form.writeUInt32LE((rate * align) >>> 0, 8);
  form.writeUInt16LE(align, 12);
  form.writeUInt16LE(bits, 14);
  return riff(chunk('fmt ', form), chunk('data', samples));
}

function riff(...chunks: readonly Buffer[]): Buffer {
  return Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), ...chunks]);
}

function chunk(name: string, data: Buffer): Buffer {
  const head = Buffer.from(`${name}0000`);
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data]);
}

/** STREAMINFO of one channel, 16,000 samples per second and no known length. */
function flacHead(): Buffer {
  const info = Buffer.alloc(34);
  info.writeUInt16BE(65_535, 0);
  info.writeUInt16BE(65_535, 2);
  info.writeBigUInt64BE((16_000n << 44n) | (15n << 36n), 10);
  return Buffer.concat([Buffer.from('fLaC'), Buffer.of(0x80, 0, 0, 34), info]);
}

/** Frames of 65,535 silent samples, in 14 bytes each. */
function silentFlac(count: number): Buffer {
  const frames = Array.from({ length: count }, (_, number) => {
    const coded = Buffer.from(String.fromCodePoint(number));
    const head = Buffer.concat([Buffer.of(0xff, 0xf8, 0x75, 0x08), coded, Buffer.of(0xff, 0xfe)]);
    const body = Buffer.concat([head, Buffer.of(crc(head, 8, 0x07)), Buffer.alloc(3)]);
    const check = crc(body, 16, 0x8005);
    return Buffer.concat([body, Buffer.of(check >> 8, check & 255)]);
  });
  return Buffer.concat([flacHead(), ...frames]);
}

function crc(bytes: Buffer, bits: 8 | 16, polynomial: number): number {
  const top = 1 << (bits - 1);
  const mask = 2 ** bits - 1;
  let value = 0;
  for (const byte of bytes) {
    value ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) {
      value = ((value << 1) ^ (value & top ? polynomial : 0)) & mask;
    }
  }
  return value;
}

function opusHead(): Buffer {
  return Buffer.from('OpusHead\x01\x01\0\0\x80\xbb\0\0\0\0\0', 'latin1');
}

function opusOf(pages: readonly (readonly Buffer[])[]): Buffer {
  const tags = Buffer.from('OpusTags\0\0\0\0\0\0\0\0', 'latin1');
  return Buffer.concat([
    oggPage(0, opusHead()),
    oggPage(1, tags),
    ...pages.map((packets, index) => oggPage(index + 2, ...packets)),
  ]);
}

/** Packets of one byte each, which are 60 ms of silence. */
function silentOpus(pages: number): Buffer {
  const packets = Array.from({ length: 255 }, () => Buffer.of(0x18));
  return opusOf(Array.from({ length: pages }, () => packets));
}

function noisyOpus(): Buffer {
  const packets = Array.from({ length: 50 }, (_, index) => {
    // More frames in a packet than there may be.
    return Buffer.concat([Buffer.of(0xff, 0x3f), noise(150 + index)]);
  });
  return opusOf(Array.from({ length: 4 }, () => packets));
}

/** @param packets of 254 bytes at most */
function oggPage(number: number, ...packets: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(27);
  head.write('OggS');
  head[5] = number === 0 ? 2 : 0;
  head.writeBigUInt64LE(BigInt(number) * 1000n, 6);
  head.writeUInt32LE(7, 14);
  head.writeUInt32LE(number, 18);
  head[26] = packets.length;
  return Buffer.concat([head, Buffer.from(packets.map(({ length }) => length)), ...packets]);
}

function syncsafe(size: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (size >> shift) & 127));
}

/** The same each time. */
function noise(count: number): Buffer {
  let state = 1;
  return Buffer.from(
    Uint8Array.from({ length: count }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    }),
  );
}
