import { join } from 'node:path';

import { MODEL_LIMITS } from '../model-limits.ts';
import { UserError } from '../user-error.ts';

/** A hub or a file of a model names a file that it must not reach. */
export class UntrustedPathError extends UserError {}

/**
 * Control characters, halves of a surrogate pair, and what means something else in a path of Windows:
 * `:` a drive or a second stream, `\` a separator, the others patterns.
 */
const FORBIDDEN = /[\p{Cc}\p{Cs}\\:*?"<>|]/u;

/** Devices of Windows, with any extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])(?:\.|$)/i;

/**
 * Joins a relative path that somebody else chose to the folder it must stay in: the one way by which
 * names from a hub or out of a model's files become paths. The rules are the strictest of all systems
 * and the same on each, so that a model is good everywhere or nowhere. Links in the folder are
 * followed: who made it is the operator, or this program, which makes none.
 * @param path parts are separated by `/`
 * @param origin who names it, for the error
 * @throws {UntrustedPathError} saying what is wrong with it
 */
export function joinUntrusted(folder: string, path: string, origin: string): string {
  const problem = problemOf(path);
  if (problem === null) return join(folder, path);
  // As JSON: it must not write control characters to the operator's terminal.
  const shown = JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path);
  throw new UntrustedPathError(`${origin} names ${shown}, which is refused: ${problem}`);
}

function problemOf(path: string): string | null {
  if (path.length > MODEL_LIMITS.pathCharacters) {
    return `it is longer than ${MODEL_LIMITS.pathCharacters} characters`;
  }
  if (/^(?:[/\\]|[a-z]:)/i.test(path)) return 'it is not relative';
  const parts = path.split('/');
  if (parts.includes('..') || path.split('\\').includes('..')) return 'it leads out of its folder';
  if (parts.some((part) => part === '' || part === '.')) return 'a part of it is empty';
  if (parts.some((part) => Buffer.byteLength(part) > MODEL_LIMITS.fileNameBytes)) {
    return `a part of it is longer than ${MODEL_LIMITS.fileNameBytes} bytes`;
  }
  if (FORBIDDEN.test(path)) return 'it has a character that file names cannot have';
  if (parts.some((part) => /[. ]$/.test(part))) return 'a part of it ends in a dot or a space';
  if (parts.some((part) => DEVICE.test(part))) return 'it names a device';
  return null;
}
