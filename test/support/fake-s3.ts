import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const BUCKET = 'models';

/** An object as the store states it. */
export interface StoredObject {
  content: Buffer;
  etag: string;
  /** Sizes of the parts of an upload, in bytes. */
  parts?: number[];
  /** Besides what all have. */
  headers?: Record<string, string>;
}

/** An object store with one bucket, `models`, that checks signatures, and can be told to misbehave. */
export class FakeS3 {
  readonly objects = new Map<string, StoredObject>();
  /** Methods, paths and ranges of the requests so far. */
  readonly requests: string[] = [];
  readonly sessionTokens = new Set<string>();
  /** Bytes of contents that were sent. */
  sent = 0;
  endpoint = '';
  keys = { id: 'fake-id', secret: 'fake-secret' };
  region = 'us-east-1';
  isPublic = false;
  /** Answers to downloads are cut after so many bytes. */
  cutAfter = Infinity;
  /**
   * Resolves when an answer may be cut whose client has been sent so many bytes of a file: what arrives together
   * with the end of its connection is lost to who reads.
   */
  untilRead: (numBytes: number) => Promise<unknown> = () => sleep(20);
  heedsIfMatch = true;
  pageSize = 2;
  /** In place of a listing. */
  listing: ((url: URL) => string) | null = null;
  /** In place of any other answer, where it gives one. */
  answer: ((request: IncomingMessage, response: ServerResponse) => boolean) | null = null;
  readonly #server = createServer((request, response) => this.#answer(request, response));

  private constructor() {}

