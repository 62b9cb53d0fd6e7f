import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { ModelError } from '../model-error.ts';

/**
 * Where built models are kept: CHAIRLIFT_CACHE if set, otherwise `chairlift` in the user's cache folder
 * (LOCALAPPDATA on Windows, XDG_CACHE_HOME or ~/.cache elsewhere).
 * @throws {ModelError} for a user without a home folder, where none of them is set
 */
export function defaultCacheDirectory(
  env: NodeJS.ProcessEnv = process.env,
  platform: NodeJS.Platform = process.platform,
): string {
  const own = env['CHAIRLIFT_CACHE'];
  if (own) {
    return resolve(own);
  }
  // An empty variable counts as unset, as the XDG specification asks.
  if (platform === 'win32') {
    return join(env['LOCALAPPDATA'] || join(homeFolder(), 'AppData', 'Local'), 'chairlift');
  }
  return join(env['XDG_CACHE_HOME'] || join(homeFolder(), '.cache'), 'chairlift');
}

function homeFolder(): string {
  try {
    return homedir();
  } catch (error) {
    throw new ModelError(
      'this user has no home folder: set CHAIRLIFT_CACHE to a folder for built models',
      { cause: error },
    );
  }
}
