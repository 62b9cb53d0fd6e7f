/** An event of a Lambda function's URL, as the HTTP request that it stands for. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Payload format 2.0, as far as it is used. */
export interface FunctionUrlEvent {
  readonly rawPath: string;
  readonly rawQueryString: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly requestContext: {
    readonly http: { readonly method: string; readonly sourceIp: string };
  };
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

/** Metadata before a streamed answer. */
export interface HttpMetadata {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
}

/** Headers of one connection, not of the request or its answer. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'transfer-encoding',
]);

/**
 * Has a server answer an event.
 * @param url of the server, on this machine
 * @param open gives the stream that the answer goes to, once its status and headers are known
 * @throws Error when the server is gone, or goes while it answers
 */
export async function answerEvent(
  url: string,
  event: FunctionUrlEvent,
  open: (metadata: HttpMetadata) => Writable,
): Promise<void> {
  const { rawPath, rawQueryString, headers, body, isBase64Encoded = false } = event;
  const { method, sourceIp } = event.requestContext.http;
  const query = rawQueryString === '' ? '' : `?${rawQueryString}`;
  const asked = request(url + rawPath + query, {
    method,
    // A client on this machine is the operator: nobody who comes from elsewhere may look like that.
    headers: { ...headersOf(headers), 'x-forwarded-for': sourceIp },
  });
  asked.end(
    body === undefined ? undefined : Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8'),
  );
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const stream = open({ statusCode: answer.statusCode ?? 502, headers: headersOf(answer.headers) });
  // Lambda sends the metadata with the first write, which an answer without a body has not.
  stream.write('');
  await pipeline(answer, stream);
}

function headersOf(headers: IncomingHttpHeaders): Record<string, string> {
  const entries = Object.entries(headers).filter(
    ([name]) => !OF_CONNECTION.has(name.toLowerCase()),
  );
  return Object.fromEntries(entries.map(([name, value = '']) => [name, String(value)]));
}
