import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/**
 * Where built models are kept: CHAIRLIFT_CACHE if set, else `chairlift` in the user's cache folder
 * (LOCALAPPDATA on Windows, XDG_CACHE_HOME or ~/.cache elsewhere).
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
    return join(env['LOCALAPPDATA'] || join(homedir(), 'AppData', 'Local'), 'chairlift');
  }
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'chairlift');
}
