/** Links of documents in the package, which has fewer files than the repository. */
import { posix } from 'node:path';

/** A link or a picture. */
const LINK = /!?\[([^\]]*)\]\(([^)\s]+)\)/g;

/**
 * A document in which links to files that are not in the package are plain text.
 * @param path of the document in the package
 * @param paths all files of the package
 */
export function packedLinks(text: string, path: string, paths: readonly string[]): string {
  return text.replaceAll(LINK, (link: string, words: string, target: string) =>
    isIn(target, path, paths) ? link : words,
  );
}

/** Whether a link leads somewhere: out of the package, to a file of it, or to a folder. */
export function isIn(target: string, path: string, paths: readonly string[]): boolean {
  if (/^[a-z]+:|^#/.test(target)) return true;
  const [file = ''] = target.split('#');
  const found = posix.join(posix.dirname(path), file).replace(/\/$/, '');
  return paths.some((each) => each === found || each.startsWith(`${found}/`));
}
