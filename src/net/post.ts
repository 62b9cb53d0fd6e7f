import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { ConnectionError } from './get.ts';

/**
 * Sends JSON. Not `fetch`, for the reason that `get` has.
 * @param answerMs by when the answer must begin; it may then take as long as it likes
 * @returns the answer, to be read, or destroyed
 * @throws {ConnectionError} when there is none
 */
export function post(
  url: URL,
  json: string,
  headers: Readonly<Record<string, string>>,
  answerMs: number,
): Promise<IncomingMessage> {
  const { request: open } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const all = { 'user-agent': 'chairlift', 'content-type': 'application/json', ...headers };
    const request = open(url, { method: 'POST', headers: all, agent: false });
    const timer = setTimeout(() => request.destroy(new Error('there is no answer')), answerMs);
    request.on('response', (answer) => {
      clearTimeout(timer);
      resolve(answer);
    });
    request.on('error', (cause: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      reject(new ConnectionError(cause.message || String(cause.code), { cause }));
    });
    request.end(json);
  });
}
