/**
 * Gathers a function for AWS Lambda, in a folder and as `<folder>.zip`:
 *
 *   npm run build && npx tsx scripts/lambda/bundle.ts [--model models/foothill] [--out .cache/lambda] [--node node]
 *
 * In it are the server's code in few files, what of its packages this platform needs, the model, the
 * graph built from it, and what V8 compiled in a first run. `--node` is the Node.js to compile for: the
 * function's, since another's code is of no use to it. Needs `zip`.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LambdaFunction } from '../../test/support/lambda-function.ts';
import { packCode, PACKAGES } from './pack-code.ts';

/** Limit of Lambda for an upload. */
const MAX_ZIP_BYTES = 50e6;

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'models/foothill' },
    out: { type: 'string', default: '.cache/lambda' },
    node: { type: 'string', default: process.execPath },
  },
});
const out = resolve(values.out);
const platform = `${process.platform}-${process.arch}`;

/** Files of packages that are never read here. */
const UNREAD =
  /\.(ts|cts|mts|map|md|cc|hh|inc|def|txt)$|_binding\.node$|\/(doc|vendor|musl_\w+|docs|examples|test)$/;

function copyPackage(name: string): void {
  const ofOthers = new RegExp(`/napi-v6/(?!${process.platform}(/${process.arch}(/|$)|$))`);
  cpSync(join('node_modules', name), join(out, 'node_modules', name), {
    recursive: true,
    filter: (path) => !UNREAD.test(path) && !ofOthers.test(path),
  });
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });
await packCode(resolve('dist'), 'lambda/handler.js', join(out, 'dist'));
for (const name of [...PACKAGES, `@koromix/koffi-${platform}`]) copyPackage(name);
cpSync(join('native/prebuilt', platform), join(out, 'native/prebuilt', platform), {
  recursive: true,
});
cpSync('native/prebuilt/libraries.json', join(out, 'native/prebuilt/libraries.json'));
cpSync('dist/web', join(out, 'dist/web'), { recursive: true });
cpSync('deploy/lambda/index.mjs', join(out, 'index.mjs'));
cpSync('package.json', join(out, 'package.json'));
cpSync(values.model, join(out, 'model'), { recursive: true });

const environment = { ...process.env, CHAIRLIFT_CACHE: join(out, 'cache') };
execFileSync(process.execPath, ['dist/cli/main.js', 'build', '--model', join(out, 'model')], {
  env: environment,
  stdio: 'inherit',
});
// Hashes of files where they are now.
rmSync(join(out, 'cache/content-hashes'), { recursive: true, force: true });

const first = new LambdaFunction(join(out, 'index.mjs'), {}, values.node);
const messages = [{ role: 'user', content: 'Hello' }];
await first.post('/v1/chat/completions', { messages, stream: true, max_tokens: 4 });
await first.finish();

rmSync(`${out}.zip`, { force: true });
execFileSync('zip', ['-q', '-9', '-r', `${out}.zip`, '.'], { cwd: out });
const { size } = statSync(`${out}.zip`);
console.log(`${out}.zip: ${(size / 1e6).toFixed(1)} MB`);
if (size > MAX_ZIP_BYTES) throw new Error('Lambda takes 50 MB');
