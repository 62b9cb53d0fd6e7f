/** Makes the image that the Dockerfile starts from where no registry of images can be reached. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildah, hasImage } from './store.ts';

/** As in `ARG NODE_IMAGE=node:24-bookworm-slim`. */
const FROM = /^ARG NODE_IMAGE=(?<image>node:(?<major>\d+)-(?<suite>[a-z]+)-slim)\b/m;

/** Files that Debian's slim images leave out. */
const SLIM = ['/usr/share/doc/*', '/usr/share/info/*', '/usr/share/man/*', '/usr/share/locale/*'];

/** Node's official image, as far as ours needs it: without yarn and an entry point. */
const CONTAINERFILE = `FROM scratch
ADD debian.tar /
COPY node /usr/local
RUN groupadd --gid 1000 node && useradd --uid 1000 --gid node --shell /bin/bash --create-home node
CMD ["node"]
`;

/**
 * Debian from its packages, and Node.js from the npm registry, under the name that the Dockerfile says;
 * nothing where there is an image of that name.
 * @throws Error when something cannot be fetched
 */
export function makeBaseImage(env: NodeJS.ProcessEnv, dockerfile: string): void {
  const { name, major, suite } = fromImage(dockerfile);
  if (hasImage(env, name)) return;
  const context = mkdtempSync(join(tmpdir(), 'chairlift-base-'));
  try {
    const excludes = SLIM.map((path) => `--dpkgopt=path-exclude=${path}`);
    const tar = join(context, 'debian.tar');
    run(context, 'mmdebstrap', '--quiet', '--variant=minbase', ...excludes, suite, tar);
    fetchNode(context, major);
    const file = join(context, 'Containerfile');
    writeFileSync(file, CONTAINERFILE);
    const options = ['--isolation', 'chroot', '--format', 'docker', '--quiet'];
    buildah(env, 'bud', ...options, '--tag', name, '--file', file, context);
  } finally {
    rmSync(context, { recursive: true });
  }
}

/** Image that a Dockerfile starts from. */
export function fromImage(dockerfile: string): { name: string; major: string; suite: string } {
  const { image, major, suite } = FROM.exec(readFileSync(dockerfile, 'utf8'))?.groups ?? {};
  if (!image || !major || !suite) throw new Error(`${dockerfile} is not from node:N-suite-slim`);
  return { name: `docker.io/library/${image}`, major, suite };
}

/** Into `context/node`, as it is in /usr/local. */
function fetchNode(context: string, major: string): void {
  const npm = join(context, 'node/lib/node_modules/npm');
  mkdirSync(npm, { recursive: true });
  unpack(context, `node-linux-${process.arch}@${major}`, join(context, 'node'), 'package/bin/node');
  unpack(context, 'npm@11', npm, 'package');
  for (const program of ['npm', 'npx']) {
    symlinkSync(
      `../lib/node_modules/npm/bin/${program}-cli.js`,
      join(context, 'node/bin', program),
    );
  }
}

/** @param member of the package's archive */
function unpack(context: string, name: string, folder: string, member: string): void {
  const file = run(context, 'npm', 'pack', '--silent', name).trim();
  run(context, 'tar', '-xzf', file, '-C', folder, '--strip-components=1', member);
}

function run(cwd: string, program: string, ...args: readonly string[]): string {
  return execFileSync(program, args, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
