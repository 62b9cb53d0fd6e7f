/** The end of a path that names a model. Names may hold slashes, as those of the Hugging Face hub do. */
import { badRequest } from '../errors.ts';

export interface ModelPath {
  readonly model: string;
  /** Empty for the version that serves. */
  readonly version: string;
  /** Empty for the model itself. */
  readonly action: string;
}

const VERSIONS = '/versions';

/**
 * Looks from the end, once: patterns of a router that hold a name of any length go back and forth, and
 * take time in proportion to a power of it. A name ends neither with an action nor with a version.
 * @param path what follows the prefix of the route
 * @param actions that there are; a last segment that is none belongs to the name
 */
export function splitModelPath(path: string, actions: readonly string[]): ModelPath {
  const [head, last] = splitLast(path);
  const action = head !== '' && actions.includes(last) ? last : '';
  const named = action === '' ? path : head;
  const [owner, version] = splitLast(named);
  const model = owner.slice(0, -VERSIONS.length);
  const hasVersion = version !== '' && model !== '' && owner.endsWith(VERSIONS);
  return hasVersion ? { model, version, action } : { model: named, version: '', action };
}

/** The inverse, but for names that end as they can't. */
export function joinModelPath({ model, version, action }: ModelPath): string {
  const named = version === '' ? model : `${model}${VERSIONS}/${version}`;
  return action === '' ? named : `${named}/${action}`;
}

/** With its percent-encodings read, after it was split: a name may hold `%2F`. @throws ApiError 400 */
export function decodeModelPath({ model, version, action }: ModelPath): ModelPath {
  try {
    return { model: decodeURIComponent(model), version: decodeURIComponent(version), action };
  } catch {
    throw badRequest('The path is not well-formed.', null, 'invalid_path');
  }
}

function splitLast(path: string): [head: string, last: string] {
  const at = path.lastIndexOf('/');
  return at < 0 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}
