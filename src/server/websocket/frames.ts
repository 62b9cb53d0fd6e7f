/** Frames that clients send over a WebSocket. */
import { LIMITS } from '../../limits.ts';
import { badRequest } from '../errors.ts';
import { parseScanned } from '../http/json-text.ts';

export type ClientFrame =
  | { readonly type: 'cancel'; readonly requestId: string }
  | { readonly type: 'request'; readonly requestId: string; readonly body: object };

/**
 * @param text of the frame, which was scanned
 * @throws ApiError 400 when the frame is not a JSON object with a `request_id`.
 */
export function parseFrame(text: string): ClientFrame {
  const json = parseScanned(text);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw badRequest('A frame must be a JSON object.', null, 'invalid_json');
  }
  const requestId = 'request_id' in json ? json.request_id : undefined;
  if (
    typeof requestId !== 'string' ||
    requestId === '' ||
    requestId.length > LIMITS.requestIdCharacters
  ) {
    throw badRequest(
      `\`request_id\`: expected a string of 1 to ${LIMITS.requestIdCharacters} characters, chosen by you.`,
      'request_id',
      requestId === undefined ? 'missing_required_parameter' : 'invalid_value',
    );
  }
  if (!('type' in json)) return { type: 'request', requestId, body: json };
  if (json.type === 'cancel') return { type: 'cancel', requestId };
  throw badRequest('`type`: expected `cancel`, or none for a request.', 'type', 'invalid_value');
}
