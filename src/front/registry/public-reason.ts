/** Folders of an absolute path, on Unix or Windows; not those of an address such as https://host/path. */
const FOLDERS = /(?<![\w.:/\\])(?:[A-Za-z]:\\(?:[^\s\\'"`]+\\)*|\/(?:[^\s/'"`]+\/)*)(?=[^\s/\\])/g;

/**
 * Why a model can't be loaded, as any client may read it: files by their names, not by where they are
 * on this machine. The log has the whole message.
 * @param source folder of the model, which may have spaces in its name
 */
export function publicReason(message: string, source: string): string {
  return message.replaceAll(`${source}/`, '').replaceAll(`${source}\\`, '').replaceAll(FOLDERS, '');
}
