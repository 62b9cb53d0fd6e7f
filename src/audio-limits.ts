/** Bounds on sound: its files, what is decoded of them, and what waits. */
export const AUDIO_LIMITS = {
  /** Bytes of a file, as OpenAI has it. */
  audioBytes: 25 * 2 ** 20,
  /** Seconds of sound in a file: a small one may hold days of silence. */
  audioSeconds: 7200,
  /** Channels of a file. */
  audioChannels: 8,
  /** Samples per second that a file may have. */
  audioSampleRates: { min: 4000, max: 384_000 },
  /** Chunks of a WAV file before its samples. */
  audioChunks: 256,
  /** Faults of a file that its decoder goes on after. */
  audioFaults: 100,
  /** Processes that read sound. */
  audioProcesses: 2,
  /** Resident memory of such a process, in megabytes. */
  audioProcessMb: 512,
  /** Milliseconds that a process may spend on one file, or on one window. */
  audioMs: 120_000,
  /** Bytes of larger files are read one file at a time, whosever they are. */
  audioBytesInTurn: 4 * 2 ** 20,
  /** Files that requests have, from their first byte to the end of the answer ... */
  audios: 64,
  /** ... and those of one client; a server without keys has one. */
  clientAudios: 16,
  /** Bytes of files and of decoded samples that such requests hold ... */
  audioBytesHeld: 768 * 2 ** 20,
  /** ... and those of one client. */
  clientAudioBytesHeld: 384 * 2 ** 20,
} as const;
