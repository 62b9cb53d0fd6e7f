import { fileHash } from '../cache/content-hash.ts';
import type { Remote } from '../download/remote.ts';
import {
  askHub,
  errorOfAnswer,
  type HubAccess,
  type HubReference,
  listHubFiles,
} from './hub-repository.ts';

/** Folder of the cache for models of the hub. */
export const HUB_FOLDER = 'hub';

/** A repository of the hub. Tags of its files are their SHA-256, in hex. */
export function hubRemote(reference: HubReference, access: HubAccess): Remote {
  const { id, file, revision } = reference;
  return {
    id,
    name: id,
    file,
    home: [HUB_FOLDER, id.replace('/', '--')],
    revision,
    endpoint: access.endpoint,
    addressFrom: 'HF_ENDPOINT',
    isOffline: access.isOffline ?? false,
    nameOf(folder) {
      // A word alone is a type of weights, or a revision as Ollama writes it.
      const what = folder.includes('/') ? folder : `${folder}/`;
      return `hf:${id}:${what}${revision === 'main' ? '' : `@${revision}`}`;
    },
    list: () => listHubFiles(reference, access),
    ask(wanted, commit, from) {
      const name = wanted.name.split('/').map(encodeURIComponent).join('/');
      const range = from > 0 ? { range: `bytes=${from}-` } : {};
      return askHub(`/${id}/resolve/${commit}/${name}`, access, range);
    },
    errorOf: async (answer, what) => errorOfAnswer(answer, what, access),
    isWhole: async ({ tag }, path) => tag === null || (await fileHash(path)) === tag,
  };
}

/** Id of the model in a folder of the cache; null for another folder. */
export function hubModelIn(folder: string): string | null {
  return folder.includes('--') ? folder.replace('--', '/') : null;
}
