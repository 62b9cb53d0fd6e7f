/** Bounds on speech: part of LIMITS. */
export const SPEECH_LIMITS = {
  /** Bytes of speech's embeddings that requests hold, until they have ended ... */
  speechEmbeddingBytes: 512 * 2 ** 20,
  /** ... and those of one client; a server without keys has one. */
  clientSpeechEmbeddingBytes: 256 * 2 ** 20,
  /** Bytes of embeddings that are kept for the next request with the same window. */
  speechCacheBytes: 256 * 2 ** 20,
} as const;
