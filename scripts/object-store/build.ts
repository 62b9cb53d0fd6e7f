/**
 * Builds a server of S3 from its Go modules, if it is not in the cache: `npx tsx scripts/object-store/build.ts`.
 * Go's checksum database vouches for the sources. Takes Go, and some minutes on two cores.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { isBuilt, OBJECT_STORE, VERSITYGW_VERSION } from './programs.ts';

if (!isBuilt()) {
  mkdirSync(OBJECT_STORE, { recursive: true });
  const module = `github.com/versity/versitygw/cmd/versitygw@v${VERSITYGW_VERSION}`;
  execFileSync(
    'nice',
    ['-n', '10', 'go', 'install', '-p=2', '-trimpath', '-ldflags=-s -w', module],
    {
      env: { ...process.env, GOBIN: OBJECT_STORE, GOWORK: 'off', CGO_ENABLED: '0' },
      stdio: 'inherit',
    },
  );
}
