import { z } from 'zod';

import { type Answer, get, readJsonAnswer } from '../../net/get.ts';
import type { RemoteListing } from '../download/remote.ts';
import { ModelError } from '../model-error.ts';

/** How to reach the hub. */
export interface HubAccess {
  /** Such as `https://huggingface.co`. */
  readonly endpoint: string;
  /** For private and gated models. */
  readonly token: string | null;
  /** Whether it may not be asked at all; false if left out. */
  readonly isOffline?: boolean;
}

/** A model on the hub, at a branch, tag or commit. */
export interface HubReference {
  /** Such as `Qwen/Qwen3-0.6B`. */
  readonly id: string;
  readonly revision: string;
  /** A folder, a GGUF file, or the type of weights in its name, such as `Q4_K_M`; null if nobody says. */
  readonly file: string | null;
}

const REFERENCE =
  /^hf:(?<id>\w[\w.-]*\/\w[\w.-]*)(?::(?<file>[^\s@:]+))?(?:@(?<revision>[^\s@]+))?$/;

/** A commit's full hash. */
const COMMIT = /^[0-9a-f]{40}$/;

const listingSchema = z.object({
  sha: z.string().regex(COMMIT),
  siblings: z.array(
    z.object({
      rfilename: z.string(),
      size: z.int().nonnegative().nullish(),
      lfs: z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }).nullish(),
    }),
  ),
});

/**
 * `HF_ENDPOINT` and `HF_TOKEN`, as the hub's own tools read them.
 * @throws {ModelError} if the first is no address
 */
export function hubAccess(env: NodeJS.ProcessEnv = process.env): HubAccess {
  const endpoint = env['HF_ENDPOINT'] || 'https://huggingface.co';
  if (!/^https?:/.test(endpoint) || !URL.canParse(endpoint)) {
    throw new ModelError(
      `HF_ENDPOINT is ${endpoint}: expected an address as https://huggingface.co`,
    );
  }
  return { endpoint: endpoint.replace(/\/+$/, ''), token: env['HF_TOKEN'] || null };
}

export function isHubReference(model: string): boolean {
  return model.startsWith('hf:');
}

/** @throws {ModelError} if it is not `hf:owner/name`, with `:file`, `:folder` and `@revision` or without */
export function parseHubReference(model: string): HubReference {
  const { id, revision = 'main', file = null } = REFERENCE.exec(model)?.groups ?? {};
  // As on the hub itself; here two of them are what becomes of the slash in a folder's name.
  if (id === undefined || id.includes('--') || /^\.+$/.test(revision)) {
    throw new ModelError(
      `${model} is no model on the hub: expected hf:owner/name[:file or folder][@revision]`,
    );
  }
  return { id, revision, file };
}

/**
 * Asks the hub for a model's files.
 * @throws {ModelError} when there is no such model, it needs a token, or the hub's answer makes no
 *   sense; ConnectionError when the hub can't be reached
 */
export async function listHubFiles(
  { id, revision }: HubReference,
  access: HubAccess,
): Promise<RemoteListing> {
  const path = `/api/models/${id}/revision/${encodeURIComponent(revision)}?blobs=true`;
  // Once more, because a connection kept from an earlier request may be closed by now.
  const answer = await askHub(path, access).catch(() => askHub(path, access));
  if (answer.status !== 200) throw errorOfAnswer(answer, `${id}@${revision}`, access);
  const parsed = listingSchema.safeParse(await readJsonAnswer(answer).catch(() => null));
  if (!parsed.success)
    throw new ModelError(
      `${access.endpoint} did not answer like a model hub (HF_ENDPOINT sets the address)`,
    );
  return {
    commit: parsed.data.sha,
    files: parsed.data.siblings.map(({ rfilename, size, lfs }) => ({
      name: rfilename,
      size: size ?? 0,
      tag: lfs?.sha256 ?? null,
    })),
  };
}

/** @throws ConnectionError when the hub can't be reached */
export function askHub(
  path: string,
  { endpoint, token }: HubAccess,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const authorization = token === null ? {} : { authorization: `Bearer ${token}` };
  return get(new URL(`${endpoint}${path}`), { ...authorization, ...headers });
}

/** Error for an answer that is no success; nothing more is read of it. */
export function errorOfAnswer(
  { status, body }: Answer,
  what: string,
  { endpoint, token }: HubAccess,
): ModelError {
  body.destroy();
  if (status === 401 || status === 403) {
    const advice =
      token === null
        ? 'give --hf-token, or set HF_TOKEN, to a token that may read it'
        : 'the token may not read it';
    return new ModelError(
      `${what} on ${endpoint} does not exist, or is private or gated: ${advice}`,
    );
  }
  if (status === 404) return new ModelError(`${endpoint} has no ${what}`);
  return new ModelError(`${endpoint} answered ${status} for ${what}`);
}
