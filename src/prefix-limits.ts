/** Bounds on what is kept of texts beyond the KV cache: part of LIMITS. */
export const PREFIX_LIMITS = {
  /** Texts that wait to be saved beyond the KV cache, --prefix-cache-memory and --prefix-cache-dir ... */
  prefixTierTexts: 64,
  /** ... bytes on their way to the folder, and as many that are read for requests or that they wait with. */
  prefixTierBytesInFlight: 512 * 2 ** 20,
  /** Ended texts that are remembered for /slots/{id}, of each model ... */
  slotTexts: 1024,
  /** ... and their tokens. */
  slotTextTokens: 8_388_608,
  /** Texts that a client may have saved there. */
  savedSlots: 128,
};
