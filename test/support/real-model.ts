import { existsSync } from 'node:fs';
import { realModelPath } from '../../scripts/real-models/models.ts';
import type { Requirement } from './needs.ts';

/** Where SmolLM2-135M-Instruct is, once it was fetched. */
export const REAL_MODEL_PATH = realModelPath('smollm2-135m-instruct-q4_1');

export const REAL_MODEL: Requirement = {
  name: `${REAL_MODEL_PATH} (npx tsx scripts/real-models/fetch.ts)`,
  isThere: existsSync(REAL_MODEL_PATH),
};

/** Where OpenAI's Whisper tiny.en is, once it was fetched. */
export const REAL_WHISPER_PATH = realModelPath('whisper-tiny.en');

export const REAL_WHISPER: Requirement = {
  name: `${REAL_WHISPER_PATH} (npx tsx scripts/real-models/fetch.ts)`,
  isThere: existsSync(REAL_WHISPER_PATH),
};

/** Where OpenAI's Whisper base, which knows 99 languages, is, once it was fetched. */
export const REAL_WHISPER_BASE_PATH = realModelPath('whisper-base');

export const REAL_WHISPER_BASE: Requirement = {
  name: `${REAL_WHISPER_BASE_PATH} (npx tsx scripts/real-models/fetch.ts)`,
  isThere: existsSync(REAL_WHISPER_BASE_PATH),
};