  static async start(files: Readonly<Record<string, string | Buffer>> = {}): Promise<FakeS3> {
    const store = new FakeS3();
    for (const [key, content] of Object.entries(files)) store.put(key, content);
    store.#server.listen(0, '127.0.0.1');
    await once(store.#server, 'listening');
    const { port } = store.#server.address() as AddressInfo;
    store.endpoint = `http://127.0.0.1:${port}`;
    return store;
  }

  /** Environment of a process that reads its bucket. */
  get env(): Record<string, string> {
    return {
      AWS_ENDPOINT_URL: this.endpoint,
      AWS_ACCESS_KEY_ID: this.keys.id,
      AWS_SECRET_ACCESS_KEY: this.keys.secret,
      AWS_EC2_METADATA_DISABLED: 'true',
    };
  }

  /** Keys whose content was asked for. */
  get downloads(): string[] {
    return this.requests
      .filter((request) => request.startsWith('GET ') && !request.includes('list-type'))
      .map((request) => request.slice(`GET /${BUCKET}/`.length));
  }

  put(key: string, content: string | Buffer, partSizes?: number[]): void {
    const bytes = Buffer.from(content);
    if (partSizes === undefined) {
      this.objects.set(key, { content: bytes, etag: md5(bytes) });
      return;
    }
    let at = 0;
    const digests = partSizes.map((size) => {
      at += size;
      return Buffer.from(md5(bytes.subarray(at - size, at)), 'hex');
    });
    const etag = `${md5(Buffer.concat(digests))}-${partSizes.length}`;
    this.objects.set(key, { content: bytes, etag, parts: partSizes });
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = '', url = '', headers } = request;
    // No request is sent over a connection that an answer before was cut on.
    response.setHeader('connection', 'close');
    this.requests.push([method, url, headers.range].filter((part) => part !== undefined).join(' '));
    const token = headers['x-amz-security-token'];
    if (typeof token === 'string') this.sessionTokens.add(token);
    if (this.answer?.(request, response) === true) return;
    const isSigned = headers.authorization !== undefined;
    if (isSigned ? !this.#isSignedRight(request) : !this.isPublic) {
      return fail(response, 403, isSigned ? 'SignatureDoesNotMatch' : 'AccessDenied');
    }
    const address = new URL(url, this.endpoint);
    if (address.pathname === `/${BUCKET}/`) return void response.end(this.#list(address));
    if (!address.pathname.startsWith(`/${BUCKET}/`)) return fail(response, 404, 'NoSuchBucket');
    const key = decodeURIComponent(address.pathname.slice(`/${BUCKET}/`.length));
    const object = this.objects.get(key);
    if (object === undefined) return fail(response, 404, 'NoSuchKey');
    if (this.heedsIfMatch && (headers['if-match'] ?? '') !== `"${object.etag}"`) {
      return fail(response, 412, 'PreconditionFailed');
    }
    this.#send(object, Number(address.searchParams.get('partNumber') ?? 0), request, response);
  }

  #list(address: URL): string {
    if (this.listing !== null) return this.listing(address);
    const prefix = address.searchParams.get('prefix') ?? '';
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).toSorted();
    const start = Number(address.searchParams.get('continuation-token') ?? 0);
    const page = keys.slice(start, start + this.pageSize);
    const contents = page.map((key) => {
      const { content, etag } = this.objects.get(key) ?? { content: Buffer.of(), etag: '' };
      return contentsOf(key, content.length, etag);
    });
    const next = start + this.pageSize;
    return listOf(contents, next < keys.length ? String(next) : null);
  }

  #send(
    object: StoredObject,
    part: number,
    { method, headers }: IncomingMessage,
    response: ServerResponse,
  ): void {
    const { content, etag, parts, headers: more = {} } = object;
    response.setHeader('etag', `"${etag}"`);
    for (const [name, value] of Object.entries(more)) response.setHeader(name, value);
    if (method === 'HEAD') {
      const length = part > 0 && parts !== undefined ? (parts[part - 1] ?? 0) : content.length;
      response.writeHead(part > 0 && parts !== undefined ? 206 : 200, { 'content-length': length });
      return void response.end();
    }
    const start = Number(/bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
    const rest = content.subarray(start, start + Math.min(content.length, this.cutAfter));
    const range = { 'content-range': `bytes ${start}-${content.length - 1}/${content.length}` };
    response.writeHead(start > 0 ? 206 : 200, {
      'content-length': content.length - start,
      ...(start > 0 && range),
    });
    this.sent += rest.length;
    if (start + rest.length === content.length) return void response.end(rest);
    const cut = async (): Promise<void> => {
      await this.untilRead(start + rest.length);
      response.destroy();
    };
    response.write(rest, () => void cut());
  }

  /** As AWS describes signatures of version 4, written apart from what signs. */
  #isSignedRight({ method = '', url = '', headers }: IncomingMessage): boolean {
    const parsed =
      /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/.exec(
        headers.authorization ?? '',
      );
    if (parsed === null) return false;
    const [, id, date = '', region = '', names = '', signature] = parsed;
    const [path = '', search = ''] = url.split('?');
    const canonical = [
      method,
      path,
      search.split('&').toSorted().join('&'),
      ...names.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}`),
      '',
      names,
      headers['x-amz-content-sha256'],
    ].join('\n');
    const time = String(headers['x-amz-date']);
    const scope = `${date}/${region}/s3/aws4_request`;
    const hashed = createHash('sha256').update(canonical).digest('hex');
    const text = ['AWS4-HMAC-SHA256', time, scope, hashed].join('\n');
    let key: Buffer = Buffer.from(`AWS4${this.keys.secret}`);
    for (const each of [date, region, 's3', 'aws4_request']) key = hmac(key, each);
    const isFresh = Math.abs(Date.now() - Date.parse(dashed(time))) < 15 * 60_000;
    const isWhole = names.split(';').includes('host') && names.includes('x-amz-content-sha256');
    const isKnown = id === this.keys.id && region === this.region;
    return isKnown && isFresh && isWhole && hmac(key, text).toString('hex') === signature;
  }
}

export function contentsOf(key: string, size: number | string, etag: string): string {
  const escaped = key.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<Contents><Key>${escaped}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;${etag}&quot;</ETag><Size>${size}</Size><StorageClass>STANDARD</StorageClass></Contents>`;
}

export function listOf(contents: readonly string[], next: string | null): string {
  const more =
    next === null
      ? '<IsTruncated>false</IsTruncated>'
      : `<IsTruncated>true</IsTruncated><NextContinuationToken>${next}</NextContinuationToken>`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>${BUCKET}</Name><Prefix/>${more}${contents.join('')}</ListBucketResult>`;
}

export function fail(response: ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'content-type': 'application/xml' });
  response.end(
    `<?xml version="1.0"?><Error><Code>${code}</Code><Message>fake-secret</Message></Error>`,
  );
}

function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

function dashed(time: string): string {
  return time.replace(/^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/, '$1-$2-$3:$4:$5');
}
