/** A GET of an address that somebody else chose: it reaches nothing but what rules allow. */
import { lookup as lookupName } from 'node:dns/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { bareHost } from './bare-host.ts';
import { REDIRECTS, redirected } from './get.ts';
import { isPublicAddress } from './public-address.ts';

const MAX_REDIRECTS = 3;

/** Nothing came of a download. Its message is for logs: it may tell of a network that its asker can't see. */
export class DownloadError extends Error {
  override readonly name = 'DownloadError';
  /** `refused` is of the first address alone: where it leads on is told to nobody. */
  readonly reason: 'refused' | 'too-large' | 'failed';

  constructor(reason: DownloadError['reason'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

export interface DownloadRules {
  /** Whether an address may be asked; of each that a redirect leads to, too. */
  readonly isAllowed: (url: URL) => boolean;
  readonly maxBytes: number;
  /** For all of it, from the name to the last byte. */
  readonly maxMs: number;
  readonly signal: AbortSignal;
  /** For tests: the addresses of a name. */
  readonly lookup?: (name: string) => Promise<readonly string[]>;
}

/**
 * The body of an answer. A name is looked up once, and the connection goes to the address that was looked
 * at: none of its addresses may be private, unless the allowed URL names that very address.
 * @throws DownloadError; the signal's reason on abort
 */
export async function download(url: URL, rules: DownloadRules): Promise<Uint8Array> {
  if (!mayAsk(url, rules)) throw new DownloadError('refused', `${url.host} is not allowed`);
  const time = AbortSignal.timeout(rules.maxMs);
  const signal = AbortSignal.any([rules.signal, time]);
  try {
    const body = await follow(url, rules, signal);
    return await readBody(body, rules.maxBytes, signal);
  } catch (error) {
    rules.signal.throwIfAborted();
    if (error instanceof DownloadError) throw error;
    throw new DownloadError('failed', time.aborted ? 'it takes too long' : String(error), {
      cause: error,
    });
  }
}

function mayAsk(url: URL, { isAllowed }: DownloadRules): boolean {
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return isWeb && url.username === '' && url.password === '' && isAllowed(url);
}

/** @returns the answer of status 200 that the address leads to */
async function follow(
  url: URL,
  rules: DownloadRules,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let at = url;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const answer = await send(at, await addressOf(at, rules, signal), signal);
    const { statusCode: status = 0, headers } = answer;
    if (status === 200 && (headers['content-encoding'] ?? 'identity') === 'identity') return answer;
    answer.destroy();
    if (!REDIRECTS.has(status) || headers.location === undefined) {
      throw new DownloadError('failed', `${at.host} answers ${status}`);
    }
    at = redirected(headers.location, at);
    if (!mayAsk(at, rules)) {
      throw new DownloadError('failed', `it leads to ${at.host}, which is not allowed`);
    }
  }
  throw new DownloadError('failed', `${url.host} redirects too many times`);
}

/** @throws DownloadError for a name with an address that is not of the internet */
async function addressOf(
  url: URL,
  { lookup = addressesOf }: DownloadRules,
  signal: AbortSignal,
): Promise<string> {
  const name = bareHost(url);
  // Whoever allowed it wrote it down: no name stands between.
  if (isIP(name) !== 0) return name;
  const addresses = await untilAborted(lookup(name), signal);
  const [first] = addresses;
  if (first === undefined) throw new DownloadError('failed', `${name} has no address`);
  const ours = addresses.find((address) => !isPublicAddress(address));
  if (ours === undefined) return first;
  throw new DownloadError('failed', `${name} has the address ${ours}, which is not public`);
}

async function addressesOf(name: string): Promise<string[]> {
  const found = await lookupName(name, { all: true });
  return found.map(({ address }) => address);
}

/** Nothing can stop a lookup; its end is not waited for. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    void work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function send(url: URL, address: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { get } = url.protocol === 'https:' ? https : http;
  const name = bareHost(url);
  return new Promise((resolve, reject) => {
    const options = {
      host: address,
      port: url.port === '' ? undefined : Number(url.port),
      path: `${url.pathname}${url.search}`,
      headers: { host: url.host, 'user-agent': 'chairlift', 'accept-encoding': 'identity' },
      // The certificate is for the name.
      ...(isIP(name) === 0 ? { servername: name } : {}),
      agent: false,
      signal,
    };
    get(options, resolve).on('error', reject);
  });
}

async function readBody(
  body: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const tooLarge = (): DownloadError =>
    new DownloadError('too-large', `it has more than ${maxBytes} bytes`);
  if (Number(body.headers['content-length'] ?? 0) > maxBytes) {
    body.destroy();
    throw tooLarge();
  }
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    signal.throwIfAborted();
    bytes += chunk.byteLength;
    if (bytes > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
