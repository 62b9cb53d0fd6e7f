/**
 * Triton's modes: `none` loads all at start, `explicit` what it is told to, `poll` follows the
 * repository; and `auto`, which loads what is asked for and unloads what is not.
 */
export const MODEL_CONTROLS = ['none', 'explicit', 'poll', 'auto'] as const;
export type ModelControl = (typeof MODEL_CONTROLS)[number];
