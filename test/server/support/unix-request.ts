import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface UnixAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** Sends a request by a unix socket. @param body left out for a GET */
export async function askUnix(
  socketPath: string,
  path: string,
  body?: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<UnixAnswer> {
  const method = body === undefined ? 'GET' : 'POST';
  const asking = request({ socketPath, path, method, headers, agent: false });
  asking.end(body && JSON.stringify(body));
  const [answer] = (await once(asking, 'response')) as [IncomingMessage];
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    body: await text(answer),
  };
}
