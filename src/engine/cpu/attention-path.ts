/** Read by ONNX Runtime when the kernels of a session are created. */
const DISABLE_FLASH = 'ORT_GQA_DISABLE_FLASH_ATTENTION';

/** The longest run for which plain attention is at least as fast as flash attention. */
export const MAX_PLAIN_TOKENS = 512;

/**
 * Makes sessions whose attention computes all of a slot's scores before it weighs values by them:
 * the faster way for few tokens over many cached ones. Flash attention, the default, goes through
 * the scores in tiles, which pays for long prompts. Measured: docs/performance-log.md.
 */
export function withPlainAttention<R>(makeSessions: () => R): R {
  const before = process.env[DISABLE_FLASH];
  process.env[DISABLE_FLASH] = '1';
  try {
    return makeSessions();
  } finally {
    if (before === undefined) delete process.env[DISABLE_FLASH];
    else process.env[DISABLE_FLASH] = before;
  }
}
