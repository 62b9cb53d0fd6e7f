/** The file of --api-key-file: a client's name, its key, and what is its own on each line. */
import { readFile } from 'node:fs/promises';
import { type ApiKey, digestOf } from './api-keys.ts';

const NAME = /^[\w.@-]{1,64}$/;

/** The file can't be read or has a line that is not as it should be. Its message holds no key. */
export class ApiKeyFileError extends Error {
  override readonly name = 'ApiKeyFileError';
}

/**
 * @param classes the service classes that there are
 * @throws ApiKeyFileError naming the file, and the line where one is wrong
 */
export async function readApiKeyFile(
  path: string,
  classes: readonly string[] = [],
): Promise<ApiKey[]> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new ApiKeyFileError(`can't read the API keys: ${reason}`, { cause: error });
  }
  try {
    return parseApiKeys(text, classes);
  } catch (error) {
    if (!(error instanceof ApiKeyFileError)) throw error;
    throw new ApiKeyFileError(`${path}: ${error.message}`);
  }
}

/**
 * Lines of `name key`, and `requests=N` or `tokens=N` per minute or `class=NAME` if these are its own;
 * empty ones and those that begin with `#` count for nothing.
 * @throws ApiKeyFileError naming the line; also for a text without keys, which would open the API
 */
export function parseApiKeys(text: string, classes: readonly string[] = []): ApiKey[] {
  const lineOfKey = new Map<string, number>();
  const keys: ApiKey[] = [];
  for (const [index, line] of text.split('\n').entries()) {
    const [client = '', key, ...words] = line.trim().split(/\s+/);
    if (client === '' || client.startsWith('#')) continue;
    const number = index + 1;
    const own = parseOwn(words);
    if (key === undefined || own === null) {
      throw new ApiKeyFileError(
        `line ${number}: expected \`name key\`, and at most \`requests=N\`, \`tokens=N\` and \`class=NAME\` after them`,
      );
    }
    const { serviceClass } = own;
    if (serviceClass !== undefined && !classes.includes(serviceClass)) {
      throw new ApiKeyFileError(
        `line ${number}: there is no service class '${serviceClass}', but ${classes.join(', ')}`,
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
    keys.push({ client, digest, ...own });
  }
  if (keys.length === 0) throw new ApiKeyFileError('there is no key in it');
  return keys;
}

/** @returns null for words that say nothing of a client */
function parseOwn(words: readonly string[]): Pick<ApiKey, 'rates' | 'serviceClass'> | null {
  const rates: { requests?: number; tokens?: number } = {};
  let serviceClass: string | undefined;
  for (const word of words) {
    const [, unit, count = ''] = /^(requests|tokens)=([1-9]\d{0,11})$/.exec(word) ?? [];
    const [, name] = /^class=(\S+)$/.exec(word) ?? [];
    if ((unit === 'requests' || unit === 'tokens') && rates[unit] === undefined) {
      rates[unit] = Number(count);
    } else if (name !== undefined && serviceClass === undefined) {
      serviceClass = name;
    } else {
      return null;
    }
  }
  return {
    ...(Object.keys(rates).length === 0 ? {} : { rates }),
    ...(serviceClass === undefined ? {} : { serviceClass }),
  };
}
