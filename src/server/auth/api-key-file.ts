/** The file of --api-key-file: a client's name, its key, and perhaps its rates on each line. */
import { readFile } from 'node:fs/promises';
import type { Rates } from '../rates/rate-limits.ts';
import { type ApiKey, digestOf } from './api-keys.ts';

const NAME = /^[\w.@-]{1,64}$/;

/** The file can't be read or has a line that is not as it should be. Its message holds no key. */
export class ApiKeyFileError extends Error {
  override readonly name = 'ApiKeyFileError';
}

/** @throws ApiKeyFileError naming the file, and the line where one is wrong */
export async function readApiKeyFile(path: string): Promise<ApiKey[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiKeyFileError(`can't read the API keys: ${reason}`, { cause: error });
  }
  try {
    return parseApiKeys(text);
  } catch (error) {
    if (!(error instanceof ApiKeyFileError)) throw error;
    throw new ApiKeyFileError(`${path}: ${error.message}`);
  }
}

/**
 * Lines of `name key`, and `requests=N` or `tokens=N` per minute if these are its own; empty ones and those that begin with `#` count for nothing.
 * @throws ApiKeyFileError naming the line; also for a text without keys, which would open the API
 */
export function parseApiKeys(text: string): ApiKey[] {
  const lineOfKey = new Map<string, number>();
  const keys: ApiKey[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [client = '', key, ...words] = line.trim().split(/\s+/);
    if (client === '' || client.startsWith('#')) continue;
    const number = index + 1;
    const rates = parseRates(words);
    if (key === undefined || rates === null) {
      throw new ApiKeyFileError(
        `line ${number}: expected \`name key\`, and at most \`requests=N\` and \`tokens=N\` after them`,
      );
    }
    if (!NAME.test(client)) {
      throw new ApiKeyFileError(
        `line ${number}: a name has 1 to 64 letters, digits and any of . _ @ -`,
      );
    }
    const digest = digestOf(key);
    const before = lineOfKey.get(digest.toString('hex'));
    if (before !== undefined) {
      throw new ApiKeyFileError(`line ${number}: this key is on line ${before} already`);
    }
    lineOfKey.set(digest.toString('hex'), number);
    keys.push({ client, digest, ...(words.length === 0 ? {} : { rates }) });
  }
  if (keys.length === 0) throw new ApiKeyFileError('there is no key in it');
  return keys;
}

/** @returns null for words that are no rates */
function parseRates(words: readonly string[]): Partial<Rates> | null {
  const rates: { requests?: number; tokens?: number } = {};
  for (const word of words) {
    const [, unit, count = ''] = /^(requests|tokens)=([1-9]\d{0,11})$/.exec(word) ?? [];
    if (unit !== 'requests' && unit !== 'tokens') return null;
    if (rates[unit] !== undefined) return null;
    rates[unit] = Number(count);
  }
  return rates;
}
