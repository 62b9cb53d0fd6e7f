/** The file of --api-key-file: a client's name, its key, and what is its own on each line. */
import { type ApiKey, digestOf } from './api-keys.ts';
import { UserError } from '../../user-error.ts';
import { readNamed } from '../../files/named-files.ts';

const NAME = /^[\w.@-]{1,64}$/;

/**
 * @param classes the service classes that there are
 * @throws UserError naming the file, and the line where one is wrong
 */
export async function readApiKeyFile(
  path: string,
  classes: readonly string[] = [],
): Promise<ApiKey[]> {
  const text = await readNamed('--api-key-file', path);
  try {
    return parseApiKeys(text, classes);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`${path}: ${error.message}`);
  }
}

/**
 * Lines of `name key`, and `requests=N` or `tokens=N` per minute or `class=NAME` if these are its own;
 * empty ones and those that begin with `#` count for nothing.
 * @throws UserError naming the line; also for a text without keys, which would open the API
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
      throw new UserError(
        `line ${number}: expected \`name key\`, and at most \`requests=N\`, \`tokens=N\` and \`class=NAME\` after them`,
      );
    }
    const { serviceClass } = own;
    if (serviceClass !== undefined && !classes.includes(serviceClass)) {
      throw new UserError(
        `line ${number}: there is no service class '${serviceClass}'; there are ${classes.join(', ')}`,
      );
    }
    if (!NAME.test(client)) {
      throw new UserError(`line ${number}: a name has 1 to 64 letters, digits and any of . _ @ -`);
    }
    const digest = digestOf(key);
    const before = lineOfKey.get(digest.toString('hex'));
    if (before !== undefined) {
      throw new UserError(`line ${number}: this key is on line ${before} already`);
    }
    lineOfKey.set(digest.toString('hex'), number);
    keys.push({ client, digest, ...own });
  }
  if (keys.length === 0) throw new UserError('it has no keys');
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
