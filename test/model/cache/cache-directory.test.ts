import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

import { expect, test } from 'vitest';

import { defaultCacheDirectory } from '../../../src/model/cache/cache-directory.ts';

test.each([
  [{ CHAIRLIFT_CACHE: '/own', XDG_CACHE_HOME: '/xdg' }, 'linux', resolve('/own')],
  [{ XDG_CACHE_HOME: '/xdg' }, 'linux', join('/xdg', 'chairlift')],
  [{ CHAIRLIFT_CACHE: '', XDG_CACHE_HOME: '' }, 'darwin', join(homedir(), '.cache', 'chairlift')],
  [{ LOCALAPPDATA: '/local', XDG_CACHE_HOME: '/xdg' }, 'win32', join('/local', 'chairlift')],
  [{}, 'win32', join(homedir(), 'AppData', 'Local', 'chairlift')],
] as const)(
  'the cache is where the system has caches, given %o on %s',
  (env, platform, expected) => {
    expect(defaultCacheDirectory(env, platform)).toBe(expected);
  },
);
