import { execFile, execFileSync } from 'node:child_process';
import {
  copyFileSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { FakeHub } from '../../../support/fake-hub.ts';
import { REAL_MODEL, REAL_MODEL_PATH } from '../../../support/real-model.ts';
import type { Place } from '../../support/marks.ts';

const run = promisify(execFile);

const MODEL = 'models/foothill';
const PROJECT = 'my-project';
/** Variables of this environment that programs and the network need. */
const KEPT =
  /^(PATH|LANG|LC_\w+|TERM|NO_COLOR|CI|TMPDIR|\w+_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_\w+)$/i;

/**
 * A new user's home folder: empty, but for what the documentation takes for granted under these very names.
 * The hub has a small model under every name.
 */
export class Home {
  readonly path = mkdtempSync(join(tmpdir(), 'chairlift-docs-'));
  readonly env: NodeJS.ProcessEnv;
  readonly #hub: FakeHub;
  readonly #places = new Map<Place, Promise<string>>();
  #folders = 0;

  private constructor(hub: FakeHub) {
    this.#hub = hub;
    const setting = (name: string) =>
      execFileSync('npm', ['config', 'get', name], { encoding: 'utf8' }).trim();
    this.env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name))),
      HOME: this.path,
      HF_ENDPOINT: hub.endpoint,
      // An address of this machine that others reach.
      ADDRESS: '127.0.0.1',
      // Packages that were downloaded before, and where from.
      npm_config_cache: setting('cache'),
      npm_config_registry: setting('registry'),
    };
    this.#addModels();
  }

  static async make(): Promise<Home> {
    const names = readdirSync(MODEL, { withFileTypes: true }).filter((entry) => entry.isFile());
    const files = names.map(({ name }) => [name, readFileSync(join(MODEL, name))] as const);
    return new Home(await FakeHub.start(Object.fromEntries(files)));
  }

  /** The folder in which a block is typed. */
  place(name: Place): Promise<string> {
    if (name === 'folder') return Promise.resolve(this.#emptyFolder());
    const known = this.#places.get(name) ?? (name === 'clone' ? this.#clone() : this.#package());
    this.#places.set(name, known);
    return known;
  }

  async remove(): Promise<void> {
    this.#hub.stop();
    await rm(this.path, { recursive: true, force: true, maxRetries: 5 });
  }

  #addModels(): void {
    mkdirSync(join(this.path, PROJECT));
    // Commands that take it are left out where it was not fetched.
    if (!REAL_MODEL.isThere) return;
    const folder = join(this.path, 'models', 'SmolLM2-135M-Instruct');
    mkdirSync(folder, { recursive: true });
    for (const target of [join(folder, 'model.gguf'), `${folder}.Q4_1.gguf`]) {
      try {
        linkSync(REAL_MODEL_PATH, target);
      } catch {
        copyFileSync(REAL_MODEL_PATH, target);
      }
    }
  }

  #emptyFolder(): string {
    const folder = join(this.path, `folder-${++this.#folders}`);
    mkdirSync(folder);
    return folder;
  }

  async #clone(): Promise<string> {
    const clone = join(this.path, 'chairlift');
    await run('git', ['clone', '--quiet', resolve('.'), clone]);
    await run('npm', ['run', 'build'], { cwd: clone, env: this.env });
    // Links: `npm run check` looks at files that are not the repository's, too.
    for (const name of ['my-model', 'pruned']) symlinkSync(resolve(MODEL), join(clone, name));
    return clone;
  }

  /** As docs/getting-started.md has it, whose commands are run as well. */
  async #package(): Promise<string> {
    const clone = await this.place('clone');
    const project = join(this.path, PROJECT);
    const pack = ['run', '-s', 'package', '--', '--out', this.path];
    const { stdout } = await run('npm', pack, { cwd: clone, env: this.env });
    await run('npm', ['install', stdout.trim()], { cwd: project, env: this.env });
    await run('cp', ['-r', MODEL, join(project, 'my-model')]);
    return project;
  }
}
