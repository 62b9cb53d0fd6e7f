/** A server of S3 for tests, and where `build.ts` puts it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { defaultCacheDirectory } from '../../src/model/cache/cache-directory.ts';

export const VERSITYGW_VERSION = '1.8.0';

/** Folder of the program. */
export const OBJECT_STORE = join(defaultCacheDirectory(), `versitygw-${VERSITYGW_VERSION}`);

export const VERSITYGW = join(OBJECT_STORE, 'versitygw');

export const isBuilt = (): boolean => existsSync(VERSITYGW);
