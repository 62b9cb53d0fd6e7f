/** Checks each request's head before anything else looks at it: routes are matched before keys. */
import type { IncomingMessage } from 'node:http';
import { LIMITS } from '../../limits.ts';
import { ApiError, badRequest } from '../errors.ts';

/** Names, addresses and ports; a zone of IPv6 has a percent sign. */
const HOST = /^[\w.:[\]%-]{1,255}$/;

/**
 * @throws ApiError 414 for a path that is too long, or of too many parts: patterns of routes may take
 *   time in proportion to a power of them; 400 for one that
 *   can't be decoded, or a `Host` that is neither a name nor an address
 */
export function requireSoundHead({ url = '/', headers: { host } }: IncomingMessage): void {
  const end = url.indexOf('?');
  const path = end < 0 ? url : url.slice(0, end);
  const { requestPathCharacters, requestPathSegments } = LIMITS;
  if (path.length > requestPathCharacters || segmentsOf(path) > requestPathSegments) {
    throw new ApiError(
      414,
      'invalid_request_error',
      `The path has more than ${requestPathCharacters} characters or ${requestPathSegments} segments.`,
      { code: 'path_too_long' },
    );
  }
  if (path.includes('%')) requireDecodable(path);
  if (host === undefined || host === '') return;
  if (!HOST.test(host) || !URL.canParse(`http://${host}/`)) {
    throw badRequest('The `Host` header is not a name or an address.', null, 'invalid_host');
  }
}

/** Once, and here: the router would try it again and again, part by part, and go on with what it could read. */
function requireDecodable(path: string): void {
  try {
    decodeURIComponent(path);
  } catch {
    throw badRequest('The path has a percent sign that encodes no text.', null, 'invalid_path');
  }
}

function segmentsOf(path: string): number {
  let count = 0;
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) count++;
  return count;
}
